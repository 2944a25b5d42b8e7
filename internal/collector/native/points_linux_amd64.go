package native

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// point is a breakpoint or logpoint in force.
type point struct {
	collector.Point
	pat    *symbol.Pattern
	root   string                // of the project, for patterns
	index  uint32                // of its counts in each process's region
	hits   atomic.Int64          // times that it took effect in processes that have ended
	failed atomic.Int64          // times that the condition could not be evaluated
	same   atomic.Int64          // of a data breakpoint: writes that changed nothing
	plans  map[planKey]pointPlan // probeMu
	data   *dataPoint            // of a data breakpoint
	throws throwsKind            // of exceptions
	gone   atomic.Bool           // the variable's function has returned
	off    atomic.Bool           // not in force any more: who is on the way to it goes on
	guard  *point                // of a local: stands where its function returns to
	guards *point                // of a guard: the data breakpoint
	until  bool                  // of debug_continue until: gone with the next pause
	file   string                // of a line: its absolute path; "": not known yet
	line   int                   // and the line that has code
	places []collector.Location
	note   string
}

// pointSite is a place in one process where points are. Immutable but for known once it stands in the process.
type pointSite struct {
	at     uint64 // the address in the program's own code
	size   uint64 // of the instruction there
	site   *site
	points []*point
	rows   []uint32    // hook IDs, where the agent decides; nil: the tracer does
	stub   uint64      // where its stub begins
	copies []hook.Pair // of the displaced instructions
	known  atomic.Bool // conditions were evaluated there: what they need has been read
}

// forked is a place's copy for a child: its patch comes and goes by itself there.
func (ps *pointSite) forked() *pointSite {
	c := &pointSite{at: ps.at, size: ps.size, points: ps.points, rows: ps.rows, stub: ps.stub, copies: ps.copies}
	s := *ps.site
	c.site = &s
	if s.point != nil {
		s.point = c
	}
	c.known.Store(ps.known.Load())
	return c
}

// SetPoints makes exactly these points be in force.
func (t *target) SetPoints(ctx context.Context, wanted []collector.Point) ([]collector.PointStatus, error) {
	if t.released.Load() {
		return nil, fault.New(fault.ProcessExited, "Launch it again.", "process %d is no longer traced", t.pid)
	}
	for _, p := range t.processes() {
		if p.shares == nil && !p.dead.Load() && len(wanted) > 0 { // to take points out nobody need be ready
			t.awaitReady(ctx, p)
		}
	}
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	t.describe()
	next := make([]*point, 0, len(wanted))
	for _, w := range wanted {
		if i := slices.IndexFunc(t.points, func(have *point) bool { return have.Point == w }); i >= 0 {
			next = append(next, t.points[i])
			continue
		}
		pt, err := t.newPoint(w)
		if err != nil {
			return nil, err
		}
		next = append(next, pt)
	}
	for _, pt := range slices.Clone(next) {
		if pt.guard != nil && !pt.gone.Load() {
			next = append(next, pt.guard)
		}
	}
	next = append(next, t.untils()...)
	if err := countSlots(next); err != nil {
		return nil, err
	}
	before := t.points
	t.usePoints(next)
	if err := t.applyToAll(ctx); err != nil {
		t.usePoints(before)
		if undo := t.applyToAll(context.WithoutCancel(ctx)); undo != nil {
			t.log.Warn("put points back", "err", undo)
		}
		return nil, err
	}
	return t.pointStatus(), nil
}

// usePoints makes these the points in force; their places are still to be changed. probeMu is held.
func (t *target) usePoints(next []*point) {
	for _, pt := range t.points {
		pt.off.Store(true)
	}
	for _, pt := range next {
		pt.off.Store(false)
	}
	t.points = next
	var thrown []*point
	for _, pt := range next {
		if pt.throws != throwsNone {
			thrown = append(thrown, pt)
		}
	}
	t.thrownAt.Store(&thrown)
	t.mover.near.Store(len(next) > 0)
}

// newPoint checks a point. It must have a place in what is loaded now, unless it may come with a library.
func (t *target) newPoint(w collector.Point) (*point, error) {
	pt := &point{Point: w, root: t.cmd.ProjectRoot, index: t.freeIndex(), plans: map[planKey]pointPlan{}}
	var err error
	if w.Variable != "" {
		return pt, t.newDataPoint(pt)
	}
	if w.Function == collector.PointUncaught || w.Function == collector.PointExceptions {
		if pt.forces() {
			return nil, fault.New(fault.ValidationError, "Give the function that is to return or to get something.",
				"%s is no function", w.Function)
		}
		return pt, t.newThrowPoint(pt)
	}
	if w.Function != "" {
		if pt.pat, err = symbol.ParsePattern(w.Function); err != nil {
			return nil, err
		}
		if pt.pat.Excludes() {
			return nil, fault.New(fault.InvalidPattern,
				"Give the functions where it is to be; one breakpoint takes one pattern.",
				"%q takes functions out, and there are none to take them out of", w.Function)
		}
	}
	if w.Condition != "" {
		if _, err := expr.Parse(w.Condition, symbol.LangCPP); err != nil {
			return nil, exprFault("condition", w.Condition, err)
		}
	}
	if w.Message != "" {
		if _, err := expr.ParseMessage(w.Message, symbol.LangCPP); err != nil {
			return nil, exprFault("message", w.Message, err)
		}
	}
	lives := false
	for _, p := range t.processes() {
		if p.shares != nil || p.dead.Load() || p.detached.Load() {
			continue
		}
		lives = true
		if pt.File != "" {
			if err := pt.findLine(p); err != nil {
				return nil, err
			}
		}
		found := false
		for _, m := range p.modules {
			mod, err := p.open(m)
			if err != nil {
				continue
			}
			for _, a := range pt.addresses(mod, m.bias) {
				found = true
				if err := pt.check(mod, a, p.watchable(mod)); err != nil {
					return nil, err
				}
				if w.Address != 0 && !startsInstruction(mod, a) {
					return nil, fault.New(fault.ValidationError, "Take an address from a backtrace, a function or a disassembly.",
						"no instruction begins at 0x%x", w.Address)
				}
				if pt.forces() {
					if _, err := pt.newForced(mod, a); err != nil {
						return nil, err
					}
				}
				pt.place(mod, m.bias, a)
			}
		}
		if found {
			return pt, nil
		}
	}
	if w.Pending && w.Address == 0 {
		return pt, nil
	}
	if !lives { // it ends at this moment
		return nil, fault.New(fault.ProcessExited, "debug_launch it again.", "the program has ended")
	}
	return pt, t.noPlace(pt)
}

// startsInstruction reports whether an instruction of the function there begins at an address.
func startsInstruction(mod *symbol.Module, a symbol.Addr) bool {
	f, off, ok := mod.Lookup(a)
	if !ok {
		return false
	}
	code, err := mod.Code(f)
	if err != nil {
		return false
	}
	at := uint64(0)
	for at < off {
		in, err := hook.Decode(code[at:])
		if err != nil {
			return true // what is amid the code is not known
		}
		at += uint64(in.Len)
	}
	return at == off
}

// freeIndex returns a place for a point's counts that no point in force has: of those the one that was given away
// longest ago, since a thread may still be on its way through a point that was removed. There are far fewer points than
// places.
func (t *target) freeIndex() uint32 {
	for {
		t.lastPoint++
		index := t.lastPoint % ring.MaxPoints
		if !slices.ContainsFunc(t.points, func(pt *point) bool { return pt.index == index }) {
			return index
		}
	}
}

// exprFault says which text of a point is wrong.
func exprFault(what, src string, err error) error {
	f := fault.From(err)
	if e, ok := err.(interface{ Fault() *fault.Error }); ok {
		f = e.Fault()
	}
	hint := f.Hint
	if hint == "" {
		hint = "Correct it at that position; names are the function's variables and the program's globals."
	}
	return fault.New(f.Code, hint, "%s %q: %s", what, src, f.Msg)
}

// maxLocations bounds the places of one point that are named.
const maxLocations = 20

// placeOf describes a place.
func (pt *point) placeOf(mod *symbol.Module, bias uint64, a symbol.Addr) collector.Location {
	l := collector.Location{Address: fmt.Sprintf("0x%x", uint64(a)+bias)}
	if scopes := mod.InlinedAt(a); len(scopes) > 0 {
		skip := min(pt.skips(mod, a), len(scopes)-1)
		if l.Function = scopes[skip].Function; skip > 0 {
			l.File, l.Line = scopes[skip].File, scopes[skip].Line
			return l
		}
	} else if f, _, ok := mod.Lookup(a); ok {
		l.Function = f.Name
	}
	if file, line, ok := mod.LineFor(a); ok {
		l.File, l.Line = file, line
	}
	return l
}

// place notes where a point is, for its status.
func (pt *point) place(mod *symbol.Module, bias uint64, a symbol.Addr) {
	l := pt.placeOf(mod, bias, a)
	// Several lines may begin at the address. That of a function's first line is behind its beginning, in another line.
	if pt.file != "" && (l.Line == 0 || slices.Contains(lineCode(mod, pt.file, pt.line), a)) {
		l.File, l.Line = pt.file, pt.line
	}
	same := func(have collector.Location) bool {
		return have.Function == l.Function && have.File == l.File && have.Line == l.Line
	}
	if len(pt.places) < maxLocations && !slices.ContainsFunc(pt.places, same) {
		pt.places = append(pt.places, l)
	}
}

// addresses returns where a point is in a module.
func (pt *point) addresses(mod *symbol.Module, bias uint64) (at []symbol.Addr) {
	switch {
	case pt.data != nil || pt.throws != throwsNone:
	case pt.pat != nil:
		fns := mod.Functions()
		for i := range fns {
			f := &fns[i]
			if (f.HasDWARF || pt.pat.Exact()) && !f.Ifunc && f.Size() > 0 && pt.pat.Match(f, pt.root) {
				at = append(at, pt.start(mod, f))
			}
		}
	case pt.Address != 0:
		a := symbol.Addr(pt.Address - bias)
		if _, _, ok := mod.Lookup(a); ok {
			at = append(at, a)
		}
	default:
		return pt.lineAddresses(mod)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// bodyStart is symbol.Module.BodyStart; without debug information the place behind an endbr64.
func bodyStart(mod *symbol.Module, f *symbol.Function) symbol.Addr {
	at := mod.BodyStart(f)
	if at == f.Low {
		if b, err := mod.BytesAt(at, 4); err == nil && string(b) == "\xf3\x0f\x1e\xfa" && f.Size() > 4 {
			at += 4
		}
	}
	return at
}

// noSymbolsHint is what to do about a point in a program without debug information.
const noSymbolsHint = "Build it with -g and do not strip it, or give symbolsPath at the launch; with pending it may " +
	"be of a library that is loaded later."

// noPlace is the error of a point that is nowhere.
func (t *target) noPlace(pt *point) error {
	mods := map[*symbol.Module]bool{}
	for _, p := range t.processes() {
		for _, m := range p.modules {
			if m.mod != nil {
				mods[m.mod] = true
			}
		}
	}
	switch {
	case pt.pat != nil:
		why, lacks := strings.CutPrefix(t.explain(probe{text: pt.Function, pat: pt.pat}, mods), string(fault.NoDebugSymbols)+
			": ")
		if lacks {
			return fault.New(fault.NoDebugSymbols, noSymbolsHint, "%s", why)
		}
		return fault.New(fault.ValidationError, "Patterns are those of debug_trace.", "%s", why)
	case pt.Address != 0:
		return fault.New(fault.ValidationError, "Take an address from a backtrace or a function.",
			"address 0x%x is in no function of the program", pt.Address)
	}
	if main := t.mainModule(); pt.file == "" && main != nil && !main.HasDWARF {
		return fault.New(fault.NoDebugSymbols, noSymbolsHint, "%s has no debug information, so no line of %s is known",
			filepath.Base(main.Path), pt.File)
	}
	if pt.file == "" {
		return fault.New(fault.NoCodeAtLine, "Check the path, and that the file is compiled with -g; with pending it may "+
			"be of a library that is loaded later.", "no code of the program comes from a file %s%s", pt.File,
			t.sourcesLike(pt.File, mods))
	}
	return fault.New(fault.NoCodeAtLine, "Take one of them.", "%s:%d has no code; %s", pt.File, pt.Line, pt.note)
}

// sourcesLike names source files with the same base name.
func (t *target) sourcesLike(file string, mods map[*symbol.Module]bool) string {
	var near []string
	for mod := range mods {
		near = append(near, mod.SourceFiles(filepath.Base(file))...)
	}
	if len(near) == 0 {
		return ""
	}
	slices.Sort(near)
	near = slices.Compact(near)
	return "; there is " + strings.Join(near[:min(len(near), 5)], ", ")
}

// Points returns the state of the points in force.
func (t *target) Points() []collector.PointStatus {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	return t.pointStatus()
}

func (t *target) pointStatus() []collector.PointStatus {
	out := make([]collector.PointStatus, 0, len(t.points))
	for _, pt := range t.points {
		if pt.guards != nil || pt.until {
			continue
		}
		hits, failed := t.counts(pt)
		s := collector.PointStatus{ID: pt.ID, Locations: pt.places, Hits: hits, Note: pt.note}
		s.InTarget, s.Why = t.decides(pt)
		if pt.gone.Load() {
			s.Note = "the function whose variable it was has returned, or was left: nothing is watched any more"
		}
		if n := failed; n > 0 {
			s.Note = strings.TrimPrefix(s.Note+fmt.Sprintf("; its condition could not be evaluated %d times", n), "; ")
		}
		if n := pt.same.Load(); n > 0 {
			s.Note = strings.TrimPrefix(s.Note+fmt.Sprintf("; %d writes left the value as it was, and have no event", n), "; ")
		}
		out = append(out, s)
	}
	return out
}

// applyPoints makes a process's points what is wanted. probeMu is held.
func (t *target) applyPoints(ctx context.Context, p *process) error {
	if err := t.applyData(ctx, p); err != nil {
		return err
	}
	if len(t.points) == 0 && len(p.points) == 0 || !p.injected.Load() {
		return nil
	}
	want := map[uint64][]*point{}
	if !t.stopping.Load() {
		for _, m := range p.modules {
			mod, err := p.open(m)
			if err != nil || m.path == p.loader.path {
				continue
			}
			for _, pt := range t.points {
				if pt.File != "" && pt.line == 0 && pt.data == nil {
					if err := pt.findLine(p); err != nil {
						pt.note = fault.From(err).Error()
					}
				}
				for _, a := range pt.addresses(mod, m.bias) {
					if len(pt.places) == 0 {
						pt.place(mod, m.bias, a)
					}
					want[uint64(a)+m.bias] = append(want[uint64(a)+m.bias], pt)
				}
			}
		}
	}
	p.changing()
	var add, remove []*pointSite
	all := maps.Clone(want)
	for at, ps := range p.points {
		if !slices.Equal(want[at], ps.points) || len(ps.site.patch) > 1 && crowded(all, at) {
			remove = append(remove, ps)
			p.setPoint(at, nil)
		} else {
			delete(want, at)
		}
	}
	for at, pts := range want {
		ps, err := p.newPointSite(ctx, at, pts, crowded(all, at))
		if err != nil {
			t.warn(fmt.Sprintf("point %s cannot be set at 0x%x: %v", pts[0].ID, at, err))
			for _, pt := range pts {
				if note := fmt.Sprintf("not set at 0x%x: %v", at, err); !strings.Contains(pt.note, note) {
					pt.note = strings.TrimPrefix(pt.note+"; "+note, "; ")
				}
			}
			continue
		}
		p.setPoint(at, ps)
		add = append(add, ps)
	}
	if len(add)+len(remove) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // points that are noted as taken out must be: nobody would take them out again
	return t.tracer.Do(ctx, func() error { return p.exchangePoints(add, remove) })
}
