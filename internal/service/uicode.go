package service

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
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

// ran is what ran for an action.
type ran struct {
	lines []string
	count int
}

// ranFunc is one function that ran.
type ranFunc struct {
	id    event.FuncID
	calls int
	first int64
	depth int
}

// ran lists the functions that ran from an action on and not while the program idled before it, in the order in which
// they began: a handler comes before what it calls. Those that were called most are the least likely, and last of what
// began together.
func (p *panel) ran(ctx context.Context, action event.ID, start, idleFrom int64) (ran, error) {
	st, use, release, err := p.sess.Use(ctx)
	if err != nil {
		return ran{}, err
	}
	defer release()
	if st.Calls().Recorded == 0 {
		return ran{}, nil
	}
	if err := p.sess.FlushWithin(use, 0); err != nil && use.Err() != nil {
		return ran{}, use.Err()
	}
	sn, err := st.Snapshot(use)
	if err != nil {
		return ran{}, err
	}
	defer sn.Close()
	enters := uint32(1 << event.FunctionEnter)
	found := map[event.FuncID]*ranFunc{}
	n := 0
	err = sn.Scan(use, store.Filter{Kinds: enters, FromID: action + 1, FromTS: start}, store.ScanOptions{Cold: true},
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
		return ran{}, err
	}
	set := &store.Bits{}
	for id := range found {
		set.Set(uint32(id))
	}
	err = sn.Scan(use, store.Filter{Kinds: enters, Funcs: set, FromTS: idleFrom, ToTS: start}, store.ScanOptions{Times: true},
		func(r *store.Row) bool {
			delete(found, r.Func)
			return len(found) > 0
		})
	if err != nil {
		return ran{}, err
	}
	return list(found, sn.Functions(), start, time.Duration(start-idleFrom) < leastIdle), nil
}

// list writes functions, nearest first.
func list(found map[event.FuncID]*ranFunc, fns []event.Function, start int64, uncertain bool) ran {
	all := make([]*ranFunc, 0, len(found))
	for _, f := range found {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *ranFunc) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.depth, b.depth), cmp.Compare(a.calls, b.calls))
	})
	out := ran{count: len(all)}
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
		out.lines = append(out.lines, line)
	}
	if uncertain && len(all) > 0 {
		out.lines = append(out.lines, "(the program idled too shortly before to know what runs anyway: act again)")
	}
	if out.count <= ranShown {
		out.count = 0
	}
	return out
}
