package store

import (
	"context"
	"database/sql"
	"maps"

	"github.com/strobe-debug/strobe/internal/event"
)

// Missing is what a function did that is in no event.
type Missing struct {
	Sampled int64 // calls that were left out because the function is sampled
	Dropped int64 // calls that were lost on their way
	Exits   int64 // ends of calls that were lost, with or without their beginnings
}

// missing counts calls that were not recorded. Guarded by Store.namesMu.
type missing struct {
	total map[event.FuncID]Missing
	fresh map[event.FuncID]struct{} // not yet written
}

func newMissing() missing {
	return missing{total: map[event.FuncID]Missing{}, fresh: map[event.FuncID]struct{}{}}
}

// AddCalls counts n more calls of fn that were made and not recorded, because the function is
// sampled. FuncStats has them at once, the file with the next commit, within 50 ms; they survive the
// end of the process like events do. A function that is not registered, and n below 1, count nothing.
func (s *Store) AddCalls(fn event.FuncID, n int64) { s.addMissing(fn, Missing{Sampled: max(n, 0)}) }

// AddDropped counts calls of fn that were lost, and ends of calls, in the same way.
func (s *Store) AddDropped(fn event.FuncID, enters, exits int64) {
	s.addMissing(fn, Missing{Dropped: max(enters, 0), Exits: max(exits, 0)})
}

func (s *Store) addMissing(fn event.FuncID, more Missing) {
	if s.w == nil || more == (Missing{}) || uint32(fn) >= s.nFuncs.Load() {
		return
	}
	s.namesMu.Lock()
	m := s.missing.total[fn]
	s.missing.total[fn] = Missing{m.Sampled + more.Sampled, m.Dropped + more.Dropped, m.Exits + more.Exits}
	s.missing.fresh[fn] = struct{}{}
	s.namesMu.Unlock()
	s.w.touch()
}

// Missing returns what each function did that is in no event; functions of which all is recorded are not in it.
func (s *Store) Missing() map[event.FuncID]Missing {
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	return maps.Clone(s.missing.total)
}

// takeMissingLocked returns the counts that changed since the last commit. The caller holds namesMu.
func (s *Store) takeMissingLocked() map[event.FuncID]Missing {
	if len(s.missing.fresh) == 0 {
		return nil
	}
	out := make(map[event.FuncID]Missing, len(s.missing.fresh))
	for fn := range s.missing.fresh {
		out[fn] = s.missing.total[fn]
	}
	clear(s.missing.fresh)
	return out
}

func (s *Store) loadSkipped(ctx context.Context, c *sql.Conn) error {
	return s.loadMissing(ctx, c, "SELECT func_id, calls, 0, 0 FROM func_skipped")
}

func (s *Store) loadDropped(ctx context.Context, c *sql.Conn) error {
	return s.loadMissing(ctx, c, "SELECT func_id, 0, calls, exits FROM func_dropped")
}

func (s *Store) loadMissing(ctx context.Context, c *sql.Conn, text string) error {
	return query(ctx, c, text, func(rows *sql.Rows) error {
		var fn int64
		var n Missing
		if err := rows.Scan(&fn, &n.Sampled, &n.Dropped, &n.Exits); err != nil {
			return err
		}
		if fn < 0 || fn > idLimit || min(n.Sampled, n.Dropped, n.Exits) < 0 {
			return errDamaged
		}
		m := s.missing.total[event.FuncID(fn)]
		s.missing.total[event.FuncID(fn)] = Missing{m.Sampled + n.Sampled, m.Dropped + n.Dropped, m.Exits + n.Exits}
		return nil
	})
}

// withMissing adds to the counters of recorded calls what was not recorded. Both are by FuncID.
func withMissing(stats []FuncStat, missing map[event.FuncID]Missing) []FuncStat {
	for i := range stats {
		stats[i].Missing = missing[stats[i].Func]
		delete(missing, stats[i].Func)
	}
	for fn, n := range missing { // never recorded at all
		stats = append(stats, FuncStat{Func: fn, Missing: n})
	}
	return stats
}
