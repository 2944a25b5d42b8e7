package tracediff

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// MaxEvents is how many events of a side are read: a few seconds and some 50 MB.
const MaxEvents = 1_000_000

// Side is one session to compare.
type Side struct {
	Store     *store.Store
	SessionID string
	Dropped   int64 // events that were lost before they reached the store
	// the test that it ran, as it may be part of function names: such names are each other's counterpart
	Tests []string
}

// node is a call, or what happened beside calls: an exception, a logpoint, a crash.
type node struct {
	sub, in, out uint64 // hashes: of all of it, of what it was given, of how it ended
	enter, exit  event.ID
	name         int32
	size         int32 // nodes in its tree, with itself; children follow it, each with its own
	calls        int32 // calls among them
	call         bool
	flags        event.Flags // of the exit
	cut          bool
}

// lane is one thread's calls. nodes[0] is the thread itself.
type lane struct {
	thread event.Thread
	role   string
	nodes  []node
}

// side is a Side that has been read.
type side struct {
	Side
	sn     *store.Snapshot
	canon  *canon
	names  *names
	reader *record.Reader
	fns    []*function // by FuncID, nil until they are used
	lanes  []*lane
	lines  []line // of output

	calls   int64
	orphans int64 // exits without their enter
	lost    int64 // exits without their record
	cut     int64 // events with values that were cut
	drops   int64 // told by events
	unread  bool  // there are more than MaxEvents
}

// names gives numbers to names, for both sides.
type names struct {
	ids  map[string]int32
	text []string
	hash []uint64 // of the text: numbers depend on which side was read first
}

func (n *names) id(s string) int32 {
	id, ok := n.ids[s]
	if !ok {
		id = int32(len(n.text))
		n.ids[s], n.text, n.hash = id, append(n.text, s), append(n.hash, mixText(0, s))
	}
	return id
}

// function is what reading needs to know of one function.
type function struct {
	*record.Function
	id    int32
	enter view
	exit  view
}

// fn returns function id.
func (s *side) fn(id event.FuncID, n *Noise) *function {
	if int(id) < len(s.fns) && s.fns[id] != nil {
		return s.fns[id]
	}
	f := &function{Function: s.reader.Function(id)}
	f.id = s.names.id(s.alias(f.Name))
	if int(id) < len(s.fns) {
		s.fns[id] = f
	}
	for t := range f.TypeNames() {
		if strings.Contains(t, "unordered_") || strings.Contains(t, "HashMap") || strings.Contains(t, "HashSet") {
			f.enter.unordered, f.exit.unordered = true, true
		}
	}
	name := s.names.text[f.id]
	f.enter.masked, f.exit.masked = n.paths(name, WhatArgument), n.paths(name, WhatResult)
	switch construct, destroy := special(f.Name); {
	case construct: // what this points to has not been written yet
		f.enter.masked = with(f.enter.masked, "this")
	case destroy:
		f.exit.masked = with(f.exit.masked, "out.this")
	}
	return f
}

func with(set map[string]bool, path string) map[string]bool {
	out := map[string]bool{path: true}
	for p := range set {
		out[p] = true
	}
	return out
}

// special reports whether a name is that of a C++ constructor or destructor.
func special(name string) (construct, destroy bool) {
	if i := strings.LastIndex(name, "::"); i > 0 {
		last, class := name[i+2:], name[:i]
		class, _, _ = strings.Cut(class, "<")
		if j := strings.LastIndex(class, "::"); j >= 0 {
			class = class[j+2:]
		}
		last, _, _ = strings.Cut(last, "<")
		return last == class, last == "~"+class
	}
	return false, false
}

// read makes a side of a store.
func read(ctx context.Context, in Side, shared *names, n *Noise) (*side, error) {
	sn, err := in.Store.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", in.SessionID, err)
	}
	s := &side{Side: in, sn: sn, canon: newCanon(in.Store, sn), names: shared, reader: record.New(sn),
		fns: make([]*function, len(sn.Functions()))}
	s.Tests = append(slices.Clone(s.Tests), testsOf(in.Store.Meta().Args)...)
	b := &builder{side: s, noise: n, lanes: map[event.ThreadID]*laneBuilder{}}
	const kinds = 1<<event.FunctionEnter | 1<<event.FunctionExit | 1<<event.Exception | 1<<event.Crash |
		1<<event.Logpoint | 1<<event.Dropped
	err = sn.Scan(ctx, store.Filter{Kinds: kinds}, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		if b.events++; b.events > MaxEvents {
			s.unread = true
			return false
		}
		b.row(r)
		return true
	})
	if err == nil {
		b.finish()
		err = s.readOutput(ctx)
	}
	if err != nil {
		sn.Close()
		return nil, fmt.Errorf("read session %s: %w", in.SessionID, err)
	}
	return s, nil
}

// builder makes the lanes.
type builder struct {
	side   *side
	noise  *Noise
	lanes  map[event.ThreadID]*laneBuilder
	events int
}

type laneBuilder struct {
	*lane
	open record.Stack[int32] // nodes
}

func (b *builder) lane(id event.ThreadID) *laneBuilder {
	l := b.lanes[id]
	if l == nil {
		l = &laneBuilder{lane: &lane{nodes: []node{{name: b.side.names.id(""), size: 1}}}}
		if all := b.side.sn.Threads(); int(id) < len(all) {
			l.thread = all[id]
		}
		b.lanes[id] = l
		b.side.lanes = append(b.side.lanes, l.lane)
	}
	return l
}

func (b *builder) row(r *store.Row) {
	s := b.side
	switch r.Kind {
	case event.FunctionEnter:
		l := b.lane(r.Thread)
		f := s.fn(r.Func, b.noise)
		s.calls++
		l.open.Begin(r.ID, int32(len(l.nodes)))
		l.nodes = append(l.nodes, node{name: f.id, in: s.hashEnter(f, r), enter: r.ID, call: true, cut: s.canon.cut ||
			r.Flags&event.Truncated != 0})
	case event.FunctionExit:
		l := b.lane(r.Thread)
		n := l.open.End(r.Enter, func(left int32) { l.close(s, left) })
		if n == nil {
			s.orphans++
			return
		}
		at := &l.nodes[*n]
		at.exit, at.flags = r.ID, r.Flags
		at.out = s.hashExit(s.fn(r.Func, b.noise), r)
		at.cut = at.cut || s.canon.cut || r.Flags&event.Truncated != 0
		if r.Flags&event.Lost != 0 {
			s.lost++
		}
		l.close(s, *n)
	case event.Dropped:
		var loss struct {
			Count int64 `json:"count"`
		}
		if json.Unmarshal(r.Payload, &loss) == nil {
			s.drops += loss.Count
		}
	default:
		if r.Thread == event.NoThread {
			return
		}
		l := b.lane(r.Thread)
		text := leafText(r)
		l.nodes = append(l.nodes, node{name: s.names.id(r.Kind.String()), in: mixText(1, s.canon.text(text)), enter: r.ID,
			exit: r.ID, size: 1})
		last := &l.nodes[len(l.nodes)-1]
		last.sub = mix(last.in, s.names.hash[last.name])
	}
}

// end closes the calls that did not end, and completes the thread.
func (l *laneBuilder) end(s *side) {
	for at := l.open.Pop(); at != nil; at = l.open.Pop() {
		l.close(s, *at)
	}
	l.seal()
}

// seal completes the thread's own node.
func (l *lane) seal() {
	l.nodes[0].size = int32(len(l.nodes))
	l.nodes[0].sub = l.below(0)
	for i := range l.kids(0) {
		l.nodes[0].calls += l.nodes[i].calls
	}
}

// Outcomes of a call, as a hash begins.
const (
	returned = iota + 1
	unwound
	leftOpen
)

// close completes the node of a call that was the innermost one.
func (l *laneBuilder) close(s *side, at int32) {
	n := &l.nodes[at]
	n.size = int32(len(l.nodes)) - at
	if n.exit == 0 {
		n.out = leftOpen
	}
	if n.cut {
		s.cut++
	}
	n.calls = 1
	for i := range l.kids(at) {
		n.calls += l.nodes[i].calls
	}
	n.sub = mix(mix(mix(s.names.hash[n.name], n.in), n.out), l.below(at))
}

// kids are a node's children.
func (l *lane) kids(at int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := at + 1; i < at+l.nodes[at].size; i += l.nodes[i].size {
			if !yield(i) {
				return
			}
		}
	}
}

// below is the hash of what a node caused.
func (l *lane) below(at int32) (h uint64) {
	for i := range l.kids(at) {
		h = mix(h, l.nodes[i].sub)
	}
	return h
}

func (b *builder) finish() {
	for _, l := range b.lanes {
		l.end(b.side)
	}
	// By process, as the store came to know them, and thread, as they were made.
	order := map[int32]int{}
	names := map[int32]string{} // of processes
	for i, t := range b.side.sn.Threads() {
		if _, known := order[t.PID]; !known {
			order[t.PID] = i
		}
		if t.TID == t.PID {
			names[t.PID] = t.Name
		}
	}
	sorting.By(b.side.lanes, func(x, y *lane) int {
		return cmp.Or(cmp.Compare(order[x.thread.PID], order[y.thread.PID]), cmp.Compare(x.thread.TID, y.thread.TID))
	})
	for _, l := range b.side.lanes {
		switch {
		case l.thread.TID == l.thread.PID:
			l.role = "main"
		// else it has the name that it began with, or ended before any name was read
		case l.thread.Name != names[l.thread.PID]:
			l.role = l.thread.Name
		}
		if b.side.ofTest(l.role) {
			l.role = testAlias
		}
	}
}

// hashEnter hashes what a call was given.
func (s *side) hashEnter(f *function, r *store.Row) uint64 {
	s.canon.begin()
	if !f.Known() {
		return 0
	}
	h := s.canon.hash(1, value.NewObject(f.Arguments(r)), "", "", &f.enter)
	if w := f.Watches(r); len(w) > 0 {
		h = s.canon.hash(h, value.NewObject(w), "", "watch", &f.enter)
	}
	return h
}

// hashExit hashes how a call ended.
func (s *side) hashExit(f *function, r *store.Row) uint64 {
	s.canon.begin()
	if r.Flags&event.Unwound != 0 {
		return unwound
	}
	h := uint64(returned)
	if !f.Known() { // then its result is a register that may hold anything
		return h
	}
	if v, ok := f.Result(r); ok {
		h = s.canon.hash(h, v, f.Name, "result", &f.exit)
	}
	if o := f.Out(r); len(o) > 0 {
		h = s.canon.hash(h, value.NewObject(o), "", "out", &f.exit)
	}
	if w := f.Watches(r); len(w) > 0 {
		h = s.canon.hash(h, value.NewObject(w), "", "watch", &f.exit)
	}
	return h
}

// leafText is what an event that is no call says, in a line.
func leafText(r *store.Row) string {
	if r.Kind == event.Crash {
		if k, err := crash.Parse(r.Payload); err == nil {
			return k.Signal // what it says beside differs by addresses from run to run
		}
	}
	var x struct {
		What, Type, Message, Text, Function, File, Signal string
		Line                                              int
	}
	if json.Unmarshal(r.Payload, &x) != nil {
		return clip(string(r.Payload), 1000)
	}
	if x.What == "" && x.Text == "" && x.Signal == "" {
		x.Text = x.Message
		x.Message = ""
	}
	var parts []string
	for _, p := range []string{x.What, x.Signal, x.Type, x.Text, x.Message} {
		if p != "" && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	text := strings.Join(parts, " ")
	if x.File != "" && r.Kind == event.Exception {
		text += fmt.Sprintf(" at %s:%d", x.File[strings.LastIndexByte(x.File, '/')+1:], x.Line)
	}
	return text
}
