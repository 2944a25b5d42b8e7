package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// latencyTurns is how often each is tried; the median counts.
const latencyTurns = 9

// latency measures what a client waits for.
func (b *bench) latency() error {
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	if err := b.sizes(c); err != nil {
		return err
	}
	if err := b.buildSpin(); err != nil {
		return err
	}
	if err := b.firstEvent(c); err != nil {
		return err
	}
	return b.queries(c)
}

// sizes measures the binary, the schemas and a new client's first answer.
func (b *bench) sizes(c *client) error {
	st, err := os.Stat(b.strobe)
	if err != nil {
		return err
	}
	b.note("binary", float64(st.Size())/1e6, "MB", 32, "")
	first, all, err := c.schemaBytes()
	if err != nil {
		return err
	}
	b.note("schemas of launch, trace, query, session", float64(first), "bytes", 8192, "")
	b.note("schemas of all tools", float64(all), "bytes", 16384, "")
	var took []time.Duration
	for range latencyTurns {
		start := time.Now()
		one, err := b.connect()
		if err != nil {
			return err
		}
		took = append(took, time.Since(start))
		one.close()
	}
	b.times("strobe mcp: start to initialized", took, 50)
	return nil
}

// firstEvent measures from the call of debug_launch to the answer of a query that has the first traced call.
func (b *bench) firstEvent(c *client) error {
	var launch, total []time.Duration
	for range latencyTurns + 1 {
		start := time.Now()
		l, took, err := c.launch(b.dir+"/spin", mustGetwd(), []string{"count", "5"},
			map[string]any{"trace": []string{"leaf"}})
		if err != nil {
			return err
		}
		p, _, err := c.query(l.SessionID, map[string]any{"eventType": "function_enter", "limit": 1, "waitMs": 5000})
		if err != nil {
			return err
		}
		launch, total = append(launch, took), append(total, time.Since(start))
		if p.TotalCount == 0 {
			return fmt.Errorf("no traced call within five seconds")
		}
		if _, err := c.waitEnd(l.SessionID, time.Minute); err != nil {
			return err
		}
		c.end(l.SessionID)
	}
	// The first one reads the libraries' symbols: its daemon was not warm.
	b.times("debug_launch answers", launch[1:], 0)
	b.times("debug_launch to the first event in debug_query", total[1:], 100)
	b.note("the same, cold", ms(total[0]), "ms", 0, "")
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (b *bench) times(name string, took []time.Duration, limit float64) {
	slices.Sort(took)
	b.note(name, ms(took[len(took)/2]), "ms", limit, "%.1f to %.1f", ms(took[0]), ms(took[len(took)-1]))
}

// queries asks sessions of ten million events: of five functions, and of 20,000 that are called equally often.
func (b *bench) queries(c *client) error {
	prog, root, err := b.buildPace()
	if err != nil {
		return err
	}
	// A few calls more than ten million events, so that the oldest go as they do in long sessions.
	if err := b.queryRun(c, prog, root, []string{"4", "0", "1260000"}, "5 functions", "leaf", "main", "al",
		"^(le|wa)"); err != nil {
		return err
	}
	if prog, root, err = b.buildScale(); err != nil {
		return err
	}
	return b.queryRun(c, prog, root, []string{"252"}, "20,000 functions", "f00007", "main", "007", "^f0.0[13]")
}

func (b *bench) queryRun(c *client, prog, root string, args []string, what, hot, rare, part, regex string) error {
	l, _, err := c.launch(prog, root, args, map[string]any{"trace": []string{"@usercode"}, "onFullBuffer": "block"})
	if err != nil {
		return err
	}
	defer c.end(l.SessionID)
	if _, err := c.waitEnd(l.SessionID, 3*time.Minute); err != nil {
		return err
	}
	all, _, err := c.query(l.SessionID, map[string]any{"limit": 1})
	if err != nil {
		return err
	}
	for _, q := range []struct {
		name   string
		limit  float64
		filter map[string]any
	}{
		{"newest", 10, map[string]any{"timeFrom": "-1ms"}},
		{"cursor", 10, map[string]any{"afterEventId": 5_000_000}},
		{"function equals", 10, map[string]any{"function": map[string]any{"equals": hot}}},
		{"rare function", 10, map[string]any{"function": map[string]any{"equals": rare}}},
		{"function contains", 10, map[string]any{"function": map[string]any{"contains": part}}},
		{"result equals", 100, map[string]any{"returnValue": map[string]any{"equals": 9}}},
		{"duration over", 100, map[string]any{"minDurationNs": 1_000_000}},
		{"regex, time range, by thread", 100, map[string]any{"function": map[string]any{"matches": regex},
			"timeFrom": "-500ms", "order": "thread"}},
	} {
		var took []time.Duration
		var total int64
		for range latencyTurns {
			q.filter["limit"] = 50
			p, d, err := c.query(l.SessionID, q.filter)
			if err != nil {
				return fmt.Errorf("query %s: %w", q.name, err)
			}
			took, total = append(took, d), p.TotalCount
		}
		b.times(fmt.Sprintf("%.1f M events, %s: %s", float64(all.TotalCount)/1e6, what, q.name), took, q.limit)
		b.rows[len(b.rows)-1].Note += fmt.Sprintf("; %d match", total)
	}
	return nil
}
