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
	sure := builtin || t.ptrs > 0 || t.sure || t.outer > 0
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
	return t, p.arrayType(t)
}

// arrayType reads what makes a type one of a pointer to an array: (*)[2][3].
func (p *parser) arrayType(t *typeName) error {
	if !p.is("(") {
		return nil
	}
	if err := p.advance(); err != nil {
		return err
	}
	for p.is("*") {
		t.outer++
		if err := p.advance(); err != nil {
			return err
		}
	}
	if t.outer == 0 {
		return p.unexpected("'*'")
	}
	if err := p.expect(")", " behind the '*'"); err != nil {
		return err
	}
	for p.is("[") {
		if err := p.advance(); err != nil {
			return err
		}
		if p.tok.kind != tokInt || p.tok.num == 0 || p.tok.num > maxDim {
			return errorAt(p.tok.pos, "Write it as int (*)[16].", "this is no number of elements")
		}
		if t.dims = append(t.dims, int64(p.tok.num)); len(t.dims) > maxDims {
			return errorAt(p.tok.pos, "Ask for a part of it.", "an array has at most %d dimensions", maxDims)
		}
		if err := p.advance(); err != nil {
			return err
		}
		if err := p.expect("]", " behind the number of elements"); err != nil {
			return err
		}
	}
	if len(t.dims) == 0 {
		return p.unexpected("'['")
	}
	return nil
}

// Bounds of arrays that an expression names.
const (
	maxDims = 8
	maxDim  = 1 << 40
)

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

// rustType reads what follows "as": *const T, *mut T, &T, [T; 4], or a name.
func (p *parser) rustType() (*typeName, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorAt(p.tok.pos, "", "the type is nested too deep")
	}
	defer func() { p.depth-- }()
	pos, ptrs, ref := p.tok.pos, 0, false
	for p.is("*") || p.is("&") {
		star := p.is("*")
		ref = !star && !ref
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
	if p.is("[") && p.lex.rust {
		return p.rustArray(pos, ptrs)
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
	t := &typeName{pos: pos, name: w, ptrs: ptrs, ref: ref}
	for p.is("*") && ptrs == 0 && p.starEndsType() { // x as Node*, for those used to C
		t.ptrs++
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// rustArray reads [T; 4].
func (p *parser) rustArray(pos, ptrs int) (*typeName, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	of, err := p.rustType()
	if err != nil {
		return nil, err
	}
	if err := p.expect(";", " behind the type of the elements"); err != nil {
		return nil, err
	}
	if p.tok.kind != tokInt || p.tok.num == 0 || p.tok.num > maxDim {
		return nil, errorAt(p.tok.pos, "Write it as [u8; 16].", "this is no number of elements")
	}
	t := &typeName{pos: pos, name: "[]", ptrs: ptrs, dims: []int64{int64(p.tok.num)}, of: of}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return t, p.expect("]", " behind the number of elements")
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
