package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// What -ingest sends: 500 pairs a millisecond are 1,000,000 events a second.
const (
	paceThreads = 4
	pacePairs   = 500
	paceMS      = 10_000
	// The unpaced run's: 8,000,000 events.
	freeThreads = 8
	freePairs   = 500_000
)

// ingest traces a program that makes 1,000,000 events a second, then one that makes as many as it can.
func (b *bench) ingest() error {
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	prog, root, err := b.buildPace()
	if err != nil {
		return err
	}
	if err := b.ingestRun(c, prog, root, "1 M events/s for 10 s", paceThreads, pacePairs, paceMS); err != nil {
		return err
	}
	return b.ingestRun(c, prog, root, "8 threads unpaced", freeThreads, 0, freePairs)
}

func (b *bench) buildPace() (prog, root string, err error) {
	prog = filepath.Join(b.dir, "pace")
	if root, err = filepath.Abs(filepath.Join("bench", "programs")); err != nil {
		return "", "", err
	}
	out, err := exec.Command("gcc", "-g", "-O2", "-pthread", filepath.Join(root, "pace.c"), "-o", prog).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("build pace: %w: %s", err, out)
	}
	return prog, root, nil
}

func (b *bench) ingestRun(c *client, prog, root, name string, threads, rate, amount int) error {
	before, err := b.daemonCPU()
	if err != nil {
		return err
	}
	start := time.Now()
	l, _, err := c.launch(prog, root, []string{fmt.Sprint(threads), fmt.Sprint(rate), fmt.Sprint(amount)},
		map[string]any{"trace": []string{"step", "walk", "leaf", "check"}, "onFullBuffer": "block"})
	if err != nil {
		return err
	}
	defer c.end(l.SessionID)
	st, err := c.waitEnd(l.SessionID, 3*time.Minute)
	if err != nil {
		return err
	}
	took := time.Since(start)
	after, err := b.daemonCPU()
	if err != nil {
		return err
	}
	text, err := c.stdout(l.SessionID)
	if err != nil {
		return err
	}
	var pairs, ms int64
	if _, err := fmt.Sscanf(text, "pairs=%d ms=%d", &pairs, &ms); err != nil {
		return fmt.Errorf("read the output of pace, %q: %w", text, err)
	}
	enters, exits := st.EventCount["function_enter"], st.EventCount["function_exit"]
	missing := max(pairs-enters, enters-pairs) + max(pairs-exits, exits-pairs)
	events := float64(enters + exits)
	size, err := b.sessionSize(l.SessionID)
	if err != nil {
		return err
	}
	b.note(name+": wrong counts", float64(missing), "events", 0,
		"%d pairs in the program, %d enters, %d exits, %d dropped", pairs, enters, exits, st.DroppedEvents)
	if missing != 0 || st.DroppedEvents != 0 {
		return fmt.Errorf("%s: %d events miscounted, %d dropped", name, missing, st.DroppedEvents)
	}
	limit := 0.0
	if rate > 0 {
		limit = 1.02 * paceMS
	}
	b.note(name+": program ran", float64(ms), "ms", limit, "%.2f M events/s, all stored after %d ms",
		events/float64(ms)/1000, took.Milliseconds())
	cpu := after - before
	limit = 0
	if rate > 0 {
		limit = 100
	}
	b.note(name+": daemon", cpu.Seconds()/(float64(ms)/1000)*100, "% of a core", limit, "%.0f ns of CPU per event",
		float64(cpu.Nanoseconds())/events)
	b.note(name+": on disk", float64(size)/events, "bytes/event", 20, "%d MB", size>>20)
	return nil
}

// sessionSize is what a session takes on disk.
func (b *bench) sessionSize(id string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(b.home, "sessions", id+".db*"))
	if err != nil {
		return 0, err
	}
	var total int64
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			total += st.Size()
		}
	}
	return total, nil
}
