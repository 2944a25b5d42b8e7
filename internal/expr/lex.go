package expr

import (
	"unicode"
	"unicode/utf8"
)

// Limits on what Parse takes. An expression that somebody typed is far below them.
const (
	maxSource = 4096
	maxDepth  = 200 // nesting of parentheses, unary operators and ternaries
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokInt
	tokFloat
	tokChar
	tokText
	tokOp
)

// token is one piece of the source. Literals are decoded.
type token struct {
	kind   tokenKind
	pos    int
	end    int
	text   string // names, operators; the contents of text
	num    uint64 // integers and characters
	float  float64
	suffix string // of a number: "u", "ul", "u8", "f"; of characters and text the prefix "b", "L"
	hex    bool   // not written in decimal
}

// lexer turns the source into tokens on demand: what a dot is followed by depends on the parser.
type lexer struct {
	src     string
	rust    bool
	pos     int
	operand bool // the last token ends an operand: a dot selects a member
}

// operators, longest first.
var operators = []string{
	"&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "->", "::",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "?", ":", "(", ")", "[", "]", ".", ",", ";",
}

func isNameStart(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) }

func isNamePart(c rune) bool { return isNameStart(c) || unicode.IsDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) peekByte(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.src) {
		switch l.src[l.pos] {
		case ' ', '\t', '\n', '\r':
			l.pos++
		default:
			return
		}
	}
}

func (l *lexer) next() (token, error) {
	t, err := l.token()
	l.operand = t.kind == tokName || t.kind == tokOp && (t.text == ")" || t.text == "]")
	return t, err
}

func (l *lexer) token() (token, error) {
	l.skipSpace()
	start := l.pos
	if start >= len(l.src) {
		return token{kind: tokEnd, pos: start, end: start}, nil
	}
	c, size := utf8.DecodeRuneInString(l.src[start:])
	switch {
	case c == utf8.RuneError && size <= 1:
		return token{}, errorAt(start, "", "the expression is not valid UTF-8")
	case isDigit(byte(c)) && c < utf8.RuneSelf || c == '.' && !l.operand && isDigit(l.peekByte(1)):
		return l.number()
	case c == '\'':
		return l.char("")
	case c == '"':
		return l.text("")
	case isNameStart(c):
		return l.name()
	}
	for _, op := range operators {
		if len(l.src)-start >= len(op) && l.src[start:start+len(op)] == op {
			l.pos += len(op)
			return token{kind: tokOp, pos: start, end: l.pos, text: op}, nil
		}
	}
	return token{}, unexpectedChar(l.src, start, c)
}

func unexpectedChar(src string, pos int, c rune) *Error {
	switch c {
	case '=':
		return errorAt(pos, "Compare with ==; expressions have no side effects.", "assignment is not possible here")
	case ';', '{', '}':
		return errorAt(pos, "Write one expression, without statements.", "unexpected %q", c)
	case '@', '#', '`', '\\':
		return errorAt(pos, "", "unexpected %q", c)
	}
	return errorAt(pos, "Write one expression such as p->count > 5 && name == \"abc\".", "unexpected %q", c)
}

// name reads a word, or a character or text with a prefix.
func (l *lexer) name() (token, error) {
	start := l.pos
	for l.pos < len(l.src) {
		c, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isNamePart(c) || c == utf8.RuneError {
			break
		}
		l.pos += size
	}
	word := l.src[start:l.pos]
	switch word {
	case "L", "u", "U", "u8", "b", "c":
		if l.peekByte(0) == '\'' && word != "c" {
			return l.prefixed(start, word, l.char)
		}
		if l.peekByte(0) == '"' {
			return l.prefixed(start, word, l.text)
		}
	case "R", "r", "br", "cr", "u8R":
		if l.peekByte(0) == '"' || l.rust && l.peekByte(0) == '#' {
			return l.raw(start, word)
		}
	}
	return token{kind: tokName, pos: start, end: l.pos, text: word}, nil
}

func (l *lexer) prefixed(start int, prefix string, read func(string) (token, error)) (token, error) {
	t, err := read(prefix)
	t.pos = start
	return t, err
}

// digits reads only decimal digits, e.g. of the tuple field in t.0.1.
func (l *lexer) digits() (string, bool) {
	l.skipSpace()
	start := l.pos
	for isDigit(l.peekByte(0)) {
		l.pos++
	}
	l.operand = l.operand || l.pos > start
	return l.src[start:l.pos], l.pos > start
}
