package dap

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/sorting"
)

type pointKind int

const (
	ofLine pointKind = iota
	ofFunction
	ofData
	ofException
	ofInstruction
)

// pointKey is what an editor asks for: two points of one key are the same.
type pointKey struct {
	kind      pointKind
	file      string
	line      int // as the daemon counts
	name      string
	condition string
	hits      int64
	message   string
	access    string
}

// point is a breakpoint as the editor knows it, by its number.
type point struct {
	number int
	key    pointKey
	wrong  string // why it is no point at all
	id     string // the daemon's; "": it is not set there
	others bool   // somebody else has set it
	row    pointRow
}

// pointRow is what the daemon says of a point.
type pointRow struct {
	ID, Function, File, Address, Note, Variable, Condition, Message string
	Line, Locations                                                 int
	HitCount                                                        int64
}

// points are the editor's, whether there is a program or not, and those that others have set in it.
type points struct {
	last   int
	groups map[string][]*point // by source file, or kind
	others map[string]*point   // by the daemon's id

	anyPending atomic.Bool // one is nowhere yet
}

// exceptionFilters are the patterns of exceptions that a breakpoint may have; which work is the runtime's to say.
var exceptionFilters = []proto.ExceptionBreakpointsFilter{
	{Filter: "@uncaught", Label: "Uncaught exceptions",
		Description: "Pause at exceptions that nobody catches, and in front of a signal that ends the program"},
	{Filter: "@exceptions", Label: "All exceptions", Description: "Pause at exceptions"},
}

func (p *points) new(k pointKey) *point {
	p.last++
	return &point{number: p.last, key: k}
}

// byID finds a point by what the daemon calls it.
func (p *points) byID(id string) *point {
	if id == "" {
		return nil
	}
	for _, g := range p.groups {
		for _, pt := range g {
			if pt.id == id {
				return pt
			}
		}
	}
	return p.others[id]
}

// set makes a group be exactly these points, of which those that are there already stay.
func (s *Server) set(ctx context.Context, group string, want []*point) ([]*point, error) {
	p := &s.points
	if p.groups == nil {
		p.groups = map[string][]*point{}
	}
	old := p.groups[group]
	var add []*point
	for i, w := range want {
		at := slices.IndexFunc(old, func(o *point) bool { return o.key == w.key && o.wrong == "" && w.wrong == "" })
		if at >= 0 {
			want[i] = old[at]
			old = slices.Delete(slices.Clone(old), at, at+1)
			continue
		}
		if w.wrong == "" {
			add = append(add, w)
		}
	}
	p.groups[group] = want
	if s.run == nil || s.run.bare || s.run.ended {
		return want, nil
	}
	err := s.points.remove(ctx, s.run, old)
	return want, cmp.Or(err, s.points.add(ctx, s.run, add))
}

// remove takes points away in the daemon.
func (p *points) remove(ctx context.Context, r *run, list []*point) error {
	var ids []string
	for _, pt := range list {
		if pt.id != "" {
			ids = append(ids, pt.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return r.s.ask(ctx, "debug_breakpoint", map[string]any{"sessionId": r.id, "remove": ids}, nil)
}

// pointsAnswer is what is used of debug_breakpoint's.
type pointsAnswer struct {
	Breakpoints, Logpoints []pointRow
	Added                  []string
}

func (a *pointsAnswer) row(id string) pointRow {
	for _, list := range [][]pointRow{a.Breakpoints, a.Logpoints} {
		for i := range list {
			if list[i].ID == id {
				return list[i]
			}
		}
	}
	return pointRow{}
}

// add sets points in the daemon: all at once, or where one is refused each by itself, so that the others are set.
func (p *points) add(ctx context.Context, r *run, list []*point) error {
	list = slices.DeleteFunc(list, func(pt *point) bool { return p.adopt(pt) })
	if len(list) == 0 {
		return nil
	}
	err := p.addAll(ctx, r, list)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
	case len(list) == 1:
		list[0].wrong = said(err)
	default:
		full := map[bool]string{} // of breakpoints and of logpoints a session takes so many
		for _, pt := range list {
			if pt.wrong = full[pt.key.message != ""]; pt.wrong != "" {
				continue
			}
			if err := p.addAll(ctx, r, []*point{pt}); err != nil {
				if pt.wrong = said(err); strings.Contains(pt.wrong, "a session has at most") {
					full[pt.key.message != ""] = pt.wrong
				}
			}
		}
	}
	p.note()
	return ctx.Err()
}

func (p *points) addAll(ctx context.Context, r *run, list []*point) error {
	adds := make([]map[string]any, len(list))
	for i, pt := range list {
		adds[i] = pt.key.asked(r.began.PauseAll)
	}
	var a pointsAnswer
	if err := r.s.ask(ctx, "debug_breakpoint", map[string]any{"sessionId": r.id, "add": adds}, &a); err != nil {
		return err
	}
	if len(a.Added) != len(list) {
		return fmt.Errorf("%d breakpoints were asked for and %d set", len(list), len(a.Added))
	}
	for i, pt := range list {
		pt.id = a.Added[i]
		pt.row = a.row(pt.id)
	}
	return nil
}

// asked is a point as the daemon is asked for it.
func (k *pointKey) asked(all bool) map[string]any {
	m := map[string]any{}
	put := func(name string, v any, there bool) {
		if there {
			m[name] = v
		}
	}
	put("file", k.file, k.kind == ofLine)
	put("line", k.line, k.kind == ofLine)
	put("function", k.name, k.kind == ofFunction || k.kind == ofException)
	put("variable", k.name, k.kind == ofData)
	put("pause", true, k.kind == ofData)
	put("access", k.access, k.access != "")
	put("address", k.name, k.kind == ofInstruction)
	put("pending", true, k.kind != ofData && k.kind != ofInstruction)
	put("condition", k.condition, k.condition != "")
	put("hitCount", k.hits, k.hits != 0)
	put("message", k.message, k.message != "")
	put("allThreads", true, all && k.message == "")
	return m
}

// adopt takes a point of somebody else's where it is what the editor asks for: it was shown there.
func (p *points) adopt(pt *point) bool {
	for id, o := range p.others {
		k, w := pt.key, o.key
		k.name, w.name = "", ""
		if pt.key.kind == ofLine && k == w {
			*pt = *o
			delete(p.others, id)
			return true
		}
	}
	return false
}

// begin sets what was asked for before there was a program, and tells what became of it.
func (p *points) begin(ctx context.Context, r *run) error {
	p.others = map[string]*point{}
	if r.bare {
		return nil
	}
	var all []*point
	for _, g := range p.groups {
		for _, pt := range g {
			if pt.key.kind != ofData { // what was wrong in another program need not be in this one
				pt.wrong = pt.key.problem()
			}
			if pt.wrong == "" {
				all = append(all, pt)
			}
		}
	}
	sorting.By(all, func(a, b *point) int { return cmp.Compare(a.number, b.number) })
	if err := p.add(ctx, r, slices.Clone(all)); err != nil {
		return err
	}
	for _, pt := range all {
		r.s.pointEvent("changed", pt)
	}
	return nil
}

// end forgets what was set in a program that is gone.
func (p *points) end() {
	for _, g := range p.groups {
		for _, pt := range g {
			pt.id, pt.row, pt.others = "", pointRow{}, false
			if pt.key.kind == ofData {
				pt.wrong = "the program that it was in has ended"
			}
		}
	}
	p.others = nil
}

// takeAway leaves a session as others have it: without the editor's points, its threads not at them.
func (p *points) takeAway(ctx context.Context, r *run) error {
	var mine []*point
	for _, g := range p.groups {
		for _, pt := range g {
			if !pt.others {
				mine = append(mine, pt)
			}
		}
	}
	var left []int
	for tid, c := range r.paused {
		if pt := p.byID(c.BreakpointID); pt != nil && slices.Contains(mine, pt) || c.By == r.s.name() {
			left = append(left, tid)
		}
	}
	err := p.remove(ctx, r, mine)
	for _, tid := range left {
		r.resume(ctx, map[string]any{"threadId": tid}) //nolint:errcheck // it has ended, or somebody was faster
	}
	return err
}

// note looks whether a point is nowhere yet.
func (p *points) note() {
	pending := false
	for _, g := range p.groups {
		for _, pt := range g {
			pending = pending || pt.id != "" && pt.row.Locations == 0
		}
	}
	p.anyPending.Store(pending)
}

// refresh asks how the points are now, and tells what is different.
func (p *points) refresh(ctx context.Context, r *run) {
	var a pointsAnswer
	if r.ended || r.s.ask(ctx, "debug_breakpoint", map[string]any{"sessionId": r.id}, &a) != nil {
		return
	}
	here := map[string]bool{}
	for _, row := range slices.Concat(a.Breakpoints, a.Logpoints) {
		here[row.ID] = true
		pt := p.byID(row.ID)
		if pt == nil {
			pt = p.new(row.key())
			pt.id, pt.others = row.ID, true
			pt.row = row
			p.others[row.ID] = pt
			r.s.pointEvent("new", pt)
			continue
		}
		moved := pt.row.Locations != row.Locations || pt.row.Line != row.Line
		if pt.row = row; moved {
			r.s.pointEvent("changed", pt)
		}
	}
	for id, pt := range p.others {
		if !here[id] {
			delete(p.others, id)
			r.s.pointEvent("removed", pt)
		}
	}
	for name, g := range p.groups {
		p.groups[name] = slices.DeleteFunc(g, func(pt *point) bool {
			gone := pt.id != "" && !here[pt.id]
			if gone {
				r.s.pointEvent("removed", pt)
			}
			return gone
		})
	}
	p.note()
}

// key is what somebody else has asked for, as an editor would.
func (row *pointRow) key() pointKey {
	k := pointKey{file: row.File, line: row.Line, name: row.Function, condition: row.Condition, hits: row.HitCount,
		message: row.Message}
	if row.Variable != "" {
		k = pointKey{kind: ofData, name: row.Variable}
	}
	return k
}

func (s *Server) pointEvent(reason string, pt *point) {
	s.out.event("breakpoint", proto.BreakpointEventBody{Reason: reason, Breakpoint: s.shown(pt)})
}

// shown is a point in the protocol's words.
func (s *Server) shown(pt *point) proto.Breakpoint {
	b := proto.Breakpoint{Id: pt.number, Message: cmp.Or(pt.wrong, pt.row.Note),
		Verified: pt.wrong == "" && pt.row.Locations > 0}
	file, line := pt.key.file, pt.key.line
	if b.Verified {
		if pt.key.kind != ofLine {
			file = pt.row.File
		}
		line = cmp.Or(pt.row.Line, line)
		b.InstructionReference = pt.row.Address
	}
	if b.Message == "" && pt.id == "" && s.run == nil {
		b.Message = "it is set when the program begins"
	}
	if file != "" && line > 0 {
		b.Source, b.Line = source(file), s.line(line)
	}
	return b
}

func (s *Server) shownAll(list []*point) *proto.SetBreakpointsResponseBody {
	out := &proto.SetBreakpointsResponseBody{Breakpoints: make([]proto.Breakpoint, len(list))}
	for i, pt := range list {
		out.Breakpoints[i] = s.shown(pt)
	}
	return out
}

// line is the daemon's as the editor counts.
func (s *Server) line(n int) int { return n - 1 + s.client.lineBase }

func source(file string) *proto.Source {
	return &proto.Source{Name: filepath.Base(file), Path: file}
}

// problem says why a key is no point.
func (k *pointKey) problem() string {
	switch {
	case k.hits < 0:
		return "a hit condition is the number of the one hit to pause at, such as 3"
	case k.hits > 0 && k.message != "":
		return "a logpoint takes no hit condition: use a condition"
	}
	return ""
}
