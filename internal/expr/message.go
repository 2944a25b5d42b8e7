package expr

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Segment is one part of a logpoint's message: text, or an expression in braces.
type Segment struct {
	Text string  // Expr is nil: as it is shown
	Expr *Syntax // its Source is what stood between the braces
	Pos  int     // byte offset in the message of the text, or of the expression behind its brace
}

// maxSegments bounds the expressions of one message.
const maxSegments = 64

// ParseMessage reads a message such as "took {end - start} ns for {name}"; {{ and }} are braces. Positions
// in errors, which are *Error, count from the start of the message.
func ParseMessage(src string, lang symbol.Language) ([]Segment, error) {
	if len(src) > maxSource {
		return nil, errorAt(maxSource, "Write a shorter message.", "the message has %d bytes, more than %d", len(src),
			maxSource)
	}
	var out []Segment
	var text strings.Builder
	from := 0
	flush := func(next int) {
		if text.Len() > 0 {
			out = append(out, Segment{Text: text.String(), Pos: from})
			text.Reset()
		}
		from = next
	}
	for i := 0; i < len(src); {
		c := src[i]
		double := i+1 < len(src) && src[i+1] == c
		switch {
		case (c == '{' || c == '}') && double:
			text.WriteByte(c)
			i += 2
		case c == '}':
			return nil, errorAt(i, "Write }} for a brace.", "this brace closes nothing")
		case c == '{':
			end := closingBrace(src, i+1)
			if end < 0 {
				return nil, errorAt(i, "Write {{ for a brace.", "this brace is not closed")
			}
			s, err := Parse(src[i+1:end], lang)
			if err != nil {
				return nil, Shifted(err, i+1)
			}
			flush(end + 1)
			out = append(out, Segment{Expr: s, Pos: i + 1})
			if len(out) > maxSegments {
				return nil, errorAt(i, "Write a shorter message.", "the message has more than %d parts", maxSegments)
			}
			i = end + 1
		default:
			text.WriteByte(c)
			i++
		}
	}
	flush(len(src))
	return out, nil
}

// closingBrace finds the } that ends an expression, past those in its text and character literals; -1
// where there is none.
func closingBrace(src string, from int) int {
	for i := from; i < len(src); i++ {
		switch src[i] {
		case '}':
			return i
		case '\'':
			if strings.HasPrefix(src[i:], "'}'") || strings.HasPrefix(src[i:], "'\"'") {
				i += 2
			}
		case '\\':
			i++
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// Shifted moves an error's position from the expression to the message.
func Shifted(err error, by int) error {
	if e, ok := err.(*Error); ok {
		moved := *e
		moved.Pos += by
		return &moved
	}
	return err
}
