package collector

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Stopper is a Member that pauses threads where its interpreter has them. Its points are those with a Function or a
// File, without what is of machine code alone; it takes also those that are nowhere yet, and says so in Note.
type Stopper interface {
	Member
	// Stops reports whether it does so at all; else a program of it is debugged as one of machine code.
	Stops() bool
	Debugger // HasThread: of the processes that it watches
	Pauser
	Viewer
	Evaluator
	Inspector
	Assigner
}

// stoppers are the members that pause threads, by their place in g.members, which stays theirs.
func (g *Group) stoppers() []Stopper {
	var all []Stopper
	for _, m := range g.list() {
		if s := stops(m); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// stops is a member that pauses threads, nil where it is none.
func stops(m Member) Stopper {
	if s, ok := m.(Stopper); ok && s.Stops() {
		return s
	}
	return nil
}

// takes reports whether a point may be of a runtime's code.
func (g *Group) takes(runtime string, p *Point) bool {
	switch {
	case p.Address != 0 || p.Variable != "" || p.Return != "" || p.SetArguments != "":
		return false
	case p.File == "":
		return p.Function != "" && !strings.Contains(p.Function, "::") && !strings.ContainsAny(p.Function, "(<")
	}
	return slices.ContainsFunc(g.t.joiners, func(j Joiner) bool {
		l := j.Language()
		return j.Name() == runtime && l.Sources(p.File)
	})
}

// interpreted reports whether a point is in a source file that no machine code is made of.
func (g *Group) interpreted(p *Point) bool {
	return p.File != "" && slices.ContainsFunc(g.t.joiners, func(j Joiner) bool { return g.takes(j.Name(), p) })
}

// byException reports a point that is of exceptions, of no place.
func byException(function string) bool {
	return function == PointUncaught || function == PointExceptions
}

func (g *Group) share(runtime string, points []Point) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !g.takes(runtime, &p) })
}

// SetPoints implements Debugger: each point goes to the runtimes whose code it may be in.
func (g *Group) SetPoints(ctx context.Context, points []Point) ([]PointStatus, error) {
	g.pointMu.Lock()
	defer g.pointMu.Unlock()
	g.mu.Lock()
	before := g.points
	g.mu.Unlock()
	status, err := g.setPoints(ctx, points)
	if err != nil {
		for _, s := range g.stoppers() { // as it was
			if share := g.share(s.Name(), before); len(share) > 0 || len(g.share(s.Name(), points)) > 0 {
				_, _ = s.SetPoints(ctx, share)
			}
		}
		return nil, err
	}
	return status, nil
}

func (g *Group) setPoints(ctx context.Context, points []Point) ([]PointStatus, error) {
	main := stops(g.main())
	if m := g.main(); m != nil && main == nil {
		for _, p := range points {
			if g.takes(m.Name(), &p) && (p.File != "" || byException(p.Function)) {
				return nil, fault.New(fault.Unsupported, "Trace its functions with debug_trace instead.",
					"%s has no breakpoints in its own code", m.Name())
			}
		}
	}
	found := map[string][]PointStatus{}
	for _, s := range g.stoppers() {
		share := g.share(s.Name(), points)
		if len(share) == 0 && len(s.Points()) == 0 {
			continue
		}
		status, err := s.SetPoints(ctx, share)
		if err != nil {
			return nil, err
		}
		for _, one := range status {
			found[one.ID] = append(found[one.ID], one)
		}
	}
	// Its host has those that may be in machine code, too. A program of an interpreter may have machine code of that
	// name later, or not at all: that is no error.
	var host, sure []Point
	for _, p := range points {
		if g.interpreted(&p) || byException(p.Function) && len(found[p.ID]) > 0 {
			continue
		}
		located := slices.ContainsFunc(found[p.ID], func(s PointStatus) bool { return len(s.Locations) > 0 })
		switch {
		case len(found[p.ID]) == 0:
			sure = append(sure, p)
		case located && main != nil:
			continue
		case located || main != nil:
			p.Pending = true
		}
		host = append(host, p)
	}
	status, err := g.Hosted.SetPoints(ctx, host)
	if err != nil && len(sure) < len(host) && main != nil {
		status, err = g.Hosted.SetPoints(ctx, sure)
	}
	if m := g.main(); err != nil && m != nil && main == nil {
		return nil, fault.New(fault.Unsupported, "Trace its functions with debug_trace instead, or launch the program.",
			"%s has no breakpoints in its own code here, and as machine code: %v", m.Name(), err)
	}
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.points = slices.Clone(points)
	g.mu.Unlock()
	return g.merged(points, found, status), nil
}

// merged is what became of points over all runtimes.
func (g *Group) merged(points []Point, found map[string][]PointStatus, host []PointStatus) []PointStatus {
	out := make([]PointStatus, 0, len(points))
	for _, p := range points {
		parts := found[p.ID]
		if i := slices.IndexFunc(host, func(s PointStatus) bool { return s.ID == p.ID }); i >= 0 {
			parts = append(slices.Clone(parts), host[i])
		}
		if len(parts) == 0 {
			parts = []PointStatus{
				{ID: p.ID, Note: "nowhere yet: no process of the program runs such a file; it is set when one does"}}
		}
		one := parts[0]
		for _, s := range parts[1:] {
			switch { // whoever has it knows best
			case len(one.Locations) == 0 && len(s.Locations) > 0:
				one.Why, one.Note, one.InTarget = s.Why, s.Note, s.InTarget
			case len(one.Locations) > 0 && len(s.Locations) > 0:
				one.Why, one.InTarget = cmp.Or(one.Why, s.Why), one.InTarget && s.InTarget
			}
			one.Locations = append(slices.Clone(one.Locations), s.Locations...)
			one.Hits += s.Hits
		}
		out = append(out, one)
	}
	return out
}

// Points implements Debugger.
func (g *Group) Points() []PointStatus {
	g.mu.Lock()
	points := g.points
	g.mu.Unlock()
	host := g.Hosted.Points()
	if len(points) == 0 {
		return host
	}
	found := map[string][]PointStatus{}
	for _, s := range g.stoppers() {
		for _, one := range s.Points() {
			found[one.ID] = append(found[one.ID], one)
		}
	}
	return g.merged(points, found, host)
}

// Paused implements Debugger.
func (g *Group) Paused() []Pause {
	all := g.Hosted.Paused()
	for _, s := range g.stoppers() {
		all = append(all, s.Paused()...)
	}
	sorting.By(all, func(a, b Pause) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// pauser is the member that has paused a thread; nil: none has. 0 is the thread that was paused last.
func (g *Group) pauser(thread int) Stopper {
	var found Stopper
	newest := int64(0)
	if thread == 0 {
		for _, p := range g.Hosted.Paused() {
			newest = max(newest, p.Number)
		}
	}
	for _, s := range g.stoppers() {
		for _, p := range s.Paused() {
			if p.TID == thread || thread == 0 && p.Number > newest {
				found, newest = s, p.Number
			}
		}
	}
	return found
}

// Resume implements Debugger.
func (g *Group) Resume(ctx context.Context, r Resume) error {
	paused := map[Stopper]bool{}
	var newest *Pause
	for _, s := range g.stoppers() {
		for _, p := range s.Paused() {
			paused[s] = true
			if (r.Told == 0 || p.By() <= r.Told) && (newest == nil || p.Number > newest.Number) {
				newest = &p
			}
		}
	}
	if len(paused) == 0 {
		return g.Hosted.Resume(ctx, r)
	}
	host := slices.DeleteFunc(g.Hosted.Paused(), func(p Pause) bool { return r.Told != 0 && p.By() > r.Told })
	if r.Step != StepNone && r.Step != "" && r.Thread == 0 && newest != nil { // the newest of all
		if !slices.ContainsFunc(host, func(p Pause) bool { return p.Number > newest.Number }) {
			r.Thread = newest.TID
		}
	}
	if r.Thread != 0 {
		if s := g.pauser(r.Thread); s != nil {
			return s.Resume(ctx, r)
		}
		return g.Hosted.Resume(ctx, r)
	}
	if r.Step != StepNone && r.Step != "" {
		return g.Hosted.Resume(ctx, r)
	}
	for s := range paused {
		if err := s.Resume(ctx, r); err != nil && fault.CodeOf(err) != fault.NotPaused {
			return err
		}
	}
	if len(host) == 0 {
		return nil
	}
	return g.Hosted.Resume(ctx, r)
}

// PauseChanged implements Debugger.
func (g *Group) PauseChanged() <-chan struct{} {
	host := g.Hosted.PauseChanged()
	all := []<-chan struct{}{host}
	for _, s := range g.stoppers() {
		all = append(all, s.PauseChanged())
	}
	if len(all) == 1 {
		return host
	}
	return g.fan.first(all, g.Exited())
}

// fan makes one channel of several.
type fan struct {
	mu  sync.Mutex
	in  []<-chan struct{}
	out chan struct{}
}

// first returns a channel that is closed when the first of others is.
func (f *fan) first(in []<-chan struct{}, over <-chan struct{}) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Equal(f.in, in) {
		return f.out
	}
	out := make(chan struct{})
	f.in, f.out = in, out
	cases := make([]reflect.SelectCase, 0, len(in)+1)
	for _, ch := range append(slices.Clone(in), over) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)})
	}
	go func() {
		reflect.Select(cases)
		close(out)
	}()
	return out
}

// PauseNow implements Pauser. Threads of an interpreter pause where it has them; those of a program of machine code
// pause by the host, whatever else runs in their processes.
func (g *Group) PauseNow(ctx context.Context, thread int) (later []LaterPause, err error) {
	asked := false
	for _, s := range g.stoppers() {
		if thread != 0 && !s.HasThread(thread) || thread == 0 && stops(g.main()) == nil {
			continue
		}
		asked = true
		l, err := s.PauseNow(ctx, thread)
		if err != nil {
			return nil, err
		}
		later = append(later, l...)
	}
	if asked {
		return later, nil
	}
	return g.Hosted.PauseNow(ctx, thread)
}

// A Ref of a Group says whose it is: refOwners to each, 0 is the host.
const refOwners = 8

func (g *Group) inner(ref Ref) (Evaluating, Ref, error) {
	owner := int(ref % refOwners)
	if owner == 0 {
		return g.Hosted, ref / refOwners, nil
	}
	all := g.stoppers()
	if owner > len(all) {
		return nil, 0, fault.New(fault.NotPaused, "Ask for the frames of a paused thread again.",
			"ref %d is of no paused thread", ref)
	}
	return all[owner-1], ref / refOwners, nil
}

// Evaluating is what looks into paused threads and changes what is in them.
type Evaluating interface {
	Viewer
	Evaluator
}

// outer is what looks into a thread, and what its Refs are to the group.
func (g *Group) outer(thread int) (Evaluating, func(Ref) Ref) {
	for i, s := range g.stoppers() {
		if slices.ContainsFunc(s.Paused(), func(p Pause) bool { return p.TID == thread }) {
			return s, refOf(i + 1)
		}
	}
	return g.Hosted, refOf(0)
}

func refOf(owner int) func(Ref) Ref {
	return func(r Ref) Ref {
		if r == 0 {
			return 0
		}
		return r*refOwners + Ref(owner)
	}
}

// LiveThreads implements Viewer.
func (g *Group) LiveThreads(ctx context.Context) ([]Thread, error) {
	threads, err := g.Hosted.LiveThreads(ctx)
	if err != nil {
		return nil, err
	}
	threads = slices.DeleteFunc(threads, func(t Thread) bool { return t.Name == AgentThread })
	for _, s := range g.stoppers() {
		for _, p := range s.Paused() {
			for i := range threads {
				if t := &threads[i]; t.TID == p.TID {
					t.Name, t.Paused, t.Pause = cmp.Or(p.ThreadName, t.Name), true, p.Number
				}
			}
		}
	}
	return threads, nil
}

// Frames implements Viewer.
func (g *Group) Frames(ctx context.Context, thread, from, n int) ([]Frame, int, error) {
	v, ref := g.outer(thread)
	frames, total, err := v.Frames(ctx, thread, from, n)
	for i := range frames {
		frames[i].Ref = ref(frames[i].Ref)
	}
	return frames, total, err
}

// Scopes implements Viewer.
func (g *Group) Scopes(ctx context.Context, frame Ref) ([]Scope, error) {
	v, inner, err := g.inner(frame)
	if err != nil {
		return nil, err
	}
	scopes, err := v.Scopes(ctx, inner)
	for i := range scopes {
		scopes[i].Ref = refOf(int(frame % refOwners))(scopes[i].Ref)
	}
	return scopes, err
}

// Variables implements Viewer.
func (g *Group) Variables(ctx context.Context, of Ref, from, n int) ([]Variable, error) {
	v, inner, err := g.inner(of)
	if err != nil {
		return nil, err
	}
	vars, err := v.Variables(ctx, inner, from, n)
	for i := range vars {
		vars[i].Ref = refOf(int(of % refOwners))(vars[i].Ref)
	}
	return vars, err
}

// one asks whoever a Ref is of, and makes the answer the group's.
func (g *Group) one(of Ref, ask func(e Evaluating, inner Ref) (Variable, error)) (Variable, error) {
	e, inner, err := g.inner(of)
	if err != nil {
		return Variable{}, err
	}
	v, err := ask(e, inner)
	v.Ref = refOf(int(of % refOwners))(v.Ref)
	return v, err
}

// Evaluate implements Evaluator.
func (g *Group) Evaluate(ctx context.Context, frame Ref, expression string) (Variable, error) {
	return g.one(frame, func(e Evaluating, f Ref) (Variable, error) { return e.Evaluate(ctx, f, expression) })
}

// SetVariable implements Evaluator.
func (g *Group) SetVariable(ctx context.Context, of Ref, name, value string) (Variable, error) {
	return g.one(of, func(e Evaluating, o Ref) (Variable, error) { return e.SetVariable(ctx, o, name, value) })
}

// SetExpression implements Evaluator.
func (g *Group) SetExpression(ctx context.Context, frame Ref, expression, value string) (Variable, error) {
	return g.one(frame, func(e Evaluating, f Ref) (Variable, error) { return e.SetExpression(ctx, f, expression, value) })
}

// reader is the member that reads what an inspection asks for; nil: it is the host's.
func (g *Group) reader(q Inspection) Stopper {
	if slices.ContainsFunc(q.Targets, func(t InspectTarget) bool { return t.Expr == "" }) {
		return nil
	}
	return g.pauser(q.ThreadID)
}

// Inspect implements Inspector.
func (g *Group) Inspect(ctx context.Context, q Inspection) ([]Reading, error) {
	if s := g.reader(q); s != nil {
		return s.Inspect(ctx, q)
	}
	return g.hintedReadings(g.Hosted.Inspect(ctx, q))
}

// Assign implements Assigner.
func (g *Group) Assign(ctx context.Context, q Inspection) ([]Reading, error) {
	if s := g.reader(q); s != nil {
		return s.Assign(ctx, q)
	}
	return g.hintedReadings(g.Hosted.Assign(ctx, q))
}

func (g *Group) hintedReadings(all []Reading, err error) ([]Reading, error) {
	for i := range all {
		all[i].Err = g.hinted(all[i].Err)
	}
	return all, g.hinted(err)
}

// hinted says of a program of an interpreter when its variables can be read.
func (g *Group) hinted(err error) error {
	m := g.main()
	if err == nil || stops(m) == nil {
		return err
	}
	f := fault.From(err)
	return fault.New(f.Code,
		"Variables of "+m.Name()+" are read in a paused thread: set a breakpoint with debug_breakpoint, or pause with "+
			"debug_continue.", "%s", f.Msg)
}
