package store

import (
	"context"
	"database/sql"
	"maps"

	"github.com/strobe-debug/strobe/internal/event"
)

// skipped counts calls that were not recorded. Guarded by Store.namesMu.
type skipped struct {
	total map[event.FuncID]int64
	fresh map[event.FuncID]struct{} // not yet written
}

func newSkipped() skipped {
	return skipped{total: map[event.FuncID]int64{}, fresh: map[event.FuncID]struct{}{}}
}

// AddCalls counts n more calls of fn that were made and not recorded, because the function is
// sampled. FuncStats has them at once, the file with the next commit, within 50 ms; they survive the
// end of the process like events do. A function that is not registered, and n below 1, count nothing.
func (s *Store) AddCalls(fn event.FuncID, n int64) {
	if s.w == nil || n < 1 || uint32(fn) >= s.nFuncs.Load() {
		return
	}
	s.namesMu.Lock()
	s.skipped.total[fn] += n
	s.skipped.fresh[fn] = struct{}{}
	s.namesMu.Unlock()
	s.w.touch()
}

// Skipped returns how many calls of each function were not recorded; functions without any are not in it.
func (s *Store) Skipped() map[event.FuncID]int64 {
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	return maps.Clone(s.skipped.total)
}

// takeSkipped returns the counts that changed since the last commit. The caller holds namesMu.
func (s *Store) takeSkippedLocked() map[event.FuncID]int64 {
	if len(s.skipped.fresh) == 0 {
		return nil
	}
	out := make(map[event.FuncID]int64, len(s.skipped.fresh))
	for fn := range s.skipped.fresh {
		out[fn] = s.skipped.total[fn]
	}
	clear(s.skipped.fresh)
	return out
}

func (s *Store) loadSkipped(ctx context.Context, c *sql.Conn) error {
	return query(ctx, c, "SELECT func_id, calls FROM func_skipped", func(rows *sql.Rows) error {
		var fn, n int64
		if err := rows.Scan(&fn, &n); err != nil {
			return err
		}
		if fn < 0 || fn > idLimit || n < 0 {
			return errDamaged
		}
		s.skipped.total[event.FuncID(fn)] = n
		return nil
	})
}

// withSkipped adds to the counters of recorded calls what was not recorded. Both are by FuncID.
func withSkipped(stats []FuncStat, skipped map[event.FuncID]int64) []FuncStat {
	for i := range stats {
		stats[i].Skipped = skipped[stats[i].Func]
		delete(skipped, stats[i].Func)
	}
	for fn, n := range skipped { // never recorded at all
		stats = append(stats, FuncStat{Func: fn, Skipped: n})
	}
	return stats
}
