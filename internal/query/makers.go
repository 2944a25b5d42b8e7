package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
)

// makers are constructors, destructors, assignments and drops beside each other, of which a tree shows one line with
// counts: the compiler writes most of them, and they are seldom what is looked for. One that threw, or that has other
// calls or output below, is shown as any call.
type makers struct {
	only  *node // while there is one
	names []string
	count map[string]int64
	calls int64
	ns    int64
	first event.ID
}

const maxMakerNames = 4 // in a line

// add counts a call with those below it.
func (m *makers) add(n *node) {
	if m.only = n; m.calls > 0 {
		m.only = nil
	}
	if m.count == nil {
		m.count, m.first = map[string]int64{}, n.id
	}
	m.ns += n.ns
	m.named(n.fn.Name, 1)
	for _, k := range n.kids {
		for _, name := range k.made.names {
			m.named(name, k.made.count[name])
		}
	}
}

func (m *makers) named(name string, n int64) {
	if m.count[name] == 0 {
		m.names = append(m.names, name)
	}
	m.count[name] += n
	m.calls += n
}

// line is them all.
func (m *makers) line() string {
	var items []string
	for i, name := range m.names {
		if i == maxMakerNames {
			items = append(items, fmt.Sprintf("…+%d", len(m.names)-i))
			break
		}
		items = append(items, fmt.Sprintf("%s ×%d", event.ShortName(name, 60), m.count[name]))
	}
	return fmt.Sprintf("×%d made, copied, destroyed: %s  %s from #%d", m.calls, strings.Join(items, ", "), duration(m.ns),
		m.first)
}

// makes reports whether a finished call is one of these, and nothing else is below it.
func (n *node) makes() bool {
	if n.fn == nil || n.orphan || n.end == 0 || len(n.watched) > 0 ||
		n.flags&(event.Unwound|event.Lost|event.AtEnd) != 0 || !isMaker(n.fn.Name) {
		return false
	}
	for _, k := range n.kids {
		if k.made == nil {
			return false
		}
	}
	return true
}

// isMaker goes by the name: A::A, A::~A, A::operator=, core::ptr::drop_in_place<A>.
func isMaker(name string) bool {
	scope, last := "", name
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch c := name[i]; {
		case c == '>':
			depth++
		case c == '<':
			depth--
		case c == ':' && name[i-1] == ':' && depth == 0 && scope == "":
			scope, last = name[:i-1], name[i+1:]
		}
	}
	if scope == "" {
		return false
	}
	plain := func(s string) string { s, _, _ = strings.Cut(s, "<"); return s }
	of := plain(scope)
	of = of[strings.LastIndexByte(of, ':')+1:]
	switch last = strings.TrimPrefix(last, "~"); {
	case last == "operator=":
		return true
	case plain(last) == "drop_in_place":
		return of == "ptr"
	}
	return plain(last) == of
}

// made puts a call into the line of those beside it; false where it is none of them, or they were asked for.
func (b *builder) made(parent, n *node) bool {
	if r := &b.a.req; r.Function != nil || r.SourceFile != nil || b.a.arg != nil || !n.makes() {
		return false
	}
	if len(parent.kids) > 0 {
		if last := parent.kids[len(parent.kids)-1]; last.made != nil {
			was := last.lines
			last.made.add(n)
			last.kids, last.lines, last.calls, last.last = nil, 1, last.made.calls, max(last.last, n.last)
			b.lines += 1 - was - n.lines
			return true
		}
	}
	k := &node{id: n.id, last: n.last, end: n.end, text: "made", kids: n.kids, made: &makers{}}
	k.made.add(n)
	k.seal()
	k.calls = k.made.calls
	parent.kids = append(parent.kids, k)
	return true
}
