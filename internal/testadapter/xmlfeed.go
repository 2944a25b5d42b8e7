package testadapter

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"
)

// xmlFeed reads a report while it is written: it takes bytes cut anywhere and calls back at each tag that is complete.
// The reports that it is for have neither declarations nor namespaces, and may end anywhere when their writer dies.
type xmlFeed struct {
	open  func(name string, attrs map[string]string)
	close func(name, text string) // text is what stood directly in the element, at most maxXMLText bytes of it

	buf   []byte
	stack []xmlOpen
	lost  bool // a tag was too long: what follows cannot be trusted
}

type xmlOpen struct {
	name string
	text []byte
}

const (
	maxXMLText  = 64 << 10 // of one element: a failure's message or what a test wrote
	maxXMLTag   = 1 << 20  // of one tag: names and descriptions
	maxXMLDepth = 256      // of elements: sections in sections
)

func (x *xmlFeed) Write(b []byte) {
	if x.lost {
		return
	}
	x.buf = append(x.buf, b...)
	for x.step() {
	}
	if len(x.buf) > maxXMLTag {
		x.buf, x.lost = nil, true
	}
}

// step takes one text or tag off the buffer, if it is complete.
func (x *xmlFeed) step() bool {
	i := bytes.IndexByte(x.buf, '<')
	if i != 0 {
		if i < 0 { // an entity may be cut: the rest comes with the next tag
			if i = len(x.buf); i < maxXMLText {
				return false
			}
		}
		x.text(x.buf[:i])
		x.buf = x.buf[i:]
		return len(x.buf) > 0
	}
	for _, special := range []struct{ begin, end string }{{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}} {
		if !bytes.HasPrefix(x.buf, []byte(special.begin)) {
			if len(x.buf) < len(special.begin) && strings.HasPrefix(special.begin, string(x.buf)) {
				return false
			}
			continue
		}
		end := bytes.Index(x.buf[len(special.begin):], []byte(special.end))
		if end < 0 {
			return false
		}
		end += len(special.begin)
		if special.begin == "<![CDATA[" {
			x.raw(x.buf[len(special.begin):end])
		}
		x.buf = x.buf[end+len(special.end):]
		return true
	}
	end := tagEnd(x.buf)
	if end < 0 {
		return false
	}
	x.tag(string(x.buf[1:end]))
	x.buf = x.buf[end+1:]
	return true
}

// tagEnd is where the tag at the beginning ends: at the first '>' that is not in an attribute's value.
func tagEnd(b []byte) int {
	quote := byte(0)
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return -1
}

func (x *xmlFeed) tag(s string) {
	if name, ok := strings.CutPrefix(s, "/"); ok {
		name = strings.TrimSpace(name)
		for n := len(x.stack) - 1; n >= 0; n-- { // a tag that was never opened closes nothing
			if x.stack[n].name == name {
				for len(x.stack) > n {
					x.pop()
				}
				return
			}
		}
		return
	}
	s, empty := strings.CutSuffix(s, "/")
	name := s
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		name = s[:i]
	}
	if len(x.stack) >= maxXMLDepth {
		x.lost = true
		return
	}
	x.stack = append(x.stack, xmlOpen{name: name})
	if x.open != nil {
		x.open(name, xmlAttrs(s[len(name):]))
	}
	if empty {
		x.pop()
	}
}

func (x *xmlFeed) pop() {
	top := &x.stack[len(x.stack)-1]
	name, text := top.name, string(top.text)
	x.stack = x.stack[:len(x.stack)-1]
	if x.close != nil {
		x.close(name, text)
	}
}

func (x *xmlFeed) text(b []byte) { x.raw([]byte(html.UnescapeString(string(b)))) }

func (x *xmlFeed) raw(b []byte) {
	if len(x.stack) == 0 {
		return
	}
	top := &x.stack[len(x.stack)-1]
	if room := maxXMLText - len(top.text); room > 0 {
		top.text = append(top.text, b[:min(room, len(b))]...)
	}
}

func xmlAttrs(s string) map[string]string {
	attrs := map[string]string{}
	for len(attrs) < 100 {
		s = strings.TrimLeft(s, " \t\r\n")
		name, rest, ok := strings.Cut(s, "=")
		if rest = strings.TrimLeft(rest, " \t\r\n"); !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
			return attrs
		}
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return attrs
		}
		value := html.UnescapeString(rest[1 : 1+end])
		if !utf8.ValidString(value) {
			value = strings.ToValidUTF8(value, "\uFFFD")
		}
		attrs[strings.TrimSpace(name)] = value
		s = rest[2+end:]
	}
	return attrs
}
