package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// number reads an integer or float with its suffix, in C, C++ and Rust spelling.
func (l *lexer) number() (token, error) {
	start := l.pos
	t := token{kind: tokInt, pos: start}
	base := 10
	if l.peekByte(0) == '0' {
		switch l.peekByte(1) {
		case 'x', 'X':
			base = 16
		case 'b', 'B':
			base = 2
		case 'o', 'O':
			base = 8
		}
	}
	if base != 10 {
		l.pos += 2
	}
	digits, float := l.numberDigits(base)
	if float {
		return l.float(t, digits)
	}
	if err := l.suffix(&t); err != nil {
		return t, err
	}
	switch {
	case isFloatSuffix(t.suffix) && base == 10: // 1f32, 2f64
		return l.finishFloat(t, digits)
	case isFloatSuffix(t.suffix):
		return t, errorAt(start, "", "the number %s cannot have the suffix %s", l.src[start:l.pos], t.suffix)
	case !l.rust && base == 10 && len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	t.hex = base != 10
	if digits == "" {
		return t, errorAt(start, "", "the number %s has no digits", l.src[start:l.pos])
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return t, unsupported(start, "Integers have at most 64 bits here.", "the number %s is too large", l.src[start:l.pos])
		}
		return t, errorAt(start, "", "the number %s has a digit that base %d does not have", l.src[start:l.pos], base)
	}
	t.num, t.end = n, l.pos
	return t, nil
}

// numberDigits reads digits without separators, and whether they make a float.
func (l *lexer) numberDigits(base int) (digits string, float bool) {
	var b strings.Builder
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case isDigit(c), base == 16 && isHexLetter(c):
			b.WriteByte(c)
		case c == '_' || c == '\'' && !l.rust && isHexDigit(l.peekByte(1)) && b.Len() > 0:
		case c == '.' && base == 10 && !float && l.dotIsFraction():
			float = true
			b.WriteByte(c)
		case (c == 'e' || c == 'E') && base == 10 && l.exponentFollows():
			b.WriteByte(c)
			l.pos++
			if n := l.peekByte(0); n == '+' || n == '-' {
				b.WriteByte(n)
				l.pos++
			}
			for isDigit(l.peekByte(0)) {
				b.WriteByte(l.src[l.pos])
				l.pos++
			}
			return b.String(), true
		default:
			return b.String(), float
		}
		l.pos++
	}
	return b.String(), float
}

// dotIsFraction tells 1.5 and "1." from 1.field.
func (l *lexer) dotIsFraction() bool {
	n := l.peekByte(1)
	return !(n == '_' || n == '.' || n >= 'a' && n <= 'z' && n != 'e' && n != 'f' && n != 'l' || n >= 'A' && n <= 'Z' &&
		n != 'E' && n != 'F' && n != 'L')
}

func (l *lexer) exponentFollows() bool {
	n := l.peekByte(1)
	return isDigit(n) || (n == '+' || n == '-') && isDigit(l.peekByte(2))
}

func isHexLetter(c byte) bool { return c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isHexDigit(c byte) bool { return isDigit(c) || isHexLetter(c) }

func isFloatSuffix(s string) bool { return s == "f" || s == "f32" || s == "f64" }

func (l *lexer) float(t token, digits string) (token, error) {
	if err := l.suffix(&t); err != nil {
		return t, err
	}
	return l.finishFloat(t, digits)
}

func (l *lexer) finishFloat(t token, digits string) (token, error) {
	if t.suffix != "" && t.suffix != "l" && !isFloatSuffix(t.suffix) {
		return t, errorAt(t.pos, "", "a number with a fraction cannot have the suffix %s", t.suffix)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && digits != "" && digits[0] != '.' && f == 0 {
		return t, errorAt(t.pos, "", "the number %s cannot be read", l.src[t.pos:l.pos])
	}
	t.kind, t.float, t.end = tokFloat, f, l.pos
	return t, nil
}

var suffixes = map[string]bool{
	"u": true, "l": true, "ul": true, "lu": true, "ll": true, "ull": true, "llu": true, "z": true, "uz": true, "f": true,
	"u8": true, "u16": true, "u32": true, "u64": true, "usize": true,
	"i8": true, "i16": true, "i32": true, "i64": true, "isize": true, "f32": true, "f64": true,
}

// suffix reads the letters behind a number.
func (l *lexer) suffix(t *token) error {
	start := l.pos
	for {
		c := l.peekByte(0)
		if !isDigit(c) && c != '_' && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			break
		}
		l.pos++
	}
	s := strings.ToLower(l.src[start:l.pos])
	if s == "" {
		return nil
	}
	if s == "u128" || s == "i128" {
		return unsupported(start, "Cast to 64 bits.", "128-bit arithmetic is not supported")
	}
	if !suffixes[s] {
		return errorAt(start, "", "a number cannot end in %q", l.src[start:l.pos])
	}
	t.suffix = s
	return nil
}

// char reads a quoted character. Its value is the code point, or the byte of an escape.
func (l *lexer) char(prefix string) (token, error) {
	start := l.pos
	l.pos++
	t := token{kind: tokChar, pos: start, suffix: prefix}
	if l.pos >= len(l.src) || l.src[l.pos] == '\'' {
		return t, errorAt(start, "Text is quoted with \".", "the character in quotes is missing")
	}
	c, err := l.charUnit('\'')
	if err != nil {
		return t, err
	}
	if l.peekByte(0) != '\'' {
		return t, errorAt(start, "A character is 'a'; text is \"abc\".", "expected ' behind one character")
	}
	l.pos++
	t.num, t.end = uint64(c.r), l.pos
	return t, nil
}

// unit is one character of a literal: a code point, or a byte from an escape.
type unit struct {
	r    rune
	byte bool
}

func (l *lexer) charUnit(quote byte) (unit, error) {
	if l.src[l.pos] != '\\' {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if r == utf8.RuneError && size <= 1 {
			return unit{}, errorAt(l.pos, "", "the expression is not valid UTF-8")
		}
		l.pos += size
		return unit{r: r}, nil
	}
	start := l.pos
	l.pos++
	c := l.peekByte(0)
	l.pos++
	simple := map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, 'e': 27, '\\': '\\',
		'\'': '\'', '"': '"', '?': '?'}
	if r, ok := simple[c]; ok {
		return unit{r: r}, nil
	}
	switch {
	case c >= '0' && c <= '7':
		n := rune(c - '0')
		for i := 0; i < 2 && l.peekByte(0) >= '0' && l.peekByte(0) <= '7'; i++ {
			n = n*8 + rune(l.src[l.pos]-'0')
			l.pos++
		}
		return unit{n & 255, true}, nil
	case c == 'x':
		n, digits := l.hexDigits(2)
		if digits == 0 {
			return unit{}, errorAt(start, "", `\x needs hexadecimal digits`)
		}
		return unit{rune(n), true}, nil
	case c == 'u' || c == 'U':
		return l.unicodeEscape(start, c)
	}
	return unit{}, errorAt(start, "", "unknown escape in a literal")
}

func (l *lexer) hexDigits(limit int) (n uint32, digits int) {
	for digits < limit && isHexDigit(l.peekByte(0)) {
		d, _ := strconv.ParseUint(l.src[l.pos:l.pos+1], 16, 8)
		n = n<<4 | uint32(d)
		l.pos++
		digits++
	}
	return n, digits
}

func (l *lexer) unicodeEscape(start int, c byte) (unit, error) {
	var n uint32
	var digits int
	ok := true
	if l.peekByte(0) == '{' {
		l.pos++
		n, digits = l.hexDigits(6)
		ok = digits > 0 && l.peekByte(0) == '}'
		l.pos++
	} else {
		want := 4
		if c == 'U' {
			want = 8
		}
		n, digits = l.hexDigits(want)
		ok = digits == want
	}
	if !ok || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return unit{}, errorAt(start, "", "not a Unicode character")
	}
	return unit{r: rune(n)}, nil
}

// text reads a quoted string into its bytes, UTF-8.
func (l *lexer) text(prefix string) (token, error) {
	start := l.pos
	t := token{kind: tokText, pos: start, suffix: prefix}
	if prefix == "L" || prefix == "u" || prefix == "U" {
		return t, unsupported(start, "Compare single characters instead.", "wide text cannot be compared")
	}
	l.pos++
	var b []byte
	for {
		if l.pos >= len(l.src) {
			return t, errorAt(start, "", "the text has no closing \"")
		}
		if l.src[l.pos] == '"' {
			l.pos++
			t.text, t.end = string(b), l.pos
			return t, nil
		}
		c, err := l.charUnit('"')
		if err != nil {
			return t, err
		}
		if c.byte {
			b = append(b, byte(c.r))
		} else {
			b = utf8.AppendRune(b, c.r)
		}
	}
}

// raw reads C++'s R"delimiter(text)delimiter" and Rust's r"text" and r#"text"#.
func (l *lexer) raw(start int, prefix string) (token, error) {
	t := token{kind: tokText, pos: start, suffix: strings.TrimRight(prefix, "rR")}
	var end string
	if l.rust {
		hashes := 0
		for l.peekByte(0) == '#' {
			hashes++
			l.pos++
		}
		if l.peekByte(0) != '"' {
			return t, errorAt(l.pos, "", "expected \" to begin raw text")
		}
		l.pos++
		end = `"` + strings.Repeat("#", hashes)
	} else {
		l.pos++
		open := strings.IndexByte(l.src[l.pos:], '(')
		if open < 0 || open > 16 {
			return t, errorAt(start, `Raw text is R"(text)".`, "raw text has no (")
		}
		end = ")" + l.src[l.pos:l.pos+open] + `"`
		l.pos += open + 1
	}
	n := strings.Index(l.src[l.pos:], end)
	if n < 0 {
		return t, errorAt(start, "", "the text has no closing %s", end)
	}
	t.text = l.src[l.pos : l.pos+n]
	l.pos += n + len(end)
	t.end = l.pos
	return t, nil
}
