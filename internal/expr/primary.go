package expr

import (
	"slices"
	"strings"
)

// postfix reads an operand and what follows it: members and indexes.
func (p *parser) postfix() (*ast, error) {
	a, err := p.primary()
	for err == nil {
		switch {
		case p.is("."), p.is("->"):
			a, err = p.member(a)
		case p.is("["):
			a, err = p.index(a)
		case p.is("::"):
			a, err = p.fileQualified(a)
		case p.is("(") && a.kind == astMember && methods[a.text] != nil:
			a, err = p.method(a)
		case p.is("("):
			return nil, errorAt(p.tok.pos, "Functions of the program cannot be called; there are len(x), x.size(), x.len(), "+
				"x.empty(), x.is_some() and the like.", "a call is not possible here")
		default:
			return a, nil
		}
	}
	return a, err
}

func (p *parser) member(a *ast) (*ast, error) {
	if d, ok := p.lex.digits(); ok { // a tuple's field; lexed apart because 0.1 would be a number
		pos := p.lex.pos - len(d)
		p.tok.end = p.lex.pos
		if err := p.advance(); err != nil {
			return nil, err
		}
		return &ast{kind: astMember, pos: pos, start: a.start, end: p.prev, text: d, a: a}, nil
	}
	op := p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName {
		return nil, p.unexpected("a member's name behind '" + op + "'")
	}
	m := &ast{kind: astMember, pos: p.tok.pos, start: a.start, end: p.tok.end, text: p.tok.text, a: a}
	return m, p.advance()
}

// methods are the calls that stand for something of the language, because everybody writes them.
var methods = map[string]func(o *ast, at ast) *ast{
	"size": lenOf, "length": lenOf, "len": lenOf, "empty": isEmpty, "is_empty": isEmpty,
	"is_some": isVariantNamed("Some"), "is_none": isVariantNamed("None"), "is_ok": isVariantNamed("Ok"),
	"is_err": isVariantNamed("Err"),
}

func lenOf(o *ast, at ast) *ast {
	at.kind, at.a = astLen, o
	return &at
}

func isEmpty(o *ast, at ast) *ast {
	zero := at
	zero.kind = astInt
	return equals(lenOf(o, at), &zero, at)
}

func isVariantNamed(name string) func(*ast, ast) *ast {
	return func(o *ast, at ast) *ast {
		variant := at
		variant.kind, variant.text = astName, name
		return equals(o, &variant, at)
	}
}

func equals(a, b *ast, at ast) *ast {
	at.kind, at.text, at.a, at.b = astBinary, "==", a, b
	at.closed = true
	return &at
}

// method reads x.size() and the like at its "(".
func (p *parser) method(m *ast) (*ast, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect(")", ": "+m.text+" takes no arguments"); err != nil {
		return nil, err
	}
	made := methods[m.text](m.a, ast{pos: m.pos, start: m.start, end: p.prev})
	return made, nil
}

func (p *parser) index(a *ast) (*ast, error) {
	pos := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	b, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if err := p.expect("]", " behind the index"); err != nil {
		return nil, err
	}
	return &ast{kind: astIndex, pos: pos, start: a.start, end: p.prev, a: a, b: b}, nil
}

// fileQualified reads file.c::name: what looked like a member was a file's suffix.
func (p *parser) fileQualified(a *ast) (*ast, error) {
	for n := a; ; n = n.a {
		if n.kind == astName && n != a {
			break
		}
		if n.kind != astMember {
			return nil, p.unexpected("an operator")
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName {
		return nil, p.unexpected("a name behind '::'")
	}
	n := &ast{kind: astName, pos: a.start, start: a.start, end: p.tok.end, text: compact(p.lex.src[a.start:p.tok.end])}
	return n, p.advance()
}

func compact(s string) string { return strings.Join(strings.Fields(s), "") }

func (p *parser) primary() (*ast, error) {
	t := p.tok
	n := &ast{pos: t.pos, start: t.pos, end: t.end, text: t.text, num: t.num, float: t.float, hex: t.hex}
	switch t.kind {
	case tokInt:
		n.kind, n.text = astInt, t.suffix
	case tokFloat:
		n.kind, n.text = astFloat, t.suffix
	case tokChar:
		n.kind, n.text = astChar, t.suffix
	case tokText:
		n.kind = astText
	case tokName:
		return p.word()
	case tokOp:
		switch t.text {
		case "(":
			return p.parenthesized()
		case "::":
			return p.qualified("")
		}
		fallthrough
	default:
		return nil, p.unexpected("an operand")
	}
	return n, p.advance()
}

func (p *parser) parenthesized() (*ast, error) {
	start := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	a, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")", ""); err != nil {
		return nil, err
	}
	whole := *a
	whole.start, whole.end, whole.closed = start, p.prev, true
	return &whole, nil
}

var constants = map[string]ast{
	"true": {kind: astBool, num: 1}, "True": {kind: astBool, num: 1}, "false": {kind: astBool}, "False": {kind: astBool},
	"null": {kind: astNull}, "NULL": {kind: astNull}, "nullptr": {kind: astNull}, "nil": {kind: astNull},
}

// word reads what begins with a name: a constant, len(x), a cast in the form of a call, a name.
func (p *parser) word() (*ast, error) {
	t := p.tok
	if c, ok := constants[t.text]; ok {
		c.pos, c.start, c.end = t.pos, t.pos, t.end
		return &c, p.advance()
	}
	switch t.text {
	case "and", "or", "as":
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind == tokName || p.tok.kind == tokInt || p.tok.kind == tokEnd && t.text != "as" {
			return nil, errorAt(t.pos, "", "an operand is missing before '%s'", t.text)
		}
		return &ast{kind: astName, pos: t.pos, start: t.pos, end: t.end, text: t.text}, nil
	case "sizeof":
		return p.sizeOf()
	case "alignof", "typeof", "new", "delete":
		return nil, unsupported(t.pos, "", "%s is not part of the expression language", t.text)
	case "static_cast", "reinterpret_cast", "const_cast":
		return p.namedCast()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.is("(") {
		if t.text == "len" || t.text == "strlen" {
			return p.call(astLen, t, nil)
		}
		if _, ok := builtinName(t.text); ok {
			return p.call(astCast, t, &typeName{pos: t.pos, name: t.text})
		}
	}
	return p.qualifiedFrom(t)
}

func (p *parser) call(kind astKind, t token, typ *typeName) (*ast, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	a, err := p.parenthesized()
	if err != nil {
		return nil, err
	}
	return &ast{kind: kind, pos: t.pos, start: t.pos, end: p.prev, a: a, typ: typ}, nil
}

// sizeOf reads sizeof(type) and sizeof(expression): which of them it is is known when names have a meaning.
func (p *parser) sizeOf() (*ast, error) {
	t := p.tok
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.is("(") {
		return nil, p.unexpected("'(' behind sizeof")
	}
	n := &ast{kind: astSize, pos: t.pos, start: t.pos}
	asType := *p
	if typ, err := asType.sizedType(); err == nil {
		n.typ = typ
	}
	asExpr := *p
	a, err := asExpr.parenthesized()
	switch {
	case err == nil:
		n.a = a
		*p = asExpr
	case n.typ == nil:
		return nil, err
	default:
		*p = asType
	}
	n.end = p.prev
	return n, nil
}

// sizedType reads (type).
func (p *parser) sizedType() (*typeName, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	t, err := p.typeName()
	if err != nil {
		return nil, err
	}
	return t, p.expect(")", " behind the type")
}

func (p *parser) namedCast() (*ast, error) {
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("<", " behind "+t.text); err != nil {
		return nil, err
	}
	typ, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.expect(">", " behind the type"); err != nil {
		return nil, err
	}
	if !p.is("(") {
		return nil, p.unexpected("'('")
	}
	return p.call(astCast, t, typ)
}

// qualified reads ::a::b at the first "::".
func (p *parser) qualified(first string) (*ast, error) {
	start := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName {
		return nil, p.unexpected("a name behind '::'")
	}
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.qualifiedFrom(t)
	if n != nil {
		n.pos, n.start = start, start
	}
	return n, err
}

// qualifiedFrom reads the rest of a name whose first word is t: a::b, T<int>::c.
func (p *parser) qualifiedFrom(t token) (*ast, error) {
	parts := []string{t.text}
	end := t.end
	for {
		if p.is("<") {
			args, ok := p.templateArgs(true)
			if !ok {
				break
			}
			parts[len(parts)-1] += args
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		if !p.is("::") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.is("<") { // Rust's turbofish
			continue
		}
		if p.tok.kind != tokName {
			return nil, p.unexpected("a name behind '::'")
		}
		parts = append(parts, p.tok.text)
		end = p.tok.end
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return &ast{kind: astName, pos: t.pos, start: t.pos, end: end, text: strings.Join(parts, "::")}, nil
}

// templateArgs takes balanced <…> at the token at hand, if it is one: all it holds are names, types
// and numbers, and, for a name, "::" follows. It leaves the lexer behind the '>'.
func (p *parser) templateArgs(scoped bool) (string, bool) {
	src, from := p.lex.src, p.tok.pos
	level := 0
	for i := from; i < len(src); i++ {
		switch c := src[i]; {
		case c == '<':
			level++
		case c == '>':
			if level--; level > 0 {
				continue
			}
			rest := strings.TrimLeft(src[i+1:], " ")
			if scoped && !strings.HasPrefix(rest, "::") {
				return "", false
			}
			p.lex.pos = i + 1
			p.tok.end = i + 1
			return src[from : i+1], true
		case c == '_' || c == '$' || c == ':' || c == ',' || c == ' ' || c == '*' || c == '&' || isDigit(c) ||
			c|0x20 >= 'a' && c|0x20 <= 'z':
		case !scoped && slices.Contains([]byte("[];()'"), c): // arrays and lifetimes in Rust types
		default:
			return "", false
		}
	}
	return "", false
}
