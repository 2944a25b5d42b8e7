package query

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// manyThreads is from how many threads on their calls are counted together: a question for each would look at every
// block each time.
const manyThreads = 64

// of is the section's filter, for its thread and the lanes of that.
func (s *section) of() store.Filter {
	f := s.filter
	f.Threads = &store.Bits{}
	for _, t := range append([]event.ThreadID{s.thread}, s.lanes...) {
		f.Threads.Set(uint32(t))
	}
	return f
}

// sections decides what each thread's tree reads. others tells that there is output of unknown threads that
// cannot be placed in the only tree.
func (a *asker) sections(parts []part, roots []store.Row) (out []section, others bool, err error) {
	base := parts[0].filter
	base.Funcs, base.MinDur, base.MaxDur, base.RetEq, base.RetMin, base.RetMax = nil, 0, 0, nil, nil, nil
	base.Kinds = callKinds
	if a.kinds == 0 {
		base.Kinds |= otherKinds
	}
	base.Kinds |= a.kinds
	lanes, of := a.lanes()
	chosen := map[event.ThreadID][]store.Row{}
	for i := range roots {
		home := roots[i].Thread
		if t, ok := of[home]; ok && (base.Threads == nil || base.Threads.Has(uint32(t))) {
			home = t
		}
		chosen[home] = append(chosen[home], roots[i])
	}
	count := a.callsOf(base)
	if roots == nil && len(a.threads) > manyThreads {
		if count, err = a.callsTogether(base); err != nil {
			return nil, false, err
		}
	}
	for i := range a.threads {
		id := event.ThreadID(i)
		if base.Threads != nil && !base.Threads.Has(uint32(id)) {
			continue
		}
		if home, ok := of[id]; ok && (base.Threads == nil || base.Threads.Has(uint32(home))) {
			continue // it is in that thread's tree
		}
		s := section{thread: id, filter: base, lanes: lanes[id]}
		if roots != nil {
			if s.roots = chosen[id]; len(s.roots) == 0 {
				continue
			}
			s.calls = int64(len(s.roots))
		} else {
			calls, more, err := count(&s)
			if err != nil {
				return nil, false, fmt.Errorf("count calls: %w", err)
			}
			if s.calls = calls; calls == 0 && !more {
				continue
			}
		}
		out = append(out, s)
	}
	sorting.By(out, func(x, y section) int {
		s, t := a.thread(x.thread), a.thread(y.thread)
		return s.Compare(t)
	})
	return out, base.Threads != nil && a.req.Under == 0, nil
}

// alone are the kinds for which a thread without calls has a tree: the end of calls whose beginning is out of view, and
// exceptions.
func alone(base *store.Filter) uint32 {
	return 1<<event.FunctionExit | base.Kinds&(1<<event.Exception)
}

// counter says how many calls a section has, and where it has none whether there is something else in it.
type counter func(s *section) (calls int64, more bool, err error)

func (a *asker) callsOf(base store.Filter) counter {
	return func(s *section) (calls int64, more bool, err error) {
		f := s.of()
		f.Kinds = 1 << event.FunctionEnter
		if calls, err = a.sn.Count(a.ctx, f); err != nil || calls > 0 {
			return calls, false, err
		}
		f.Kinds = alone(&base)
		n, err := a.sn.Count(a.ctx, f)
		return 0, n > 0, err
	}
}

// callsTogether counts all threads' in one pass.
func (a *asker) callsTogether(base store.Filter) (counter, error) {
	calls, others := make([]int64, len(a.threads)), make([]bool, len(a.threads))
	f := base
	f.Kinds = 1<<event.FunctionEnter | alone(&base)
	err := a.scan(part{filter: f}, func(row *store.Row) bool {
		if int(row.Thread) < len(calls) && row.Thread >= 0 {
			if row.Kind == event.FunctionEnter {
				calls[row.Thread]++
			} else {
				others[row.Thread] = true
			}
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("count calls: %w", err)
	}
	return func(s *section) (n int64, more bool, err error) {
		for _, t := range append([]event.ThreadID{s.thread}, s.lanes...) {
			n, more = n+calls[t], more || others[t]
		}
		return n, more, nil
	}, nil
}
