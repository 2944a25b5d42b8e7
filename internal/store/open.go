package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Open opens a recorded session for reading. A file whose recording was cut off (the daemon died)
// is completed in memory: calls that were open end as event.Lost exits at the last timestamp,
// and Result says Interrupted. So does a file that another process is still recording; it shows
// what was committed when it was opened. Errors: VALIDATION_ERROR for a file that is not ours,
// UNSUPPORTED for one of a newer schema, or one that wraps fs.ErrNotExist.
func Open(path string) (*Store, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open event store: %w", err)
	}
	return s, nil
}

func open(path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	s := newStore(path, Meta{}, nil)
	ctx := context.Background()
	var first error
	// A file on a medium that cannot be written needs immutable: there is no log to look at.
	for _, params := range []map[string]string{{"mode": "rw"}, {"mode": "ro"}, {"mode": "ro", "immutable": "1"}} {
		err := s.openMode(ctx, params)
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = err
		}
		s.readers.close()
		if s.readDB != nil {
			_ = s.readDB.Close() // a reader: nothing to lose
		}
		if !isReadOnly(err) {
			return nil, err
		}
		s = newStore(path, Meta{}, nil)
	}
	return nil, first
}

func (s *Store) openMode(ctx context.Context, params map[string]string) error {
	var err error
	if s.readDB, err = openReaders(s.path, params); err != nil {
		return err
	}
	conn, err := s.readDB.Conn(ctx)
	if err != nil {
		return openFault(s.path, err)
	}
	err = s.load(ctx, conn)
	if err := errors.Join(err, conn.Close()); err != nil {
		return openFault(s.path, err)
	}
	return nil
}

// openFault gives a failed open its code.
func openFault(path string, err error) error {
	switch {
	case errors.Is(err, errDamaged), isNotOurs(err):
		return fault.New(fault.ValidationError, "Run strobe doctor --db on it.", "%s is damaged or no strobe session: %w",
			path, err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "Check who owns the file.", "%w", err)
	}
	return err
}

// load reads everything but the blobs, in one read transaction.
func (s *Store) load(ctx context.Context, c *sql.Conn) error {
	version, err := schemaVersion(ctx, c, s.path, sessionAppID, len(sessionSchema))
	if err != nil {
		return err
	}
	if version == 0 {
		return fault.New(fault.ValidationError, "Give the path of a file that strobe recorded.", "%s has no session in it",
			s.path)
	}
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer func() { _, _ = c.ExecContext(ctx, "ROLLBACK") }() // a read transaction: nothing to lose
	finished, err := s.loadMeta(ctx, c)
	if err != nil {
		return err
	}
	steps := []func(context.Context, *sql.Conn) error{s.loadThreads, s.loadFunctions, s.loadBlocks, s.loadTail, s.loadOld,
		s.loadStats}
	if version >= 2 {
		steps = append(steps, s.loadSkipped, s.loadThreadNames)
	}
	if version >= 3 {
		steps = append(steps, s.loadDropped)
	}
	if version >= 4 {
		steps = append(steps, s.loadCodeNames)
	}
	if version >= 5 {
		steps = append(steps, s.loadStreams)
	}
	if version >= 6 {
		steps = append(steps, s.loadCoverage)
	}
	for _, step := range steps {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	if !finished {
		s.result.Interrupted = true
		return s.closeFrames(ctx, c)
	}
	return nil
}

func (s *Store) loadMeta(ctx context.Context, c *sql.Conn) (finished bool, err error) {
	rows, err := c.QueryContext(ctx, "SELECT key, CAST(value AS TEXT) FROM meta WHERE key<>'picture'")
	if err != nil {
		return false, fmt.Errorf("read session data: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return false, fmt.Errorf("read session data: %w", err)
		}
		switch key {
		case "session":
			err = json.Unmarshal([]byte(value), &s.meta)
		case "result":
			err = json.Unmarshal([]byte(value), &s.result)
		case "closed":
			finished = true
		}
		if err != nil {
			return false, fmt.Errorf("decode session data: %w", errors.Join(err, errDamaged))
		}
	}
	return finished, rows.Err()
}

// query calls fn for every row.
func query(ctx context.Context, c *sql.Conn, stmt string, fn func(*sql.Rows) error) error {
	rows, err := c.QueryContext(ctx, stmt)
	if err != nil {
		return fmt.Errorf("run %.40q: %w", stmt, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return fmt.Errorf("read result of %.40q: %w", stmt, err)
		}
	}
	return rows.Err()
}

// idLimit bounds ids in tables that must be dense, so that a damaged file cannot make us
// allocate without end.
const idLimit = 1 << 24

func (s *Store) loadThreads(ctx context.Context, c *sql.Conn) error {
	return query(ctx, c, "SELECT id, pid, tid, name FROM threads ORDER BY id", func(rows *sql.Rows) error {
		var id int64
		var t event.Thread
		if err := rows.Scan(&id, &t.PID, &t.TID, &t.Name); err != nil {
			return err
		}
		if id < int64(len(s.threads)) || id > idLimit {
			return errDamaged
		}
		for int64(len(s.threads)) < id {
			s.threads = append(s.threads, event.Thread{})
		}
		s.threads = append(s.threads, t)
		return nil
	})
}

func (s *Store) loadFunctions(ctx context.Context, c *sql.Conn) error {
	const stmt = "SELECT f.id, f.name, coalesce(f.name_raw,''), coalesce(p.path,''), coalesce(f.line,0), " +
		"coalesce(f.module,''), " +
		"coalesce(f.language,''), l.data FROM functions f LEFT JOIN files p ON p.id=f.file_id LEFT JOIN layouts l ON " +
		"l.id=f.layout_id ORDER BY f.id"
	return query(ctx, c, stmt, func(rows *sql.Rows) error {
		var id int64
		var f event.Function
		if err := rows.Scan(&id, &f.Name, &f.Raw, &f.File, &f.Line, &f.Module, &f.Language, &f.Layout); err != nil {
			return err
		}
		if id < int64(len(s.functions)) || id > idLimit {
			return errDamaged
		}
		for int64(len(s.functions)) < id {
			s.functions = append(s.functions, event.Function{})
		}
		s.functions = append(s.functions, f)
		return nil
	})
}

func (s *Store) loadBlocks(ctx context.Context, c *sql.Conn) error {
	p := &s.pub
	var last event.ID
	return query(ctx, c, "SELECT format, header FROM chunks ORDER BY id", func(rows *sql.Rows) error {
		var format int
		var data []byte
		if err := rows.Scan(&format, &data); err != nil {
			return err
		}
		if format != formatVersion {
			return fault.New(fault.Unsupported, "Install a newer strobe.", "%s has blocks of format %d", s.path, format)
		}
		h, err := decodeHeader(data)
		if err != nil || h.first <= last || h.sparse && len(p.dense) > 0 {
			return errDamaged
		}
		last = h.last
		if h.sparse {
			p.sparse = append(p.sparse, &block{h: h})
			return nil
		}
		p.dense = append(p.dense, &block{h: h})
		for k, n := range h.kinds {
			p.sealedKinds[k] += int64(n)
		}
		p.kept += h.calls()
		p.lastTS = max(p.lastTS, h.tsMax)
		p.lastID = h.last
		return nil
	})
}

// loadTail decodes the rows of events that were not yet sealed into one set of columns.
func (s *Store) loadTail(ctx context.Context, c *sql.Conn) error {
	p := &s.pub
	open := newColumns(p.lastID+1, 0)
	var d decoder
	var r Row
	err := query(ctx, c, "SELECT header, hot, cold FROM tail ORDER BY id", func(rows *sql.Rows) error {
		var head, hot, cold []byte
		if err := rows.Scan(&head, &hot, &cold); err != nil {
			return err
		}
		h, err := decodeHeader(head)
		if err != nil {
			return err
		}
		if open.n == 0 {
			open.first = h.first
		}
		if h.sparse || h.first <= p.lastID || open.n > 0 && h.first != open.last()+1 || open.n > 2*blockEvents {
			return errDamaged
		}
		if err := d.all(h, hot, cold); err != nil {
			return err
		}
		for i := range h.n {
			d.c.hotRow(i, &r)
			d.c.coldRow(i, &r)
			open.add(&r)
		}
		for k, n := range h.kinds {
			p.openKinds[k] += int64(n)
		}
		p.lastTS = max(p.lastTS, h.tsMax)
		return nil
	})
	if err != nil {
		return err
	}
	if open.n > 0 {
		p.lastID = open.last()
	}
	p.openOwner, p.open = open, *open
	return nil
}

// loadOld reads the outputs of dropped blocks that are not yet in a sparse block.
func (s *Store) loadOld(ctx context.Context, c *sql.Conn) error {
	p := &s.pub
	from, to := event.ID(1), p.open.first-1
	if n := len(p.sparse); n > 0 {
		from = p.sparse[n-1].h.last + 1
	}
	if len(p.dense) > 0 {
		to = p.dense[0].h.first - 1
	}
	old := newColumns(0, 0)
	old.ids = make([]event.ID, 0, 64)
	stmt := fmt.Sprintf("SELECT seq, ts_ns, thread_id, kind_id, parent, depth, flags, ret FROM outputs WHERE seq "+
		"BETWEEN %d AND %d ORDER BY seq", from, to)
	err := query(ctx, c, stmt, func(rows *sql.Rows) error {
		r, err := scanOutput(rows)
		if err != nil {
			return err
		}
		old.add(&r)
		p.lastTS = max(p.lastTS, r.TS)
		return nil
	})
	if err != nil {
		return err
	}
	p.oldOwner, p.old = old, *old
	if p.lastID == 0 && old.n > 0 {
		p.lastID = old.last()
	}
	s.countDropped()
	return nil
}

// countDropped works out how many events were stored and dropped: ids are dense, so what is not
// there was a call. Enters and exits are told apart by the counters, where the file has them.
func (s *Store) countDropped() {
	p := &s.pub
	first := p.lastID + 1
	switch {
	case len(p.dense) > 0:
		first = p.dense[0].h.first
	case p.open.n > 0:
		first = p.open.first
	}
	gone := first - 1
	for _, b := range p.sparse {
		for k, n := range b.h.kinds {
			p.sealedKinds[k] += int64(n)
		}
		gone -= int64(b.h.n)
	}
	for i := range p.old.n {
		p.sealedKinds[p.old.kind[i]]++
		gone--
	}
	p.evicted = max(gone, 0)
	p.sealedKinds[event.FunctionEnter] += p.evicted - p.evicted/2
	p.sealedKinds[event.FunctionExit] += p.evicted / 2
}

func (s *Store) loadStats(ctx context.Context, c *sql.Conn) error {
	var enters, exits int64
	err := query(ctx, c, "SELECT func_id, calls, exits, unwound, lost, total_ns, self_ns, min_ns, max_ns, histogram "+
		"FROM func_stats", func(rows *sql.Rows) error {
		var f FuncStat
		var unwound int64
		var hist []byte
		if err := rows.Scan(&f.Func, &f.Calls, &f.Exits, &unwound, &f.Lost, &f.TotalNs, &f.SelfNs, &f.MinNs, &f.MaxNs,
			&hist); err != nil {
			return err
		}
		if f.Func > idLimit {
			return errDamaged
		}
		var err error
		if f.hist, err = decodeHistogram(hist); err != nil {
			return err
		}
		for _, n := range f.hist.count {
			f.timed += int64(n)
		}
		f.Errors = max(unwound-f.Lost, 0)
		*s.nest.stat(f.Func) = f
		enters += f.Calls
		exits += f.Exits
		return nil
	})
	p := &s.pub
	if total := p.sealedKinds[event.FunctionEnter] + p.sealedKinds[event.FunctionExit] +
		p.openKinds[event.FunctionEnter] + p.openKinds[event.FunctionExit]; err == nil && enters+exits == total {
		p.sealedKinds[event.FunctionEnter] = enters - p.openKinds[event.FunctionEnter]
		p.sealedKinds[event.FunctionExit] = exits - p.openKinds[event.FunctionExit]
	}
	return err
}

// closeFrames ends the calls that were open when the recording was cut off. It reads backwards
// until every thread's outermost kept call is found.
func (s *Store) closeFrames(ctx context.Context, c *sql.Conn) error {
	sn := &Snapshot{s: s, r: &dbReader{}}
	for _, b := range s.pub.dense {
		sn.segs = append(sn.segs, segment{b: b})
	}
	if s.pub.open.n > 0 {
		sn.segs = append(sn.segs, segment{cols: &s.pub.open})
	}
	st := preparer{conn: c}
	defer st.closeStmts()
	var err error
	if sn.r.hot, err = st.prepare(ctx, hotSQL); err != nil {
		return err
	}
	if sn.r.cold, err = st.prepare(ctx, coldSQL); err != nil {
		return err
	}
	open, err := openFrames(ctx, sn)
	if err != nil {
		return err
	}
	p := &s.pub
	cols := p.openOwner
	if cols.n == 0 {
		cols.first = p.lastID + 1
	}
	for _, r := range open {
		p.lastID++
		cols.add(&Row{
			ID: p.lastID, TS: p.lastTS, Duration: max(p.lastTS-r.TS, 0), Kind: event.FunctionExit, Flags: event.Lost,
			Thread: r.Thread, Func: r.Func, Parent: r.Parent, Enter: r.ID, Depth: r.Depth,
		})
		p.openKinds[event.FunctionExit]++
	}
	p.open = *cols
	return nil
}

// openFrames returns the enters without an exit, innermost first within each thread.
func openFrames(ctx context.Context, sn *Snapshot) ([]Row, error) {
	var open []Row
	wanted := map[event.ThreadID]int32{} // depth of the next enclosing call to find; below 0: done
	busy := len(sn.s.threads)
	f := Filter{Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit}
	err := sn.Scan(ctx, f, ScanOptions{Reverse: true, Cold: true}, func(r *Row) bool {
		if r.Thread == event.NoThread {
			return true
		}
		want, seen := wanted[r.Thread]
		if !seen {
			want = math.MaxInt32
		}
		switch {
		case r.Kind == event.FunctionExit && !seen:
			// All calls around it, and only these, are open.
			want = r.Depth - 1
		case r.Kind == event.FunctionEnter && (!seen || r.Depth == want):
			open = append(open, *r)
			open[len(open)-1].Payload = nil
			want = r.Depth - 1
		default:
			return true
		}
		if wanted[r.Thread] = want; want < 0 {
			busy--
		}
		return busy > 0
	})
	return open, err
}

// recountFuncs computes the counters of an interrupted file from the events that are kept.
func (s *Store) recountFuncs() {
	sn, err := s.Snapshot(context.Background())
	if err != nil {
		return
	}
	defer sn.Close()
	var n nester
	err = sn.Scan(context.Background(), Filter{}, ScanOptions{}, func(r *Row) bool {
		if r.Kind.IsCall() && int(r.Func) < len(sn.functions) &&
			(r.Thread == event.NoThread || int(r.Thread) < len(sn.threads)) {
			c := *r
			n.place(&c)
		}
		return true
	})
	if err != nil {
		return // what was decoded is not the whole: better none than wrong ones
	}
	s.statsMu.Lock()
	s.nest = n
	s.statsMu.Unlock()
}
