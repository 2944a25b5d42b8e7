package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// setJSON gives the entry at path in src its fields: what is missing is added, what differs is replaced, and every
// other byte stays. made is how many objects on the way to the entry were not there.
func setJSON(src []byte, path []string, fields []field) (out []byte, made int, err error) {
	if blank(src) {
		l := layout{unit: "  ", eol: "\n"}
		return append(bytes.Clone(src), l.object(path, fields, "")+"\n"...), len(path) - 1, nil
	}
	d, err := parseJSONC(src)
	if err != nil {
		return nil, 0, err
	}
	at := &d.root
	for i, key := range path {
		if !at.object {
			return nil, 0, fmt.Errorf("%s is no object", where(path[:i]))
		}
		n, err := at.member(key)
		if err != nil {
			return nil, 0, err
		}
		if n < 0 {
			l := d.layout()
			text := func(indent string, oneLine bool) string {
				l.oneLine = oneLine
				return l.member(path[i:], fields, indent)
			}
			return d.insert(at, text), max(0, len(path)-1-i), nil
		}
		at = &at.members[n].value
	}
	if !at.object {
		return nil, 0, fmt.Errorf("%s is no object", where(path))
	}
	for _, f := range fields {
		n, err := at.member(f.name)
		switch {
		case err != nil:
			return nil, 0, err
		case n < 0:
			text := func(string, bool) string { return quote(f.name) + ": " + f.json() }
			src = d.insert(at, text)
		default:
			v := at.members[n].value
			var have any
			if json.Unmarshal(d.plain[v.start:v.end], &have) == nil && reflect.DeepEqual(have, f.plain()) {
				continue
			}
			src = splice(src, v.start, v.end, f.json())
		}
		if d, err = parseJSONC(src); err != nil { // positions have moved
			return nil, 0, err
		}
		if at, err = d.at(path); err != nil || at == nil {
			return nil, 0, fmt.Errorf("%s is gone", where(path))
		}
	}
	return src, 0, nil
}

// removeJSON takes the entry at path out, and up to made objects around it that are then empty.
func removeJSON(src []byte, path []string, made int) ([]byte, error) {
	for ; ; made-- {
		d, err := parseJSONC(src)
		if err != nil {
			return nil, err
		}
		parent, err := d.at(path[:len(path)-1])
		if err != nil || parent == nil {
			return src, err
		}
		n, err := parent.member(path[len(path)-1])
		if err != nil || n < 0 {
			return src, err
		}
		src = d.remove(parent, n)
		path = path[:len(path)-1]
		if made <= 0 || len(parent.members) > 1 || len(path) == 0 {
			return src, nil
		}
	}
}

// at returns the value at path, nil where there is none.
func (d *jsonDoc) at(path []string) (*jsonNode, error) {
	n := &d.root
	for i, key := range path {
		if !n.object {
			return nil, fmt.Errorf("%s is no object", where(path[:i]))
		}
		m, err := n.member(key)
		if err != nil || m < 0 {
			return nil, err
		}
		n = &n.members[m].value
	}
	return n, nil
}

func where(path []string) string {
	if len(path) == 0 {
		return "the file's value"
	}
	return strings.Join(path, ".")
}

// layout is how a file is written.
type layout struct {
	unit, eol string
	oneLine   bool
}

func (d *jsonDoc) layout() layout {
	l := layout{unit: "  ", eol: "\n"}
	if i := bytes.IndexByte(d.src, '\n'); i > 0 && d.src[i-1] == '\r' {
		l.eol = "\r\n"
	}
	if d.root.object && len(d.root.members) > 0 {
		if indent, ok := d.indentAt(d.root.members[0].keyStart); ok && indent != "" && len(indent) <= 8 {
			l.unit = indent
		}
	}
	return l
}

// member writes a member with everything that path has below it.
func (l layout) member(path []string, fields []field, indent string) string {
	return quote(path[0]) + ": " + l.object(path[1:], fields, indent)
}

func (l layout) object(path []string, fields []field, indent string) string {
	var members []string
	if len(path) > 0 {
		members = append(members, l.member(path, fields, indent+l.unit))
	} else {
		for _, f := range fields {
			members = append(members, quote(f.name)+": "+f.json())
		}
	}
	if l.oneLine {
		return "{" + strings.Join(members, ", ") + "}"
	}
	in := l.eol + indent + l.unit
	return "{" + in + strings.Join(members, ","+in) + l.eol + indent + "}"
}

// lineIndent returns the blanks at the beginning of the line that i is in.
func (d *jsonDoc) lineIndent(i int) string {
	start := bytes.LastIndexByte(d.src[:i], '\n') + 1
	if start == 0 && bytes.HasPrefix(d.src, bom) {
		start = len(bom)
	}
	end := start
	for end < i && (d.src[end] == ' ' || d.src[end] == '\t') {
		end++
	}
	return string(d.src[start:end])
}

// indentAt returns the blanks before i, if nothing else stands before it in its line.
func (d *jsonDoc) indentAt(i int) (string, bool) {
	indent := d.lineIndent(i)
	start := i - len(indent)
	return indent, start > 0 && d.src[start-1] == '\n'
}

// insert adds a member behind the last one of an object, in the object's own manner.
func (d *jsonDoc) insert(n *jsonNode, text func(indent string, oneLine bool) string) []byte {
	l := d.layout()
	base := d.lineIndent(n.start)
	if len(n.members) == 0 {
		p := n.start + 1 + len(bytes.TrimRight(d.src[n.start+1:n.end-1], " \t\r\n")) // behind its comments
		ins := l.eol + base + l.unit + text(base+l.unit, false)
		if !bytes.ContainsRune(d.src[p:n.end], '\n') {
			ins += l.eol + base
		}
		return splice(d.src, p, p, ins)
	}
	last := &n.members[len(n.members)-1]
	end, trailing := last.value.end, ","
	if last.comma >= 0 {
		end = last.comma + 1
	} else {
		trailing = ""
	}
	indent, own := d.indentAt(n.members[0].keyStart)
	if !own {
		if bytes.ContainsRune(d.src[n.start:n.end], '\n') {
			indent = base + l.unit
		} else if trailing == "" {
			return splice(d.src, end, end, ", "+text("", true))
		} else {
			return splice(d.src, end, end, " "+text("", true)+",")
		}
	}
	ins := l.eol + indent + text(indent, false) + trailing
	q := d.lineEnd(end)
	out := splice(d.src, q, q, ins)
	if trailing == "" {
		out = splice(out, end, end, ",")
	}
	return out
}

// lineEnd returns where the line of i ends if only blanks and whole comments stand there, else i.
func (d *jsonDoc) lineEnd(i int) int {
	for p := i; p < len(d.src); {
		switch d.src[p] {
		case ' ', '\t':
			p++
		case '\r', '\n':
			return p
		case '/':
			end := d.commentEnd(p)
			if end < 0 || bytes.ContainsRune(d.src[p:end], '\n') {
				return i
			}
			p = end
		default:
			return i
		}
	}
	return i
}

// remove takes member i out with one comma and its line.
func (d *jsonDoc) remove(n *jsonNode, i int) []byte {
	m := &n.members[i]
	from, to := m.keyStart, m.value.end
	if m.comma >= 0 {
		if len(bytes.TrimSpace(d.plain[to:m.comma])) == 0 && !bytes.ContainsRune(d.src[to:m.comma], '/') {
			to = m.comma + 1
		} else { // a comment stands between: the comma goes, the comment stays
			d.src = splice(d.src, m.comma, m.comma+1, "")
		}
	}
	if indent, own := d.indentAt(from); own {
		from -= len(indent) + 1
		if from > 0 && d.src[from-1] == '\r' {
			from--
		}
	} else if i+1 < len(n.members) {
		for to < len(d.src) && (d.src[to] == ' ' || d.src[to] == '\t') {
			to++
		}
	} else {
		for from > n.start+1 && (d.src[from-1] == ' ' || d.src[from-1] == '\t') {
			from--
		}
	}
	out := splice(d.src, from, to, "")
	if m.comma < 0 && i > 0 {
		c := n.members[i-1].comma
		out = splice(out, c, c+1, "")
	}
	if len(n.members) == 1 {
		inner := out[n.start+1 : n.end-1-(len(d.plain)-len(out))]
		if strings.Trim(string(inner), " \t\r") == "\n" {
			out = splice(out, n.start+1, n.start+1+len(inner), "")
		}
	}
	return out
}

func splice(src []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(src)+len(text))
	out = append(out, src[:from]...)
	out = append(out, text...)
	return append(out, src[to:]...)
}

// quote writes a text as JSON does, without its escapes for HTML.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
