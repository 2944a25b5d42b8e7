package query

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// scan calls fn for the rows of one part in order of id until fn returns false.
func (a *asker) scan(p part, fn func(*store.Row) bool) error {
	return a.scanWith(p, store.ScanOptions{Cold: p.cold, Args: p.lean}, fn)
}

func (a *asker) scanWith(p part, opt store.ScanOptions, fn func(*store.Row) bool) error {
	err := a.sn.Scan(a.ctx, p.filter, opt, func(row *store.Row) bool {
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
		var n [scanPieces]int64
		if err := a.scanAll(p.leanly(), func(piece int, _ *store.Row) { n[piece]++ }); err != nil {
			return 0, err
		}
		for i := range n {
			total += n[i]
		}
	}
	return total, nil
}

// scanPieces is how many goroutines share a scan of everything, scanPiece how many events make that worth it.
const (
	scanPieces = 2
	scanPiece  = 50_000
)

// scanAll calls fn for all rows of one part, split by id over several goroutines. piece says which, and pieces are in
// order; fn must not share what pieces write.
func (a *asker) scanAll(p part, fn func(piece int, row *store.Row)) error {
	from, to := max(p.filter.FromID, 1), p.filter.ToID
	if to == 0 {
		to = a.sn.LastID()
	}
	if from > to {
		return nil
	}
	step := max((to-from)/scanPieces+1, scanPiece)
	var wg sync.WaitGroup
	var errs [scanPieces]error
	for i := range scanPieces {
		q := p
		q.filter.FromID = from + int64(i)*step
		if q.filter.FromID > to {
			break
		}
		q.filter.ToID = min(to, q.filter.FromID+step-1)
		wg.Go(func() {
			errs[i] = a.scan(q, func(row *store.Row) bool {
				fn(i, row)
				return true
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// page returns the rows from offset on, at most limit, and how many there are in all. Rows of the page
// have no payload yet, unless a.whole says so.
func (a *asker) page(parts []part, offset, limit int) (rows []store.Row, total int64, err error) {
	if len(parts) == 1 && parts[0].pred == nil {
		return a.columnPage(parts[0], offset, limit)
	}
	lean := false
	for _, p := range parts {
		lean = lean || p.byArgs
		// One piece of one part may hold everything up to the end of the page; the merge decides which are it.
		var n [scanPieces]int64
		var found [scanPieces][]store.Row
		err := a.scanAll(p.leanly(), func(piece int, row *store.Row) {
			if n[piece]++; len(found[piece]) < offset+limit {
				r := *row
				r.Payload = nil
				found[piece] = append(found[piece], r)
			}
		})
		if err != nil {
			return nil, 0, err
		}
		for i := range n {
			total += n[i]
			rows = append(rows, found[i]...)
		}
	}
	if len(parts) > 1 {
		sorting.By(rows, func(x, y store.Row) int { return cmp.Compare(x.ID, y.ID) })
	}
	rows = rows[min(offset, len(rows)):]
	rows = rows[:min(limit, len(rows))]
	if lean && len(rows) > 0 {
		ids := make([]event.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		if rows, err = a.sn.Rows(a.ctx, ids); err != nil {
			return nil, 0, fmt.Errorf("read a page of %d events: %w", len(ids), err)
		}
		a.whole = true
	}
	return rows, total, nil
}

// columnPage is page where the store's columns decide everything: the count comes from its headers and the scan ends
// with the page.
func (a *asker) columnPage(p part, offset, limit int) (rows []store.Row, total int64, err error) {
	if total, err = a.count([]part{p}); err != nil || total <= int64(offset) || limit == 0 {
		return nil, total, err
	}
	a.whole = a.showsPayloads(&p.filter) // then a second look at the same blocks would cost as much as this one
	skip := offset
	opt := store.ScanOptions{Cold: p.cold || a.whole && a.req.Verbose, Args: p.lean, Most: offset + limit}
	opt.Payloads = a.whole && !opt.Cold && !opt.Args
	err = a.scanWith(p, opt, func(row *store.Row) bool {
		if skip > 0 {
			skip--
			return true
		}
		r := *row
		if r.Payload = nil; a.whole {
			r.Payload = slices.Clone(row.Payload)
		}
		rows = append(rows, r)
		return len(rows) < limit && int64(offset+len(rows)) < total
	})
	return rows, total, err
}

// showsPayloads reports whether most rows that f selects have something in their payload that is shown, on a page that
// is read at once: a page by thread is put together of several.
func (a *asker) showsPayloads(f *store.Filter) bool {
	exits := f.MinDur > 0 || f.MaxDur > 0 || f.RetEq != nil || f.RetMin != nil || f.RetMax != nil ||
		a.kinds != 0 && a.kinds&callKinds == 1<<event.FunctionExit
	return !exits && a.req.Order != "thread" && a.req.Limit <= fetchRows && a.req.Offset <= fetchRows
}

// threadPage is page in the order of process, thread and id.
func (a *asker) threadPage(parts []part, offset, limit int) (rows []store.Row, total int64, err error) {
	ids := make([]event.ThreadID, len(a.threads), len(a.threads)+1)
	for i := range ids {
		ids[i] = event.ThreadID(i)
	}
	sorting.By(ids, func(x, y event.ThreadID) int {
		s, t := a.threads[x], a.threads[y]
		return s.Compare(t)
	})
	ids = append(ids, event.NoThread)
	count, err := a.perThread(parts, ids)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range ids {
		n := count[id]
		total += n
		if n > int64(offset) && limit > 0 {
			got, _, err := a.page(onThread(parts, id), offset, limit)
			if err != nil {
				return nil, 0, err
			}
			rows = append(rows, got...)
			limit -= len(got)
		}
		offset -= int(min(n, int64(offset)))
	}
	return rows, total, nil
}

// perThread counts by thread: from the store's headers where they suffice, else in one scan.
func (a *asker) perThread(parts []part, ids []event.ThreadID) (map[event.ThreadID]int64, error) {
	count := make(map[event.ThreadID]int64, len(ids))
	if len(parts) == 1 && parts[0].pred == nil && parts[0].filter.Funcs == nil && a.onlyNames(&parts[0].filter) {
		for _, id := range ids {
			n, err := a.count(onThread(parts, id))
			if err != nil {
				return nil, err
			}
			count[id] = n
		}
		return count, nil
	}
	for _, p := range parts {
		var n [scanPieces][]int64
		for i := range n {
			n[i] = make([]int64, len(a.threads)+1) // the last for those of no thread
		}
		err := a.scanAll(p, func(piece int, row *store.Row) {
			n[piece][min(int(row.Thread), len(a.threads))]++
		})
		if err != nil {
			return nil, err
		}
		for i := range n {
			for t, c := range n[i] {
				id := event.ThreadID(t)
				if t == len(a.threads) {
					id = event.NoThread
				}
				count[id] += c
			}
		}
	}
	return count, nil
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
