package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
)

// names are the registrations that one commit writes.
type names struct {
	functions []event.Function // from written.functions on
	threads   map[event.ThreadID]event.Thread
	streams   []event.Stream // from written.streams on
	former    map[event.ThreadID][]ThreadName
	missing   map[event.FuncID]Missing
	code      []codeEntry
	covered   map[int]Covered
	result    *Result
	meta      *Meta
	picture   []byte
	nThreads  int
	files     []string
	layouts   []string
}

// takeNames returns what was registered since the last commit.
func (w *writer) takeNames() names {
	s := w.s
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	n := names{functions: s.functions[w.written.functions:], streams: s.streams[w.written.streams:],
		nThreads: len(s.threads), threads: map[event.ThreadID]event.Thread{}}
	for i := w.written.threads; i < len(s.threads); i++ {
		n.threads[event.ThreadID(i)] = s.threads[i]
	}
	for id := range s.renamed {
		n.threads[id] = s.threads[id]
	}
	clear(s.renamed)
	n.former, n.missing = s.formerNames, s.takeMissingLocked()
	n.code, s.code.fresh = s.code.fresh, nil
	n.covered = s.takeCoveredLocked()
	if s.resultNew {
		r := s.result
		n.result, s.resultNew = &r, false
	}
	if s.metaNew {
		m := s.meta
		n.meta, s.metaNew = &m, false
	}
	n.picture, s.picture = s.picture, nil
	return n
}

// putBackNames makes the next commit write n again.
func (w *writer) putBackNames(n names) {
	s := w.s
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	for id := range n.threads {
		s.renamed[id] = struct{}{}
	}
	for fn := range n.missing {
		s.missing.fresh[fn] = struct{}{}
	}
	s.code.fresh = append(n.code, s.code.fresh...)
	for id := range n.covered {
		s.coverage.fresh[id] = struct{}{}
	}
	if n.result != nil {
		s.resultNew = true
	}
	if n.meta != nil {
		s.metaNew = true
	}
	if s.picture == nil {
		s.picture = n.picture
	}
	for _, f := range n.files {
		delete(w.written.files, f)
	}
	for _, l := range n.layouts {
		delete(w.written.layouts, l)
	}
	w.written.functions -= len(n.functions)
	w.written.streams -= len(n.streams)
}

// writeNames writes functions, their files and layouts, threads and the result.
func (t *txn) writeNames() {
	w := t.w
	first := w.written.functions
	w.written.functions += len(t.names.functions) // putBackNames undoes it
	for i, f := range t.names.functions {
		var file, layout, raw, line any
		if f.File != "" {
			file = t.fileID(f.File)
		}
		if len(f.Layout) > 0 {
			layout = t.layoutID(f.Layout)
		}
		if f.Raw != "" {
			raw = f.Raw
		}
		if f.Line != 0 {
			line = f.Line
		}
		t.exec(w.stmt.function, first+i, f.Name, raw, file, line, f.Module, f.Language, layout, f.Code)
	}
	for i, st := range t.names.streams {
		t.exec(w.stmt.stream, w.written.streams+i, st.Channel, st.Name, st.Media, st.Direction)
	}
	w.written.streams += len(t.names.streams) // as above
	for id, th := range t.names.threads {
		t.exec(w.stmt.thread, int64(id), th.PID, th.TID, th.Name)
		for _, n := range t.names.former[id] {
			t.exec(w.stmt.threadName, int64(id), n.FromTS, n.Name)
		}
	}
	for _, c := range t.names.code {
		t.exec(w.stmt.codeName, c.PID, int64(c.addr), c.from, c.Name)
	}
	for id, c := range t.names.covered {
		var first, thread any
		if c.Ran {
			first, thread = c.FirstTS, int64(c.Thread)
		}
		t.exec(w.stmt.covered, id, c.Name, c.File, c.Line, c.Module, first, thread, c.State)
	}
	for fn, n := range t.names.missing {
		if n.Sampled > 0 {
			t.exec(w.stmt.skipped, int64(fn), n.Sampled)
		}
		if n.Dropped+n.Exits > 0 {
			t.exec(w.stmt.dropped, int64(fn), n.Dropped, n.Exits)
		}
	}
	if t.err == nil && len(t.names.threads) > 0 {
		w.written.threads = max(w.written.threads, t.names.nThreads)
	}
	if t.names.meta != nil {
		t.writeMeta("session", t.names.meta)
	}
	if t.names.result != nil {
		t.writeMeta("result", t.names.result)
	}
	if t.names.picture != nil {
		t.exec(w.stmt.meta, "picture", t.names.picture)
	}
}

func (t *txn) writeMeta(key string, v any) {
	doc, err := json.Marshal(v)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("encode session data: %w", err)
	}
	t.exec(t.w.stmt.meta, key, string(doc))
}

func (t *txn) fileID(path string) int {
	id, ok := t.w.written.files[path]
	if !ok {
		id = len(t.w.written.files) + 1
		t.w.written.files[path] = id
		t.names.files = append(t.names.files, path)
		t.exec(t.w.stmt.file, id, path)
	}
	return id
}

func (t *txn) layoutID(layout []byte) int {
	id, ok := t.w.written.layouts[string(layout)]
	if !ok {
		id = len(t.w.written.layouts) + 1
		t.w.written.layouts[string(layout)] = id
		t.names.layouts = append(t.names.layouts, string(layout))
		t.exec(t.w.stmt.layout, id, layout)
	}
	return id
}

// writeFuncStats writes the counters, once, at the end.
func (w *writer) writeFuncStats() error {
	w.s.statsMu.Lock()
	stats := w.s.nest.copyStats()
	w.s.statsMu.Unlock()
	t := &txn{w: w}
	t.exec(w.stmt.begin)
	for i := range stats {
		f := &stats[i]
		if t.err == nil {
			_, t.err = w.conn.ExecContext(context.Background(), "INSERT OR REPLACE INTO func_stats VALUES(?,?,?,?,?,?,?,?,?,?)",
				int64(f.Func), f.Calls,
				f.Exits, f.Errors+f.Lost, f.Lost, f.TotalNs, f.SelfNs, f.MinNs, f.MaxNs, f.hist.appendTo(nil))
		}
	}
	t.exec(w.stmt.meta, "closed", 1)
	t.exec(w.stmt.commit)
	if t.err != nil {
		_, _ = w.stmt.rollback.Exec()
	}
	return writeFault(w.s.path, t.err)
}
