package testadapter

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLine bounds one line of a report or of output: a framework's longest line is one test's failures with its output.
const MaxLine = 4 << 20

// lineSplitter hands on whole lines of what arrives cut anywhere, without their ends. What is longer than the limit
// loses its tail.
type lineSplitter struct {
	line func(line []byte) // valid during the call
	max  int               // 0: MaxLine
	buf  []byte
	lost int // bytes of the line in buf that did not fit
	cut  int // lines that lost something
}

func (l *lineSplitter) Write(b []byte) {
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			l.hold(b)
			return
		}
		l.hold(b[:n])
		l.flush()
		b = b[n+1:]
	}
}

// Close hands on a last line that has no end. The splitter can be used again.
func (l *lineSplitter) Close() {
	if len(l.buf) > 0 || l.lost > 0 {
		l.flush()
	}
}

func (l *lineSplitter) hold(b []byte) {
	limit := l.max
	if limit == 0 {
		limit = MaxLine
	}
	room := max(limit-len(l.buf), 0)
	l.lost += max(len(b)-room, 0)
	l.buf = append(l.buf, b[:min(room, len(b))]...)
}

func (l *lineSplitter) flush() {
	if l.lost > 0 {
		l.cut++
	}
	line := bytes.TrimSuffix(l.buf, []byte("\r"))
	l.buf, l.lost = l.buf[:0], 0
	l.line(line)
}

// clean makes text of what a program wrote: no colours or other terminal sequences, no control characters but tab and
// newline, valid UTF-8.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && i+1 < len(s) && s[i+1] != '\n':
			b.WriteByte('\n') // a progress line written over: what came last is a line of its own
		case r < ' ' && r != '\t' && r != '\n', r >= 0x7f && r < 0xa0:
		default:
			b.WriteRune(r) // of bytes that are no UTF-8: U+FFFD
		}
		i += n
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// sequence is the length of the terminal sequence that s begins with, by ECMA-48: CSI, the strings (OSC, DCS, SOS, PM,
// APC), and the short ones. One that is not ended is only its introducer, so that it cannot swallow text.
func sequence(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch c := s[1]; {
	case c == '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				break
			}
		}
		return 2
	case strings.IndexByte("]PX^_", c) >= 0:
		const longest = 4096 // a link's address; more is no sequence
		for i := 2; i < min(len(s), longest); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 2
	case c >= 0x20 && c <= 0x2f: // intermediate bytes, then a final one
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x30 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x2f {
				break
			}
		}
		return 1
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

// head keeps the beginning of a text, and says how much is left out.
func head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const room = 40 // of the remark
	n := max(limit-room, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + fmt.Sprintf("… (%d bytes more)", len(s)-n)
}

// tail keeps the end of a text, and says how much is left out.
func tail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const room = 40
	n := min(len(s)-limit+room, len(s))
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return fmt.Sprintf("(%d bytes before) …", n) + s[n:]
}

// message is a failure's message as it is shown: clean, without blank lines around it, bounded.
func message(s string) string { return head(strings.Trim(clean(s), " \t\n"), MaxOutput) }

// output is a test's output as it is shown.
func output(s string) string { return tail(clean(s), MaxOutput) }

// firstLine is the first line of a text that says something.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// ring keeps the last bytes that a process wrote, for a failure that nothing else explains.
type ring struct {
	b     []byte
	limit int // 0: MaxOutput
}

func (r *ring) Write(b []byte) {
	r.b = append(r.b, b...)
	r.trim()
}

func (r *ring) WriteString(s string) {
	r.b = append(r.b, s...)
	r.trim()
}

func (r *ring) trim() {
	limit := r.limit
	if limit == 0 {
		limit = MaxOutput
	}
	if len(r.b) > 4*limit {
		r.b = append(r.b[:0], r.b[len(r.b)-limit:]...)
	}
}

func (r *ring) String() string {
	limit := r.limit
	if limit == 0 {
		limit = MaxOutput
	}
	b := r.b
	if len(b) > limit {
		b = b[len(b)-limit:]
	}
	return clean(strings.ToValidUTF8(string(b), ""))
}
