package install

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// errNoTable: our entry is there, but not as a table of its own.
var errNoTable = errors.New("its entry is not written as a table of its own")

// tomlLine is a header or a pair of a file, with where its bytes are; end is behind its line's end.
type tomlLine struct {
	header           bool
	key              []string
	start, end       int
	valueAt, valueTo int
}

// parseTOML reads a file's value. The positions come of scanTOML, which may rely on the file being valid.
func parseTOML(src []byte) (map[string]any, error) {
	v := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(src, bom), &v)
	return v, err
}

// setTOML is setJSON for TOML: the entry is a table with a header of its own.
func setTOML(src []byte, path []string, fields []field) ([]byte, error) {
	v, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	eol := "\n"
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		eol = "\r\n"
	}
	have, ok := lookup(v, path)
	if !ok {
		var b strings.Builder
		if text := string(bytes.TrimPrefix(src, bom)); text != "" {
			if !strings.HasSuffix(text, "\n") {
				b.WriteString(eol)
			}
			if !strings.HasSuffix(text, "\n\n") && !strings.HasSuffix(text, "\n\r\n") {
				b.WriteString(eol)
			}
		}
		b.WriteString(tomlTable(path, fields, eol))
		return append(bytes.Clone(src), b.String()...), nil
	}
	entry, _ := have.(map[string]any)
	if entry == nil {
		return nil, errNoTable
	}
	for i := len(fields) - 1; i >= 0; i-- { // each goes first, so that they end in order
		f := fields[i]
		if reflect.DeepEqual(entry[f.name], f.plain()) {
			continue
		}
		lines := scanTOML(src)
		at := slices.IndexFunc(lines, func(l tomlLine) bool { return l.header && slices.Equal(l.key, path) })
		if at < 0 {
			return nil, errNoTable
		}
		if _, there := entry[f.name]; !there {
			src = splice(src, lines[at].end, lines[at].end, f.name+" = "+f.toml()+eol)
			continue
		}
		n := slices.IndexFunc(lines[at+1:], func(l tomlLine) bool {
			return l.header || slices.Equal(l.key, []string{f.name})
		})
		if n < 0 || lines[at+1+n].header {
			return nil, errNoTable
		}
		src = splice(src, lines[at+1+n].valueAt, lines[at+1+n].valueTo, f.toml())
	}
	return src, nil
}

func tomlTable(path []string, fields []field, eol string) string {
	var b strings.Builder
	b.WriteString("[" + strings.Join(path, ".") + "]" + eol)
	for _, f := range fields {
		b.WriteString(f.name + " = " + f.toml() + eol)
	}
	return b.String()
}

// removeTOML takes the entry's table out, and the tables below it.
func removeTOML(src []byte, path []string) ([]byte, error) {
	v, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	if _, ok := lookup(v, path); !ok {
		return src, nil
	}
	mine := func(l tomlLine) bool {
		return l.header && len(l.key) >= len(path) && slices.Equal(l.key[:len(path)], path)
	}
	for {
		lines := scanTOML(src)
		at := slices.IndexFunc(lines, mine)
		if at < 0 {
			break
		}
		from, to := lines[at].start, lines[at].end
		for _, l := range lines[at+1:] {
			if l.header {
				break
			}
			to = l.end
		}
		switch before := src[:from]; { // the blank line before it
		case bytes.HasSuffix(before, []byte("\r\n\r\n")):
			from -= 2
		case bytes.HasSuffix(before, []byte("\n\n")):
			from--
		}
		src = splice(src, from, to, "")
	}
	if v, err = parseTOML(src); err != nil {
		return nil, err
	}
	if _, ok := lookup(v, path); ok {
		return nil, errNoTable
	}
	return src, nil
}

func lookup(v any, path []string) (any, bool) {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// scanTOML returns the headers and pairs of a valid file.
func scanTOML(src []byte) []tomlLine {
	s := &tomlScan{src: src}
	if bytes.HasPrefix(src, bom) {
		s.pos = len(bom)
	}
	var lines []tomlLine
	for s.pos < len(src) {
		start := s.pos
		s.blanks()
		l := tomlLine{start: start}
		switch c := s.peek(); {
		case c == '[':
			l.header = true
			s.pos++
			array := s.peek() == '['
			if array {
				s.pos++
			}
			l.key = s.key()
			s.pos++
			if array {
				l.key = append(l.key, "[]") // an element of a list: no table that anybody names
				s.pos++
			}
		case c != '#' && c != '\r' && c != '\n' && c != 0:
			l.key = s.key()
			s.pos++ // =
			s.blanks()
			l.valueAt = s.pos
			s.value()
			l.valueTo = s.pos
		}
		s.line()
		if l.end = s.pos; l.key != nil {
			lines = append(lines, l)
		}
		if s.pos <= start {
			break // it was not valid
		}
	}
	return lines
}

type tomlScan struct {
	src []byte
	pos int
}

func (s *tomlScan) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *tomlScan) blanks() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

// line goes behind the line's end.
func (s *tomlScan) line() {
	s.pos = min(s.pos, len(s.src))
	if i := bytes.IndexByte(s.src[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
	} else {
		s.pos = len(s.src)
	}
}

// key reads a dotted key.
func (s *tomlScan) key() []string {
	var key []string
	for {
		s.blanks()
		start := s.pos
		if c := s.peek(); c == '"' || c == '\'' {
			s.text()
			var v map[string]any
			text := string(s.src[start:min(s.pos, len(s.src))])
			if toml.Unmarshal([]byte("k = "+text), &v) == nil {
				text, _ = v["k"].(string)
			}
			key = append(key, text)
		} else {
			for bareKey(s.peek()) {
				s.pos++
			}
			key = append(key, string(s.src[start:s.pos]))
		}
		s.blanks()
		if s.peek() != '.' {
			return key
		}
		s.pos++
	}
}

func bareKey(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// text passes a string of any of the four kinds.
func (s *tomlScan) text() {
	q := s.src[s.pos]
	triple := bytes.Repeat([]byte{q}, 3)
	if bytes.HasPrefix(s.src[s.pos:], triple) {
		for s.pos += 3; s.pos < len(s.src); s.pos++ {
			if q == '"' && s.src[s.pos] == '\\' {
				s.pos++
			} else if bytes.HasPrefix(s.src[s.pos:], triple) {
				s.pos += 3
				for s.peek() == q { // up to two more belong to the text
					s.pos++
				}
				return
			}
		}
		return
	}
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '\\':
			if q == '"' {
				s.pos++
			}
		case q:
			s.pos++
			return
		}
	}
}

// value passes a value: lists and inline tables to their end, all else to where it cannot go on.
func (s *tomlScan) value() {
	depth := 0
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case '"', '\'':
			s.text()
		case '[', '{':
			depth++
			s.pos++
		case ']', '}':
			depth--
			s.pos++
		case '#', '\r', '\n':
			if depth <= 0 {
				return
			}
			s.line()
		case ' ', '\t':
			if depth <= 0 && s.rest() {
				return
			}
			s.pos++
		default:
			s.pos++
		}
		if depth < 0 {
			return
		}
	}
}

// rest tells whether the line has nothing but blanks and a comment from here.
func (s *tomlScan) rest() bool {
	t := bytes.TrimLeft(s.src[s.pos:], " \t")
	return len(t) == 0 || t[0] == '#' || t[0] == '\n' || t[0] == '\r'
}

// checkTOML says whether new is old but for the entry at path.
func checkTOML(old, new []byte, path []string) error {
	a, err := parseTOML(old)
	if err != nil {
		return err
	}
	b, err := parseTOML(new)
	if err != nil {
		return fmt.Errorf("it would not parse any more: %w", err)
	}
	return sameBut(a, b, path)
}
