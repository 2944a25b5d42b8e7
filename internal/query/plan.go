package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// part is one of the disjoint sets of events that a question's answer is made of. What the store's
// columns cannot decide is left to pred.
type part struct {
	filter store.Filter
	cold   bool // pred needs the payload, Parent or Enter
	pred   func(*store.Row) bool
}

// asker answers one question over one snapshot.
type asker struct {
	*filters
	ctx     context.Context
	st      *store.Store
	sn      *store.Snapshot
	cache   *cache
	fns     []event.Function
	threads []event.Thread
	pid     int32    // of the session's first process
	skipTo  event.ID // while waiting: what is before was looked at, and did not match
	byArg   bool     // argument selects exits through their enters
	scope   scope
}

// scope is the call that Request.Under names.
type scope struct {
	enter, exit event.ID // exit 0: still open
	thread      event.ThreadID
}

func (a *asker) fn(id event.FuncID) *function { return a.cache.function(id, a.fns) }

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
	parts := a.byThread(base)
	if a.req.Under != 0 {
		parts = a.below(parts)
	}
	parts = a.byText(parts)
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
	for i, t := range a.threads {
		if r.ThreadID != nil && int64(t.TID) != *r.ThreadID ||
			r.ThreadName != nil && !strings.Contains(t.Name, r.ThreadName.Contains) ||
			r.PID != nil && int64(t.PID) != *r.PID {
			all = false
			continue
		}
		set.Set(uint32(i))
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
	if f := base; orphans {
		if f.Kinds &= otherKinds; f.Kinds != 0 && f.Funcs == nil {
			parts = append(parts, part{filter: f, pred: func(row *store.Row) bool { return row.Thread == event.NoThread }})
		}
	}
	return parts
}

// below restricts parts to the thread of the call that under names.
func (a *asker) below(parts []part) []part {
	var out []part
	for _, p := range parts {
		if p.pred != nil || p.filter.Threads != nil && !p.filter.Threads.Has(uint32(a.scope.thread)) {
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
			p.pred = both(p.pred, a.argumentMatches)
			out = append(out, p)
			continue
		}
		f := store.Filter{Kinds: 1 << event.FunctionEnter, Funcs: funcs, Threads: p.filter.Threads, ToTS: p.filter.ToTS, ToID: p.filter.ToID}
		if a.req.Under != 0 {
			f.FromID = a.scope.enter + 1
		}
		var enters []event.ID // ascending
		err := a.scan(part{filter: f, cold: true, pred: a.argumentMatches}, func(row *store.Row) bool {
			enters = append(enters, row.ID)
			return true
		})
		if err != nil {
			return nil, err
		}
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

func (a *asker) argumentMatches(row *store.Row) bool {
	l := a.fn(row.Func).layout
	if l == nil {
		return false
	}
	i, rest, ok := l.ArgIndex(a.req.Argument.Name)
	if !ok {
		return false
	}
	v, ok := l.EnterArg(row.Payload, i)
	if !ok {
		return false
	}
	if v, ok = v.Path(rest); !ok {
		return false
	}
	return a.arg.match(v)
}

// withArgument returns the functions of among (nil: all) that have the parameter asked for.
func (a *asker) withArgument(among *store.Bits) *store.Bits {
	set := &store.Bits{}
	for i := range a.fns {
		if among != nil && !among.Has(uint32(i)) {
			continue
		}
		if l := a.fn(event.FuncID(i)).layout; l != nil {
			if _, _, ok := l.ArgIndex(a.req.Argument.Name); ok {
				set.Set(uint32(i))
			}
		}
	}
	return set
}

// byResult splits parts by where the functions' results are, so that plain integers are decided by the
// store's columns and only what is left is rendered.
func (a *asker) byResult(parts []part) []part {
	if a.ret == nil {
		return parts
	}
	var out []part
	for _, p := range parts {
		var sets [retPayload + 1]*store.Bits
		for i := range a.fns {
			if p.filter.Funcs != nil && !p.filter.Funcs.Has(uint32(i)) {
				continue
			}
			c := a.fn(event.FuncID(i)).ret
			if sets[c] == nil {
				sets[c] = &store.Bits{}
			}
			sets[c].Set(uint32(i))
		}
		for c := retSigned; c <= retPayload; c++ {
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
func (a *asker) resultPart(p *part, c retClass) bool {
	if c == retSigned || c == retUnsigned {
		if lo, hi, none, ok := a.ret.bounds(c == retUnsigned); ok {
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
	if c == retPayload {
		p.cold = true
	}
	if c != retScalar {
		p.pred = both(p.pred, func(row *store.Row) bool {
			v, ok := a.result(row)
			return ok && a.ret.match(v)
		})
		return true
	}
	memo := make(map[memoKey]bool)
	p.pred = both(p.pred, func(row *store.Row) bool {
		k := memoKey{row.Func, row.Ret}
		if row.Flags&event.HasRet == 0 {
			return false
		}
		hit, ok := memo[k]
		if !ok {
			v, has := a.result(row)
			hit = has && a.ret.match(v)
			if len(memo) < maxMemo {
				memo[k] = hit
			}
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

// result renders an exit's return value; false where there is none to know: void, or a frame that was
// left otherwise.
func (a *asker) result(row *store.Row) (value.Value, bool) {
	if row.Flags&(event.Unwound|event.Lost) != 0 {
		return value.Value{}, false
	}
	f := a.fn(row.Func)
	has := row.Flags&event.HasRet != 0
	if f.layout == nil {
		return value.NewInt(row.Ret), has
	}
	return f.layout.Exit(row.Payload, row.Ret, has)
}

// findUnder resolves under: the call, its thread, and where it ended.
func (a *asker) findUnder() error {
	id := a.req.Under
	if id == 0 {
		return nil
	}
	rows, err := a.sn.Rows(a.ctx, []event.ID{id})
	if err != nil {
		return fmt.Errorf("read event %d: %w", id, err)
	}
	if len(rows) == 1 && rows[0].Kind == event.FunctionExit && rows[0].Enter != 0 {
		if rows, err = a.sn.Rows(a.ctx, []event.ID{rows[0].Enter}); err != nil {
			return fmt.Errorf("read event %d: %w", id, err)
		}
	}
	if len(rows) != 1 || rows[0].Kind != event.FunctionEnter {
		what := "is no call"
		if first := a.sn.FirstCallID(); len(rows) == 0 && id < first {
			what = "was dropped by the session's limit of events; the oldest call kept is " + strconv.FormatInt(first, 10)
		} else if len(rows) == 0 {
			what = "does not exist; the newest event is " + strconv.FormatInt(a.sn.LastID(), 10)
		}
		return fault.New(fault.ValidationError, "Give the id of a function_enter event, e.g. a #id of view tree.", "under: event %d %s", id, what)
	}
	r := rows[0]
	a.scope.enter, a.scope.thread = r.ID, r.Thread
	end, err := a.exitOf(&r)
	if err != nil {
		return err
	}
	if end != nil {
		a.scope.exit = end.ID
	}
	return nil
}

// exitOf returns the exit of an enter, nil while the call is open.
func (a *asker) exitOf(enter *store.Row) (*store.Row, error) {
	f := store.Filter{FromID: enter.ID + 1, Kinds: 1 << event.FunctionExit, Funcs: &store.Bits{}, Threads: &store.Bits{}}
	f.Funcs.Set(uint32(enter.Func))
	f.Threads.Set(uint32(enter.Thread))
	var exit *store.Row
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Cold: true}, func(row *store.Row) bool {
		if row.Enter != enter.ID {
			return true
		}
		exit = new(*row)
		exit.Payload = slices.Clone(row.Payload)
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("find the exit of event %d: %w", enter.ID, err)
	}
	return exit, nil
}

// scan calls fn for the rows of one part in order of id until fn returns false.
func (a *asker) scan(p part, fn func(*store.Row) bool) error {
	err := a.sn.Scan(a.ctx, p.filter, store.ScanOptions{Cold: p.cold}, func(row *store.Row) bool {
		if p.pred != nil && !p.pred(row) {
			return true
		}
		return fn(row)
	})
	if err == nil {
		err = a.ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("scan events: %w", err)
	}
	return nil
}

// count returns how many rows all parts have.
func (a *asker) count(parts []part) (int64, error) {
	var total int64
	for _, p := range parts {
		if p.pred == nil {
			n, err := a.sn.Count(a.ctx, p.filter)
			if err != nil {
				return 0, fmt.Errorf("count events: %w", err)
			}
			total += n
			continue
		}
		if err := a.scan(p, func(*store.Row) bool { total++; return true }); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// page returns the rows from offset on, at most limit, and how many there are in all. Rows of the page
// have no payload yet.
func (a *asker) page(parts []part, offset, limit int) (rows []store.Row, total int64, err error) {
	if len(parts) == 1 && parts[0].pred == nil {
		return a.columnPage(parts[0], offset, limit)
	}
	for _, p := range parts {
		first := len(rows) // one part alone has everything up to the page; the merge decides which are it
		err := a.scan(p, func(row *store.Row) bool {
			if total++; len(rows)-first < offset+limit {
				r := *row
				r.Payload = nil
				rows = append(rows, r)
			}
			return true
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if len(parts) > 1 {
		slices.SortFunc(rows, func(x, y store.Row) int { return cmp.Compare(x.ID, y.ID) })
	}
	rows = rows[min(offset, len(rows)):]
	return rows[:min(limit, len(rows))], total, nil
}

// columnPage is page where the store's columns decide everything: the count comes from its headers and the scan ends
// with the page.
func (a *asker) columnPage(p part, offset, limit int) (rows []store.Row, total int64, err error) {
	if total, err = a.count([]part{p}); err != nil || total <= int64(offset) || limit == 0 {
		return nil, total, err
	}
	skip := offset
	err = a.scan(p, func(row *store.Row) bool {
		if skip > 0 {
			skip--
			return true
		}
		r := *row
		r.Payload = nil
		rows = append(rows, r)
		return len(rows) < limit
	})
	return rows, total, err
}

// threadPage is page in the order of process, thread and id.
func (a *asker) threadPage(parts []part, offset, limit int) (rows []store.Row, total int64, err error) {
	ids := make([]event.ThreadID, len(a.threads), len(a.threads)+1)
	for i := range ids {
		ids[i] = event.ThreadID(i)
	}
	slices.SortStableFunc(ids, func(x, y event.ThreadID) int {
		s, t := a.threads[x], a.threads[y]
		return cmp.Or(cmp.Compare(s.PID, t.PID), cmp.Compare(s.TID, t.TID))
	})
	for _, id := range append(ids, event.NoThread) {
		mine := onThread(parts, id)
		if len(mine) == 0 {
			continue
		}
		got, n, err := a.page(mine, offset, limit)
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, got...)
		total += n
		limit -= len(got)
		offset = max(0, offset-int(min(n, int64(offset))))
	}
	return rows, total, nil
}

// onThread restricts parts to one thread.
func onThread(parts []part, id event.ThreadID) []part {
	var out []part
	for _, p := range parts {
		if p.filter.Threads != nil && !p.filter.Threads.Has(uint32(id)) {
			continue
		}
		if id != event.NoThread {
			p.filter.Threads = &store.Bits{}
			p.filter.Threads.Set(uint32(id))
			out = append(out, p)
			continue
		}
		if p.filter.Threads != nil || p.filter.Funcs != nil || p.filter.Kinds&otherKinds == 0 {
			continue
		}
		p.filter.Kinds &= otherKinds
		p.pred = both(func(row *store.Row) bool { return row.Thread == event.NoThread }, p.pred)
		out = append(out, p)
	}
	return out
}
