package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
)

// statements are the prepared statements of the writer's connection.
type statements struct {
	preparer
	begin, commit, rollback            *sql.Stmt
	chunk, hot, cold, tail, trimTail   *sql.Stmt
	out, outs, pastOuts                *sql.Stmt
	file, layout, function, thread     *sql.Stmt
	dropChunk, dropHot, dropCold, meta *sql.Stmt
	threadName, skipped, dropped       *sql.Stmt
	codeName, stream, covered          *sql.Stmt
}

// outsPerStmt rows go into one INSERT: three times cheaper than one each.
const outsPerStmt = 16

func (w *writer) openFile(ctx context.Context) error {
	var err error
	w.db, err = openSQL(w.s.path, nil, "busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)",
		"wal_autocheckpoint(0)", "cache_size(-4000)", fmt.Sprintf("journal_size_limit(%d)", walLimit))
	if err != nil {
		return err
	}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return writeFault(w.s.path, err)
	}
	if err := migrate(ctx, w.conn, w.s.path, sessionAppID, sessionSchema); err != nil {
		return err
	}
	w.stmt.conn = w.conn
	if err := w.stmt.prepareAll(ctx); err != nil {
		return writeFault(w.s.path, err)
	}
	doc, err := json.Marshal(w.s.meta)
	if err != nil {
		return fmt.Errorf("encode session data: %w", err)
	}
	if _, err := w.stmt.meta.ExecContext(ctx, "session", string(doc)); err != nil {
		return writeFault(w.s.path, err)
	}
	w.ckpt, err = newCheckpointer(w.s.path, w.s.log)
	return err
}

func (st *statements) prepareAll(ctx context.Context) error {
	const outRow = "(?,?,?,?,?,?,?,?,?)"
	many := outRow
	for range outsPerStmt - 1 {
		many += "," + outRow
	}
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&st.begin, "BEGIN IMMEDIATE"}, {&st.commit, "COMMIT"}, {&st.rollback, "ROLLBACK"},
		{&st.chunk, "INSERT INTO chunks VALUES(?,?,?,?,?,?,?,?)"},
		{&st.hot, "INSERT INTO chunk_hot VALUES(?,?)"},
		{&st.cold, "INSERT INTO chunk_cold VALUES(?,?)"},
		{&st.tail, "INSERT INTO tail VALUES(?,?,?,?)"},
		{&st.trimTail, "DELETE FROM tail WHERE id < ?"},
		{&st.out, "INSERT INTO outputs VALUES" + outRow},
		{&st.outs, "INSERT INTO outputs VALUES" + many},
		{&st.pastOuts, "SELECT seq, ts_ns, thread_id, kind_id, parent, depth, flags, ret FROM outputs WHERE seq BETWEEN ? " +
			"AND ? ORDER BY seq"},
		{&st.file, "INSERT OR REPLACE INTO files VALUES(?,?)"},
		{&st.layout, "INSERT OR REPLACE INTO layouts VALUES(?,?)"},
		{&st.function, "INSERT INTO functions VALUES(?,?,?,?,?,?,?,?,?)"},
		{&st.thread, "INSERT OR REPLACE INTO threads VALUES(?,?,?,?)"},
		{&st.threadName, "INSERT OR REPLACE INTO thread_names VALUES(?,?,?)"},
		{&st.stream, "INSERT OR REPLACE INTO streams VALUES(?,?,?,?,?)"},
		{&st.codeName, "INSERT OR REPLACE INTO code_names VALUES(?,?,?,?)"},
		{&st.covered, "INSERT OR REPLACE INTO coverage VALUES(?,?,?,?,?,?,?,?)"},
		{&st.skipped, "INSERT OR REPLACE INTO func_skipped VALUES(?,?)"},
		{&st.dropped, "INSERT OR REPLACE INTO func_dropped VALUES(?,?,?)"},
		{&st.dropChunk, "DELETE FROM chunks WHERE id=?"},
		{&st.dropHot, "DELETE FROM chunk_hot WHERE id=?"},
		{&st.dropCold, "DELETE FROM chunk_cold WHERE id=?"},
		{&st.meta, "INSERT OR REPLACE INTO meta VALUES(?,?)"},
	} {
		s, err := st.prepare(ctx, p.sql)
		if err != nil {
			return err
		}
		*p.to = s
	}
	return nil
}

// txn is one commit being built: what will be published, and what to do to the writer's state
// when it succeeded. Nothing of the writer changes before that.
type txn struct {
	w        *writer
	err      error
	next     publication
	names    names
	outs     int // rows of w.outs written
	tailed   int
	tailRows bool
	old      *columns
	dropped  []*block
	bytes    int // about as many were written
}

// exec runs one statement unless one before it failed.
func (t *txn) exec(s *sql.Stmt, args ...any) {
	if t.err == nil {
		_, t.err = s.Exec(args...)
	}
}

// commit writes sealed blocks, the open block's new events, outputs and names in one transaction
// and publishes them. Unless all is set, a few events that a seal left over stay for the next
// commit; their number is returned. On error the file and the published state are as before,
// and the next commit tries the same again.
func (w *writer) commit(all bool) (left int, err error) {
	if w.open.n >= sealEvents {
		w.seal()
	}
	for _, sb := range w.sealed {
		<-sb.encoded
	}
	if w.failCommit != nil {
		if err := w.failCommit(); err != nil {
			return 0, err
		}
	}
	t := &txn{w: w, next: w.s.pub, tailed: w.tailed, tailRows: w.tailRows, old: w.old, names: w.takeNames()}
	oldN := w.old.n
	t.exec(w.stmt.begin)
	t.writeNames()
	last := w.nextID - 1
	if !all && len(w.sealed) > 0 && w.open.n < fastEvents {
		left = w.open.n
		last -= int64(left)
	}
	t.writeOuts(last)
	t.writeSealed()
	if left == 0 {
		t.writeTail()
	}
	t.evict()
	t.finish(last, left)
	if t.err != nil {
		_, _ = w.stmt.rollback.Exec() // fails when SQLite has rolled back by itself
		w.old.truncate(oldN)
		w.putBackNames(t.names)
		return 0, fmt.Errorf("commit events: %w", writeFault(w.s.path, t.err))
	}
	w.ckpt.committed(t.bytes)
	return left, nil
}

func (t *txn) writeSealed() {
	w := t.w
	if len(w.sealed) == 0 {
		return
	}
	t.next.openKinds = [event.NumKinds]int64{}
	for _, sb := range w.sealed {
		t.insertBlock(sb.b.h, sb.hot, sb.cold)
		for k, n := range sb.b.h.kinds {
			t.next.sealedKinds[k] += int64(n)
		}
		t.next.kept += sb.b.h.calls()
		t.next.keptBytes += sb.b.bytes
		t.next.lastTS = max(t.next.lastTS, sb.b.h.tsMax)
		t.next.dense = append(t.next.dense, sb.b)
	}
	if t.tailRows {
		t.exec(w.stmt.trimTail, w.open.first)
		t.tailRows = false
	}
}

func (t *txn) insertBlock(h *header, hot, cold []byte) {
	st := &t.w.stmt
	t.bytes += len(hot) + len(cold) + 4*pageBytes
	t.exec(st.chunk, h.first, h.last, h.n, h.tsMin, h.tsMax, h.maxDur, formatVersion, appendHeader(nil, h))
	t.exec(st.hot, h.first, hot)
	t.exec(st.cold, h.first, cold)
}

// writeTail writes the open block's new events as one row.
func (t *txn) writeTail() {
	w := t.w
	if t.tailed == w.open.n {
		return
	}
	h, hot, cold := encodeBlock(w.open, t.tailed, w.open.n, false, w.enc)
	t.bytes += len(hot) + len(cold) + 2*pageBytes
	t.exec(w.stmt.tail, h.first, appendHeader(nil, h), hot, cold)
	for k, n := range h.kinds {
		t.next.openKinds[k] += int64(n)
	}
	t.next.lastTS = max(t.next.lastTS, h.tsMax)
	t.tailed, t.tailRows = w.open.n, true
}

// writeOuts writes outputs up to last.
func (t *txn) writeOuts(last event.ID) {
	w := t.w
	n := 0
	for n < len(w.outs) && w.outs[n].r.ID <= last {
		n++
	}
	var args []any
	for t.outs < n {
		batch := 1
		if n-t.outs >= outsPerStmt {
			batch = outsPerStmt
		}
		args = args[:0]
		for _, o := range w.outs[t.outs : t.outs+batch] {
			data := o.data
			if data == nil {
				data = []byte{}
			}
			t.bytes += len(data) + 64
			ret := o.r.Ret
			if id, ok := o.r.Kind.OfStream(o.r.Stream); ok {
				ret = int64(id)
			}
			args = append(args, o.r.ID, o.r.TS, int64(o.r.Thread), int64(o.r.Kind), o.r.Parent, int64(o.r.Depth),
				int64(o.r.Flags), ret, data)
		}
		if batch == 1 {
			t.exec(w.stmt.out, args...)
		} else {
			t.exec(w.stmt.outs, args...)
		}
		t.outs += batch
	}
}

// evict drops blocks over the limits. Their outputs move to a sparse block, or to the columns
// that become one.
func (t *txn) evict() {
	w := t.w
	limit, most := w.maxEvents.Load(), w.maxBytes.Load()
	open := t.next.openKinds[event.FunctionEnter] + t.next.openKinds[event.FunctionExit]
	for t.err == nil && len(t.next.dense) > 0 {
		b := t.next.dense[0]
		calls := b.h.calls()
		if t.next.kept+open-calls < limit && t.next.keptBytes < most {
			return
		}
		if b.h.others() > 0 {
			t.keepOutputs(b.h)
		}
		t.exec(w.stmt.dropChunk, b.h.first)
		t.exec(w.stmt.dropHot, b.h.first)
		t.exec(w.stmt.dropCold, b.h.first)
		t.next.dense = t.next.dense[1:]
		t.next.kept -= calls
		t.next.keptBytes -= b.bytes
		t.next.evicted += calls
		t.dropped = append(t.dropped, b)
	}
}

// keepOutputs appends the outputs of a block that is dropped to the old columns.
func (t *txn) keepOutputs(h *header) {
	rows, err := t.w.stmt.pastOuts.Query(h.first, h.last)
	if err != nil {
		t.err = err
		return
	}
	past, err := scanOutputs(rows)
	if err != nil {
		t.err = err
		return
	}
	for i := range past {
		t.old.add(&past[i])
		if t.old.n >= blockEvents {
			t.sealOld()
		}
	}
}

// scanOutputs reads and closes rows of the columns that statement pastOuts selects.
func scanOutputs(rows *sql.Rows) (out []Row, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scanOutput(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// scanOutput reads a row of the columns that statement pastOuts selects.
func scanOutput(rows *sql.Rows) (Row, error) {
	var r Row
	var kind, flags int64
	err := rows.Scan(&r.ID, &r.TS, &r.Thread, &kind, &r.Parent, &r.Depth, &flags, &r.Ret)
	r.Kind, r.Flags = event.Kind(kind), event.Flags(flags)
	if r.Kind == event.KindNone || r.Kind >= event.NumKinds || r.Kind.IsCall() {
		r.Kind = event.Process // a file that somebody edited; what is read must have a kind
	}
	if _, ok := r.Kind.OfStream(0); ok { // what is read then has its stream, see outputData
		r.Ret = 0
	}
	return r, err
}

func (t *txn) sealOld() {
	h, hot, cold := encodeBlock(t.old, 0, t.old.n, true, t.w.enc)
	t.insertBlock(h, hot, cold)
	t.next.sparse = append(t.next.sparse, &block{h: h})
	t.old = newColumns(0, 0)
	t.old.ids = make([]event.ID, 0, blockEvents)
}

// finish commits and publishes.
func (t *txn) finish(last event.ID, left int) {
	w, s := t.w, t.w.s
	if t.err != nil {
		return
	}
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if t.exec(w.stmt.commit); t.err != nil {
		return
	}
	t.next.lastID = last
	t.next.openOwner, t.next.open = w.open, w.open.prefix(w.open.n-left)
	t.next.oldOwner, t.next.old = t.old, *t.old
	visible := last > s.pub.lastID
	s.pub = t.next
	for _, c := range w.retired {
		if !c.shared && len(w.free) < 4 {
			w.free = append(w.free, c)
		}
	}
	w.retired = w.retired[:0]
	for _, sb := range w.sealed {
		s.cache.add(sb.b, sb.hot)
	}
	for _, b := range t.dropped {
		s.cache.remove(b)
	}
	clear(w.sealed)
	w.sealed = w.sealed[:0]
	w.outs = append(w.outs[:0:0], w.outs[t.outs:]...)
	w.old, w.tailed, w.tailRows = t.old, t.tailed, t.tailRows
	if visible {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}
