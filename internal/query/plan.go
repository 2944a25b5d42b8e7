package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// part is one of the disjoint sets of events that a question's answer is made of. What the store's
// columns cannot decide is left to pred.
type part struct {
	filter store.Filter
	cold   bool // pred needs the payload, Parent or Enter
	byArgs bool // pred looks at the function and the payload of calls alone
	lean   bool // of byArgs: who scans needs the id alone
	pred   func(*store.Row) bool
}

// leanly returns p for a scan that needs no more of the rows than their ids.
func (p part) leanly() part {
	p.lean = p.byArgs
	return p
}

// asker answers one question over one snapshot.
type asker struct {
	*filters
	ctx     context.Context
	st      *store.Store
	sn      *store.Snapshot
	cache   *cache
	fns     []event.Function
	calls   *record.Reader
	threads []event.Thread
	pid     int32    // of the session's first process
	reserve int      // bytes that a first answer was over
	skipTo  event.ID // while waiting: what is before was looked at, and did not match
	byArg   bool     // argument selects exits through their enters
	whole   bool     // the page's rows have their payloads already
	args    []argPlan
	asked   *asked                   // of view events; nil: all values are shown
	rates   map[event.FuncID]float64 // of sampled functions; nil: not looked up yet

	// view stats is from counters, which have the calls that were not recorded too
	countsAll bool
	names     map[event.ThreadID][]store.ThreadName // of threads that had several
	scope     scope

	sides      *strings.Replacer // says of which session a value is; nil: calls with a claim and without
	several    bool              // the session has several processes
	aloneUntil int64             // when the second one came
}

func newAsker(ctx context.Context, st *store.Store, sn *store.Snapshot, f *filters) *asker {
	return &asker{
		filters: f, ctx: ctx, st: st, sn: sn, cache: caches.Of(st), fns: sn.Functions(), threads: sn.Threads(),
		names: sn.ThreadNames(),
		pid:   int32(st.Meta().PID), calls: f.newReader(sn),
	}
}

// scope is the call that Request.Under names.
type scope struct {
	enter, exit event.ID // exit 0: still open
	thread      event.ThreadID
}

// stream is the one that an event belongs to.
func (a *asker) stream(row *store.Row) event.Stream {
	if all := a.sn.Streams(); int(row.Stream) < len(all) {
		return all[row.Stream]
	}
	return event.Stream{Channel: "?", Name: "?"}
}

func (a *asker) thread(id event.ThreadID) event.Thread {
	if int(id) < len(a.threads) {
		return a.threads[id]
	}
	return event.Thread{PID: a.pid}
}

// plan resolves the filters against the snapshot. No parts means that nothing can match.
func (a *asker) plan() ([]part, error) {
	base := store.Filter{Kinds: a.wantedKinds()}
	if base.Kinds == 0 {
		return nil, nil
	}
	if !a.timeAndCursor(&base) {
		return nil, nil
	}
	if base.Funcs = a.functions(); base.Funcs != nil && base.Funcs.Len() == 0 {
		return nil, nil
	}
	base.MinDur, base.MaxDur = a.req.MinDurationNs, a.req.MaxDurationNs
	parts := a.byUI(a.byThread(base))
	if a.req.Under != 0 {
		parts = a.below(parts)
	}
	parts = a.byMessage(a.byText(a.byChannel(parts)))
	if a.arg != nil {
		var err error
		if parts, err = a.byArgument(parts); err != nil {
			return nil, err
		}
	}
	return a.byResult(parts), nil
}

// wantedKinds returns the kinds that all filters allow, 0 for none.
func (a *asker) wantedKinds() uint32 {
	r := &a.req
	kinds := a.kinds
	if kinds == 0 {
		kinds = callKinds | otherKinds
	}
	if r.Function != nil || r.SourceFile != nil {
		kinds &= callKinds
	}
	if r.Text != nil {
		kinds &= otherKinds
	}
	if r.Channel != "" {
		kinds &= channelKinds
	}
	if len(a.message) > 0 {
		kinds &= otherKinds &^ (1<<event.Stdout | 1<<event.Stderr | 1<<event.Data)
	}
	exits := a.ret != nil || r.MinDurationNs > 0 || r.MaxDurationNs > 0
	if exits {
		kinds &= 1 << event.FunctionExit
	}
	if a.arg != nil {
		a.byArg = exits || a.kinds != 0 && a.kinds&callKinds == 1<<event.FunctionExit
		if a.byArg {
			kinds &= 1 << event.FunctionExit
		} else {
			kinds &= 1 << event.FunctionEnter
		}
	}
	return kinds
}

// timeAndCursor sets the bounds of time and id; false where nothing can lie between.
func (a *asker) timeAndCursor(f *store.Filter) bool {
	if a.from.set {
		f.FromTS = max(0, a.from.at(a.sn.LastTS()))
	}
	if a.to.set {
		to := a.to.at(a.sn.LastTS())
		if to < 0 || to < f.FromTS {
			return false
		}
		if to == 0 { // the store's word for no bound; only an event of the first nanosecond could be there
			to, f.ToID = 1, 1
		}
		f.ToTS = to
	}
	f.FromID = a.skipTo
	if a.req.AfterEventID != nil {
		f.FromID = max(f.FromID, *a.req.AfterEventID+1)
	}
	if a.req.Under != 0 {
		own := event.ID(1)
		if a.req.View == "tree" { // whose root is the call itself
			own = 0
		}
		f.FromID = max(f.FromID, a.scope.enter+own)
		if end := a.scope.exit - own; a.scope.exit != 0 && (f.ToID == 0 || f.ToID > end) {
			f.ToID = end
		}
	}
	return f.ToID == 0 || f.FromID <= f.ToID
}

// byUI leaves states out that are not of the types of channel ui that are wanted.
func (a *asker) byUI(parts []part) []part {
	if a.ui == nil {
		return parts
	}
	for i := range parts {
		before := parts[i].pred
		parts[i].cold = true
		parts[i].pred = func(row *store.Row) bool {
			if row.Kind == event.State && !slices.Contains(a.ui, typeOf(row.Kind, a.stream(row))) {
				return false
			}
			return before == nil || before(row)
		}
	}
	return parts
}

// typeOf is an event's type on the wire.
func typeOf(k event.Kind, s event.Stream) string {
	if k == event.State && s.Channel == uiChannel {
		return uiChannel + "_" + s.Name
	}
	return k.String()
}

// functions returns the set that function and sourceFile select, nil for all.
func (a *asker) functions() *store.Bits {
	r := &a.req
	if r.Function == nil && r.SourceFile == nil {
		return nil
	}
	var key strings.Builder
	if r.Function != nil {
		fmt.Fprintf(&key, "n%q%q%q", r.Function.Equals, r.Function.Contains, r.Function.Matches)
	}
	if r.SourceFile != nil {
		fmt.Fprintf(&key, "f%q%q", r.SourceFile.Equals, r.SourceFile.Contains)
	}
	return a.cache.functionSet(key.String(), a.fns, func(fn *event.Function) bool {
		return (r.Function == nil || matchName(r.Function, a.name, fn)) &&
			(r.SourceFile == nil || matchFile(r.SourceFile, fn.File))
	})
}

// byThread adds the sets that threadId, threadName and pid select.
func (a *asker) byThread(base store.Filter) []part {
	r := &a.req
	if r.ThreadID == nil && r.ThreadName == nil && r.PID == nil {
		return []part{{filter: base}}
	}
	set, all := &store.Bits{}, true
	sometimes := &store.Bits{} // threads that had the name for a part of their life
	for i, t := range a.threads {
		if r.ThreadID != nil && int64(t.TID) != *r.ThreadID ||
			r.PID != nil && int64(t.PID) != *r.PID {
			all = false
			continue
		}
		switch always, ever := a.named(event.ThreadID(i)); {
		case always:
			set.Set(uint32(i))
		case ever:
			sometimes.Set(uint32(i))
			all = false
		default:
			all = false
		}
	}
	// Output that no thread is known for is the first process's.
	orphans := r.ThreadID == nil && r.ThreadName == nil && *r.PID == int64(a.pid)
	if all && orphans {
		return []part{{filter: base}}
	}
	var parts []part
	if set.Len() > 0 {
		f := base
		f.Threads = set
		parts = append(parts, part{filter: f})
	}
	if sometimes.Len() > 0 {
		f := base
		f.Threads = sometimes
		parts = append(parts, part{filter: f, pred: func(row *store.Row) bool {
			return strings.Contains(a.threadName(row), r.ThreadName.Contains)
		}})
	}
	if f := base; orphans {
		if f.Kinds &= otherKinds; f.Kinds != 0 && f.Funcs == nil {
			parts = append(parts, part{filter: f, pred: func(row *store.Row) bool { return row.Thread == event.NoThread }})
		}
	}
	return parts
}

// named reports whether threadName's condition holds for a thread all its life, and whether it ever does.
func (a *asker) named(id event.ThreadID) (always, ever bool) {
	if a.req.ThreadName == nil {
		return true, true
	}
	want := a.req.ThreadName.Contains
	had := a.names[id]
	if len(had) == 0 {
		ok := strings.Contains(a.threads[id].Name, want)
		return ok, ok
	}
	always = true
	for _, n := range had {
		ok := strings.Contains(n.Name, want)
		always, ever = always && ok, ever || ok
	}
	if a.req.View == "tree" { // a thread's tree is shown whole
		always = ever
	}
	return always, ever
}

// threadName returns the name that an event's thread had at that moment.
func (a *asker) threadName(row *store.Row) string {
	had := a.names[row.Thread]
	for i := len(had) - 1; i >= 0; i-- {
		if row.TS >= had[i].FromTS || i == 0 {
			return had[i].Name
		}
	}
	return a.thread(row.Thread).Name
}

// below restricts parts to the thread of the call that under names.
func (a *asker) below(parts []part) []part {
	var out []part
	for _, p := range parts {
		// the first: events of no thread
		if p.filter.Threads == nil && p.pred != nil || p.filter.Threads != nil &&
			!p.filter.Threads.Has(uint32(a.scope.thread)) {
			continue
		}
		p.filter.Threads = &store.Bits{}
		p.filter.Threads.Set(uint32(a.scope.thread))
		out = append(out, p)
	}
	return out
}

func (a *asker) byText(parts []part) []part {
	if a.req.Text == nil {
		return parts
	}
	want := []byte(a.req.Text.Contains)
	for i := range parts {
		parts[i].cold = true
		parts[i].pred = both(parts[i].pred, func(row *store.Row) bool {
			return containsText(row, want) && (a.text == nil || a.text.Match(row.Payload))
		})
	}
	return parts
}

// both admits what p and q admit; nil admits all.
func both(p, q func(*store.Row) bool) func(*store.Row) bool {
	if p == nil {
		return q
	}
	if q == nil {
		return p
	}
	return func(row *store.Row) bool { return p(row) && q(row) }
}

// byArgument restricts parts to calls whose argument matches. Exits are found through their enters, which
// may lie before the time range and the cursor.
func (a *asker) byArgument(parts []part) ([]part, error) {
	var out []part
	for _, p := range parts {
		funcs := a.withArgument(p.filter.Funcs)
		if funcs.Len() == 0 {
			continue
		}
		p.filter.Funcs, p.cold = funcs, true
		if !a.byArg {
			p.byArgs = p.pred == nil
			p.pred = both(p.pred, a.argumentMatches)
			out = append(out, p)
			continue
		}
		f := store.Filter{Kinds: 1 << event.FunctionEnter, Funcs: funcs, Threads: p.filter.Threads, ToTS: p.filter.ToTS,
			ToID: p.filter.ToID}
		if a.req.Under != 0 {
			f.FromID = a.scope.enter + 1
		}
		var found [scanPieces][]event.ID
		err := a.scanAll(part{filter: f, cold: true, lean: true, pred: a.argumentMatches}, func(piece int, row *store.Row) {
			found[piece] = append(found[piece], row.ID)
		})
		if err != nil {
			return nil, err
		}
		enters := slices.Concat(found[:]...) // ascending
		if len(enters) == 0 {
			continue
		}
		p.pred = both(p.pred, func(row *store.Row) bool {
			_, ok := slices.BinarySearch(enters, row.Enter)
			return ok && row.Enter != 0
		})
		out = append(out, p)
	}
	return out, nil
}

// byResult splits parts by where the functions' results are, so that plain integers are decided by the
// store's columns and only what is left is rendered.
func (a *asker) byResult(parts []part) []part {
	if a.ret == nil {
		return parts
	}
	var out []part
	for _, p := range parts {
		var sets [value.NumRetClasses]*store.Bits
		for i := range a.fns {
			if p.filter.Funcs != nil && !p.filter.Funcs.Has(uint32(i)) {
				continue
			}
			c := a.fn(event.FuncID(i)).Ret
			if sets[c] == nil {
				sets[c] = &store.Bits{}
			}
			sets[c].Set(uint32(i))
		}
		for c := value.RetSigned; c < value.NumRetClasses; c++ {
			if sets[c] == nil {
				continue
			}
			q := p
			q.filter.Funcs = sets[c]
			if a.resultPart(&q, c) {
				out = append(out, q)
			}
		}
	}
	return out
}

// resultPart adds the condition on results of one class; false where none can match.
func (a *asker) resultPart(p *part, c value.RetClass) bool {
	if c == value.RetSigned || c == value.RetUnsigned {
		if lo, hi, none, ok := a.ret.bounds(c == value.RetUnsigned); ok {
			if none {
				return false
			}
			if lo == hi {
				p.filter.RetEq = &lo
			} else {
				p.filter.RetMin, p.filter.RetMax = &lo, &hi
			}
			return true
		}
	}
	if c == value.RetPayload {
		p.cold = true
	}
	if c != value.RetWord {
		p.pred = both(p.pred, func(row *store.Row) bool {
			v, ok := a.fn(row.Func).Result(row)
			return ok && a.ret.match(v)
		})
		return true
	}
	var mu sync.RWMutex // leaf; the scan has several goroutines
	memo := make(map[memoKey]bool)
	p.pred = both(p.pred, func(row *store.Row) bool {
		k := memoKey{row.Func, row.Ret}
		if row.Flags&event.HasRet == 0 {
			return false
		}
		mu.RLock()
		hit, ok := memo[k]
		mu.RUnlock()
		if ok {
			return hit
		}
		v, has := a.fn(row.Func).Result(row)
		hit = has && a.ret.match(v)
		mu.Lock()
		defer mu.Unlock()
		if len(memo) < maxMemo {
			memo[k] = hit
		}
		return hit
	})
	return true
}

type memoKey struct {
	fn  event.FuncID
	ret int64
}

// maxMemo bounds the results remembered by one scan: enough for enums and flags.
const maxMemo = 1 << 14
