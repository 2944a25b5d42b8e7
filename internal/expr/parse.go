package expr

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Parse reads an expression in the spelling of lang; an unknown language reads as C++. The error is
// an *Error.
func Parse(src string, lang symbol.Language) (*Syntax, error) {
	if len(src) > maxSource {
		return nil, errorAt(maxSource, "Write a shorter expression.", "the expression has %d bytes, more than %d", len(src),
			maxSource)
	}
	p := &parser{lex: lexer{src: src, rust: lang == symbol.LangRust}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, errorAt(0, "Write one expression such as p->count > 5.", "the expression is empty")
	}
	root, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.unexpected("the end of the expression")
	}
	return &Syntax{Source: src, Language: lang, root: root}, nil
}

type parser struct {
	lex   lexer
	tok   token // the one at hand
	depth int
	prev  int // end of the token before tok
}

func (p *parser) advance() error {
	p.prev = p.tok.end
	t, err := p.lex.next()
	if err != nil {
		return err
	}
	p.tok = t
	return nil
}

func (p *parser) is(op string) bool { return p.tok.kind == tokOp && p.tok.text == op }

func (p *parser) isWord(word string) bool { return p.tok.kind == tokName && p.tok.text == word }

func (p *parser) expect(op, behind string) error {
	if !p.is(op) {
		return p.unexpected(fmt.Sprintf("'%s'%s", op, behind))
	}
	return p.advance()
}

func (p *parser) unexpected(want string) *Error {
	if p.tok.kind == tokEnd {
		return errorAt(p.tok.pos, "", "expected %s, the expression ends here", want)
	}
	found := p.lex.src[p.tok.pos:p.tok.end]
	hint := ""
	switch {
	case p.tok.kind == tokOp && p.tok.text == "(":
		hint = "Functions of the program cannot be called; there are len(x), x.size(), x.len(), x.empty(), x.is_some() " +
			"and the like."
	case p.tok.kind == tokOp && p.tok.text == "=":
		hint = "Compare with ==."
	}
	return errorAt(p.tok.pos, hint, "expected %s, found '%s'", want, short(found))
}

func short(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// enter bounds recursion; leave undoes it.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errorAt(p.tok.pos, "Write a flatter expression.", "nested deeper than %d", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) ternary() (*ast, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	a, err := p.logic(0)
	if err != nil || !p.is("?") {
		return a, err
	}
	pos := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	b, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":", " of the conditional expression"); err != nil {
		return nil, err
	}
	c, err := p.ternary()
	if err != nil {
		return nil, err
	}
	return &ast{kind: astCond, pos: pos, start: a.start, end: c.end, a: a, b: b, c: c}, nil
}

// logic reads || and && and not, which all stand above the other operators.
func (p *parser) logic(level int) (*ast, error) {
	if level == 2 {
		return p.not()
	}
	op, word := "||", "or"
	if level == 1 {
		op, word = "&&", "and"
	}
	a, err := p.logic(level + 1)
	for err == nil && (p.is(op) || p.isWord(word)) {
		pos := p.tok.pos
		if err := p.advance(); err != nil {
			return nil, err
		}
		b, err := p.logic(level + 1)
		if err != nil {
			return nil, err
		}
		a = &ast{kind: astBinary, pos: pos, start: a.start, end: b.end, text: op, a: a, b: b}
	}
	return a, err
}

func (p *parser) not() (*ast, error) {
	if !p.isWord("not") {
		return p.binary(0)
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	pos := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	a, err := p.not()
	if err != nil {
		return nil, err
	}
	return &ast{kind: astUnary, pos: pos, start: pos, end: a.end, text: "not", a: a}, nil
}

// Levels of the binary operators, the weakest first.
var (
	levelsC = [][]string{{"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"+", "-"},
		{"*", "/", "%"}}
	// In Rust all comparisons are of one level and weaker than the bit operations.
	levelsRust = [][]string{{"==", "!=", "<", "<=", ">", ">="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"},
		{"*", "/", "%"}}
)

func (p *parser) binary(level int) (*ast, error) {
	levels := levelsC
	if p.lex.rust {
		levels = levelsRust
	}
	if level == len(levels) {
		return p.cast()
	}
	a, err := p.binary(level + 1)
	for err == nil {
		op := p.operator(levels[level])
		if op == "" {
			return a, nil
		}
		pos := p.tok.pos
		if err := p.advance(); err != nil {
			return nil, err
		}
		b, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		if p.chained(a, op) {
			return nil, errorAt(pos, "Write a < b && b < c.", "comparisons cannot be chained")
		}
		a = &ast{kind: astBinary, pos: pos, start: a.start, end: b.end, text: op, a: a, b: b}
	}
	return a, err
}

// chained reports whether a op … is the likes of a < b < c, which nobody means.
func (p *parser) chained(a *ast, op string) bool {
	if !isComparison(op) || a.kind != astBinary || !isComparison(a.text) || a.closed {
		return false
	}
	return p.lex.rust || isEquality(op) == isEquality(a.text)
}

func isEquality(op string) bool { return op == "==" || op == "!=" }

func isComparison(op string) bool {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (p *parser) operator(of []string) string {
	if p.tok.kind == tokOp {
		for _, op := range of {
			if p.tok.text == op {
				return op
			}
		}
	}
	return ""
}

// cast reads Rust's x as T, which binds tighter than every binary operator.
func (p *parser) cast() (*ast, error) {
	a, err := p.unary()
	for err == nil && p.isWord("as") {
		pos := p.tok.pos
		if err := p.advance(); err != nil {
			return nil, err
		}
		t, err := p.rustType()
		if err != nil {
			return nil, err
		}
		a = &ast{kind: astCast, pos: pos, start: a.start, end: p.prev, a: a, typ: t}
	}
	return a, err
}

func (p *parser) unary() (*ast, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	op := p.operator([]string{"!", "~", "-", "+", "*", "&"})
	pos := p.tok.pos
	switch {
	case op != "":
		if err := p.advance(); err != nil {
			return nil, err
		}
		if op == "&" && p.lex.rust && p.isWord("mut") {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		a, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &ast{kind: astUnary, pos: pos, start: pos, end: a.end, text: op, a: a}, nil
	case p.is("&&"):
		return nil, errorAt(pos, "", "an operand is missing before '&&'")
	case p.is("("):
		t, err := p.castType()
		if err != nil {
			return nil, err
		}
		if t != nil {
			a, err := p.unary()
			if err != nil {
				return nil, err
			}
			return &ast{kind: astCast, pos: pos, start: pos, end: a.end, a: a, typ: t}, nil
		}
	}
	return p.postfix()
}
