package query

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Click to code: of the functions that are traced, those that ran because of an action.

const (
	ranShown = 8
	// maxRan bounds what is read of an action's calls: a program that does so much is answered by debug_query.
	maxRan = 200_000
	// leastIdle is for how long a program must have idled for its idle functions to be known.
	leastIdle = 200 * time.Millisecond
)

// Ran is what ran for an action.
type Ran struct {
	Lines []string // nearest first, and a word where it is not sure
	Count int      // functions, where there are more
}

// ranFunc is one function that ran.
type ranFunc struct {
	id    event.FuncID
	calls int
	first int64
	depth int
}

// RanFor lists the functions that ran from an action on and not while the program idled before it, in the order in
// which they began: a handler comes before what it calls. Those that were called most are the least likely, and last
// of what began together.
func RanFor(ctx context.Context, st *store.Store, action event.ID, start, idleFrom int64) (Ran, error) {
	if st.Calls().Recorded == 0 {
		return Ran{}, nil
	}
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return Ran{}, err
	}
	defer sn.Close()
	enters := uint32(1 << event.FunctionEnter)
	found := map[event.FuncID]*ranFunc{}
	n := 0
	err = sn.Scan(ctx, store.Filter{Kinds: enters, FromID: action + 1, FromTS: start}, store.ScanOptions{Cold: true},
		func(r *store.Row) bool {
			f := found[r.Func]
			if f == nil {
				f = &ranFunc{id: r.Func, first: r.TS, depth: int(r.Depth)}
				found[r.Func] = f
			}
			f.calls++
			n++
			return n < maxRan
		})
	if err != nil || len(found) == 0 {
		return Ran{}, err
	}
	set := &store.Bits{}
	for id := range found {
		set.Set(uint32(id))
	}
	err = sn.Scan(ctx, store.Filter{Kinds: enters, Funcs: set, FromTS: idleFrom, ToTS: start},
		store.ScanOptions{Times: true}, func(r *store.Row) bool {
			delete(found, r.Func)
			return len(found) > 0
		})
	if err != nil {
		return Ran{}, err
	}
	return listRan(found, sn.Functions(), start, time.Duration(start-idleFrom) < leastIdle), nil
}

// listRan writes functions, nearest first.
func listRan(found map[event.FuncID]*ranFunc, fns []event.Function, start int64, uncertain bool) Ran {
	all := make([]*ranFunc, 0, len(found))
	for _, f := range found {
		all = append(all, f)
	}
	sorting.By(all, func(a, b *ranFunc) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.depth, b.depth), cmp.Compare(a.calls, b.calls))
	})
	out := Ran{Count: len(all)}
	for _, f := range all[:min(len(all), ranShown)] {
		fn := fns[f.id]
		line := event.ShortName(fn.Name, 70)
		if fn.File != "" {
			line += fmt.Sprintf(" (%s:%d)", filepath.Base(fn.File), fn.Line)
		}
		line += fmt.Sprintf(", after %s", (time.Duration(f.first - start)).Round(100*time.Microsecond))
		if f.calls > 1 {
			line += fmt.Sprintf(", %d calls", f.calls)
		}
		out.Lines = append(out.Lines, line)
	}
	if uncertain && len(all) > 0 {
		out.Lines = append(out.Lines, "(the program idled too shortly before to know what runs anyway: act again)")
	}
	if out.Count <= ranShown {
		out.Count = 0
	}
	return out
}
