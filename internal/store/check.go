package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
)

// maxProblems bounds what Check reports: a file with more is simply broken.
const maxProblems = 50

// Check verifies the session file at path: SQLite's own check, every block against its header,
// ids without gaps, nesting, and outputs against their places in the blocks. It returns what is
// wrong with it, nothing for a sound file, and an error if it cannot be opened or read at all.
func Check(ctx context.Context, path string) ([]string, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("check event store: %w", err)
	}
	defer s.Close()
	sn, err := s.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("check event store: %w", err)
	}
	defer sn.Close()
	c := &checker{sn: sn}
	if err := c.integrity(ctx); err != nil {
		return c.problems, fmt.Errorf("check event store: %w", err)
	}
	if err := c.blocks(ctx); err != nil {
		return c.problems, fmt.Errorf("check event store: %w", err)
	}
	if err := c.outputs(ctx); err != nil {
		return c.problems, fmt.Errorf("check event store: %w", err)
	}
	return c.problems, nil
}

type checker struct {
	sn       *Snapshot
	problems []string
	outs     int64 // events that are not calls
}

func (c *checker) add(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

func (c *checker) integrity(ctx context.Context) error {
	return query(ctx, c.sn.r.conn, "PRAGMA integrity_check(20)", func(rows *sql.Rows) error {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			c.add("sqlite: %s", line)
		}
		return nil
	})
}

// blocks decodes everything.
func (c *checker) blocks(ctx context.Context) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	enc := newScratch()
	last := event.ID(0)
	for i := range c.sn.segs {
		g := &c.sn.segs[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		dense := g.b == nil && g.cols.ids == nil || g.b != nil && !g.b.h.sparse
		if before := i > 0 && !c.sparse(i-1); g.first() <= last || dense && before && g.first() != last+1 {
			c.add("events %d to %d are missing or twice", last+1, g.first()-1)
		}
		last = g.last()
		cols, err := c.sn.load(d, g, needAll)
		if err == nil && g.b != nil {
			err = c.sn.loadRest(d, g, d.everything(), true)
		}
		if err != nil {
			c.add("block %d: %v", g.first(), err)
			continue
		}
		c.rows(cols)
		if g.b == nil {
			continue
		}
		if h := blockOf(cols, 0, cols.n, enc); string(appendHeader(nil, h)) != string(appendHeader(nil, g.b.h)) {
			c.add("block %d: header does not match its events", g.first())
		}
	}
	return nil
}

// sparse reports whether segment i holds only outputs.
func (c *checker) sparse(i int) bool {
	g := &c.sn.segs[i]
	return g.b != nil && g.b.h.sparse || g.b == nil && g.cols.ids != nil
}

// rows checks what events refer to.
func (c *checker) rows(cols *columns) {
	var r Row
	for i := range cols.n {
		cols.hotRow(i, &r)
		cols.coldRow(i, &r)
		if !r.Kind.IsCall() {
			c.outs++
		} else if int(r.Func) >= len(c.sn.functions) || cols.fn[i] == noFunc {
			c.add("event %d: unknown function %d", r.ID, r.Func)
		}
		if r.Thread != event.NoThread && int(r.Thread) >= len(c.sn.threads) {
			c.add("event %d: unknown thread %d", r.ID, r.Thread)
		}
		if r.Parent < 0 || r.Parent >= r.ID || r.Enter < 0 || r.Enter >= r.ID || r.Duration < 0 || r.Depth < 0 {
			c.add("event %d: parent %d, enter %d, depth %d, duration %d", r.ID, r.Parent, r.Enter, r.Depth, r.Duration)
		}
	}
}

func (c *checker) outputs(ctx context.Context) error {
	var n int64
	err := query(ctx, c.sn.r.conn, "SELECT count(*) FROM outputs", func(rows *sql.Rows) error { return rows.Scan(&n) })
	if err == nil && n != c.outs {
		c.add("%d outputs, %d places for them", n, c.outs)
	}
	if err != nil {
		return err
	}
	stmt := fmt.Sprintf("SELECT seq, ret FROM outputs WHERE kind_id IN (%d,%d,%d) AND (ret < 0 OR ret >= %d) LIMIT %d",
		event.Data, event.State, event.Channel, len(c.sn.streams), maxProblems)
	return query(ctx, c.sn.r.conn, stmt, func(rows *sql.Rows) error {
		var id, stream int64
		if err := rows.Scan(&id, &stream); err != nil {
			return err
		}
		c.add("event %d: unknown stream %d", id, stream)
		return nil
	})
}
