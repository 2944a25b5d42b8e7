package expr

import "strings"

// castType tries to read "(type)" of a C cast at the "(" at hand, and returns nil, with nothing
// consumed, where it is a parenthesized expression.
func (p *parser) castType() (*typeName, error) {
	saved := *p
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName {
		*p = saved
		return nil, nil
	}
	t, err := p.typeName()
	if err != nil || !p.is(")") {
		*p = saved
		return nil, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	_, builtin := builtinName(t.name)
	if !p.lex.rust && rustTypes[t.name] { // a name that a C program may have for a variable
		builtin = false
	}
	sure := builtin || t.ptrs > 0 || t.sure
	if !sure && strings.Contains(t.name, " ") {
		*p = saved
		return nil, nil
	}
	if p.operandFollows(sure) {
		return t, nil
	}
	if sure {
		return nil, p.unexpected("an operand behind the cast")
	}
	*p = saved
	return nil, nil
}

// operandFollows reports whether what follows "(name)" makes it a cast: an operand, or, where the
// name is surely a type, also an operator that may begin one.
func (p *parser) operandFollows(sure bool) bool {
	switch p.tok.kind {
	case tokInt, tokFloat, tokChar, tokText:
		return true
	case tokName:
		switch p.tok.text {
		case "and", "or", "as":
			return false
		}
		return true
	case tokOp:
		switch p.tok.text {
		case "(", "!", "~", "::":
			return true
		case "-", "+", "*", "&":
			return sure
		}
	}
	return false
}

// typeName reads a type in C and C++ spelling: words, template arguments, and stars.
func (p *parser) typeName() (*typeName, error) {
	t := &typeName{pos: p.tok.pos}
	var words []string
	for p.tok.kind == tokName {
		w := p.tok.text
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch w {
		case "const", "volatile", "struct", "class", "union", "enum", "typename", "restrict":
			t.sure = true
			continue
		}
		n, err := p.typeWord(w)
		if err != nil {
			return nil, err
		}
		words = append(words, n)
	}
	if p.is("::") && len(words) == 0 {
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.typeName()
	}
	if len(words) == 0 {
		return nil, p.unexpected("a type")
	}
	t.name = strings.Join(words, " ")
	for p.is("*") || p.is("&") || p.isWord("const") || p.isWord("volatile") || p.isWord("restrict") {
		if p.tok.kind == tokOp {
			t.ptrs++
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// typeWord reads the rest of a name in a type: ::more and <arguments>.
func (p *parser) typeWord(w string) (string, error) {
	for {
		switch {
		case p.is("<"):
			args, ok := p.templateArgs(false)
			if !ok {
				return "", errorAt(p.tok.pos, "", "the template arguments are not closed")
			}
			w += args
		case p.is("::"):
			if err := p.advance(); err != nil {
				return "", err
			}
			if p.is("<") {
				continue
			}
			if p.tok.kind != tokName {
				return "", p.unexpected("a name behind '::'")
			}
			w += "::" + p.tok.text
		default:
			return w, nil
		}
		if err := p.advance(); err != nil {
			return "", err
		}
	}
}

// rustType reads what follows "as": *const T, *mut T, &T, or a name.
func (p *parser) rustType() (*typeName, error) {
	pos, ptrs := p.tok.pos, 0
	for p.is("*") || p.is("&") {
		star := p.is("*")
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.isWord("const") || p.isWord("mut") {
			if err := p.advance(); err != nil {
				return nil, err
			}
		} else if star {
			return nil, p.unexpected("const or mut behind '*'")
		}
		ptrs++
	}
	if p.tok.kind != tokName {
		return nil, p.unexpected("a type behind 'as'")
	}
	w := p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.is("<") && !p.lex.rust { // x as T < y would be taken as T<y
		return &typeName{pos: pos, name: w, ptrs: ptrs}, nil
	}
	if _, ok := builtinName(w); !ok {
		var err error
		if w, err = p.typeWord(w); err != nil {
			return nil, err
		}
	}
	t := &typeName{pos: pos, name: w, ptrs: ptrs}
	for p.is("*") && ptrs == 0 && p.starEndsType() { // x as Node*, for those used to C
		t.ptrs++
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// starEndsType tells "x as T*" from the product "x as T * y".
func (p *parser) starEndsType() bool {
	saved := *p
	defer func() { *p = saved }()
	for p.is("*") {
		if p.advance() != nil {
			return false
		}
	}
	return p.tok.kind == tokEnd || p.is(")") || p.is("]") || p.is(":") || p.is("?")
}
