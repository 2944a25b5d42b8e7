package pager

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Least is the smallest limit of a page, in bytes.
const Least = 600

const (
	tailRoom  = 230 // of a page, for leftOut and the cursor
	leftRoom  = 130 // of that, for the places that something was left out of
	pathWidth = 60  // bytes of a path in an answer
	nextLeast = 120 // room for which another piece is begun
)

// goOn says behind what was left out how to see it.
const goOn = ": repeat the call with cursor, or ask with more maxTokens"

// Rest is what was cut out of an answer.
type Rest struct{ pieces []piece }

// Bytes is how large it is.
func (r *Rest) Bytes() (n int) {
	for i := range r.pieces {
		n += r.pieces[i].bytes()
	}
	return n
}

// First makes the first page of an answer, a JSON object: as it is where it has its size, else cut to limit bytes,
// which are at least Least. The cursor is asked for where something is left.
func First(answer []byte, limit int, cursor func(*Rest) string) []byte {
	answer = bytes.TrimSpace(answer)
	if len(answer) <= limit || kind(answer) != '{' {
		return answer
	}
	c := &cutter{}
	out := c.cut("", answer, max(limit, Least)-tailRoom)
	return finish(out, c.pieces, cursor)
}

// Next makes the page behind a cursor.
func (r *Rest) Next(limit int, cursor func(*Rest) string) []byte {
	head := `{"rest":[`
	room := max(limit, Least) - tailRoom - len(head) - 2
	var entries []string
	todo := slices.Clone(r.pieces) // the next one last
	slices.Reverse(todo)
	for len(todo) > 0 && (room > nextLeast || len(entries) == 0) {
		entry, rest := todo[len(todo)-1].entry(room, len(entries) == 0)
		if entry == "" {
			break
		}
		entries = append(entries, entry)
		room -= len(entry) + 1
		slices.Reverse(rest)
		todo = append(todo[:len(todo)-1], rest...)
	}
	slices.Reverse(todo)
	return finish([]byte(head+strings.Join(entries, ",")+"]}"), todo, cursor)
}

// finish says in an object what is left, and the cursor to it.
func finish(object []byte, pieces []piece, cursor func(*Rest) string) []byte {
	if len(pieces) == 0 {
		return object
	}
	rest := &Rest{pieces}
	to := cursor(rest)
	out := bytes.TrimSuffix(object, []byte{'}'})
	if len(out) > 1 {
		out = append(out, ',')
	}
	return fmt.Appendf(out, `"leftOut":%s,"cursor":%s}`, quoted(rest.summary()+goOn), quoted(to))
}

// summary counts what is left, by place as long as there is room.
func (r *Rest) summary() string {
	var b strings.Builder
	all := fmt.Sprintf("; %d bytes in %d places", r.Bytes(), len(r.pieces))
	for i := range r.pieces {
		s := r.pieces[i].count()
		if len(quoted(b.String()+s+all)) > leftRoom {
			b.WriteString(all)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s)
	}
	return strings.TrimPrefix(b.String(), "; ")
}

// count says how much of a place is left.
func (p *piece) count() string {
	switch {
	case p.elements != nil:
		return fmt.Sprintf("%s: %d of %d", short(p.in), len(p.elements), p.of)
	case p.members != nil:
		return fmt.Sprintf("%s: %d of %d members", short(p.in), len(p.members), p.of)
	}
	return fmt.Sprintf("%s: %d bytes", short(p.in), len(p.text))
}

// short is a path of a bounded size: its end is what tells it from others.
func short(path string) string {
	if len(path) <= pathWidth {
		return path
	}
	return "…" + strings.ToValidUTF8(path[len(path)-pathWidth+3:], "")
}

// entry shows as much of a piece as has room; "" where that is nothing, unless it must be something.
func (p *piece) entry(room int, must bool) (entry string, rest []piece) {
	head := fmt.Sprintf(`{"in":%s,`, quoted(short(p.in)))
	switch {
	case p.elements != nil:
		return p.some(head+`"items":[`, "]}", len(p.elements), room, must)
	case p.members != nil:
		return p.some(head+`"members":{`, "}}", len(p.members), room, must)
	}
	name := `"text":`
	if p.raw {
		name = `"json":`
	}
	n := fitting(p.text, room-len(head)-len(name)-3)
	if n == 0 || n < len(p.text) && n < leastText && !must {
		return "", nil
	}
	entry = head + name + string(quoted(p.text[:n])) + "}"
	if n < len(p.text) {
		rest = []piece{{in: p.in, text: p.text[n:], raw: p.raw}}
	}
	return entry, rest
}

// part is an element or a member as it is written, and its value's place.
func (p *piece) part(i int) (prefix string, raw json.RawMessage, in string) {
	if p.members == nil {
		return "", p.elements[i], fmt.Sprintf("%s[%d]", p.in, p.at[i])
	}
	m := p.members[i]
	return string(quoted(m.name)) + ":", m.raw, under(p.in, m.name)
}

// from is the piece without its first n.
func (p *piece) from(n int) []piece {
	q := *p
	if p.members != nil {
		q.members = p.members[n:]
	} else {
		q.elements, q.at = p.elements[n:], p.at[n:]
	}
	if len(q.members)+len(q.elements) == 0 {
		return nil
	}
	return []piece{q}
}

// some shows the first elements or members; the first of a page is cut where it alone is too large.
func (p *piece) some(head, tail string, n, room int, must bool) (entry string, rest []piece) {
	b := []byte(head)
	room -= len(tail)
	k := 0
	for ; k < n; k++ {
		prefix, raw, _ := p.part(k)
		if len(b)+len(prefix)+len(raw)+1 > room {
			break
		}
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(b, prefix...), raw...)
	}
	if k > 0 {
		return string(b) + tail, p.from(k)
	}
	if !must {
		return "", nil
	}
	prefix, raw, in := p.part(0)
	whole := piece{in: in, text: string(raw), raw: true}
	if left := room - len(b) - len(prefix); left >= max(least(raw), leastElement) {
		c := &cutter{}
		if out := c.cut(in, raw, left); len(out) > 2 { // else nothing of it has room, such as a long name
			return string(b) + prefix + string(out) + tail, append(c.pieces, p.from(1)...)
		}
	}
	if prefix != "" { // a name may be what has no room
		whole.in, whole.text = p.in, prefix+whole.text
	}
	entry, rest = whole.entry(room+len(tail), true)
	return entry, append(rest, p.from(1)...)
}
