package acceptance

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// burst is one random run of testdata/bursts.c.
type burst struct {
	seed     uint64
	threads  int
	calls    int
	end      string
	policy   string
	depth    int
	sampling any
}

// burstEnds are how it ends. In those that end in the midst of it, each thread may be in a call that is recorded and
// not counted yet.
var burstEnds = []string{"sleep", "return", "_exit", "kill", "abort", "crash", "exec", "killed", "exits"}

func randomBurst(seed uint64) burst {
	r := rand.New(rand.NewPCG(seed, 11))
	b := burst{seed: seed, threads: 1 + r.IntN(6), calls: 1 + r.IntN(60_000), end: burstEnds[seed%uint64(len(burstEnds))],
		policy: "drop", depth: 1 + r.IntN(4), sampling: "off"}
	if r.IntN(4) == 0 {
		b.policy, b.calls = "block", b.calls/4
	} else if r.IntN(3) == 0 {
		b.policy = "wait"
	}
	if r.IntN(2) == 0 {
		b.sampling = map[string]any{"rate": []float64{0.001, 0.01, 0.5}[r.IntN(3)]}
	}
	return b
}

func (b burst) String() string {
	return fmt.Sprintf("%d: %d threads of %d calls, %s, %s, depth %d, sampling %v", b.seed, b.threads, b.calls, b.end,
		b.policy, b.depth, b.sampling)
}

// TestCountsAreExact asks at once after the last call of a program, which then sleeps, exits, is killed or crashes, how
// often its functions were called: what is recorded, sampled away and dropped makes up what the program counted itself.
// Keeps out: counts that waited in a ring for room, or for the function's next call.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"sampling.threshold": 3_000})
	path := buildBursts(t)
	for seed := range uint64(len(burstEnds) * 2) {
		runBurst(t, s, path, randomBurst(seed))
	}
}

// TestDefaultsKeepAll: a burst of several threads is recorded whole by who says nothing of policies. Keeps out: 1% of
// it was kept.
func TestDefaultsKeepAll(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path, file := buildBursts(t), filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	l := s.Launch(t, path, filepath.Dir(path), []string{file, "7", "3", "150000", "return"},
		args{"trace": []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"}})
	defer s.Stop(t, l.SessionID)
	s.WaitEnd(t, l.SessionID, endLimit)
	if c := s.Status(t, l.SessionID).Calls; c.Made != c.Recorded || c.Made < 450_000 {
		t.Errorf("%+v: not all is kept", c)
	}
}

// TestSoakCountsAreExact does the same with other seeds, for the time that STROBE_SOAK says.
func TestSoakCountsAreExact(t *testing.T) {
	limit := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"sampling.threshold": 3_000})
	path, n := buildBursts(t), 0
	for started := time.Now(); time.Since(started) < limit && !t.Failed(); n++ {
		runBurst(t, s, path, randomBurst(1000+uint64(n)))
	}
	t.Logf("%d bursts", n)
}

func buildBursts(t *testing.T) string {
	source, err := os.ReadFile(filepath.Join("testdata", "bursts.c"))
	if err != nil {
		t.Fatal(err)
	}
	return strobetest.BuildSource(t, "c", "gcc-O2", "bursts", string(source), "-pthread")
}

func runBurst(t *testing.T, s *strobetest.Strobe, path string, b burst) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	word := func(i int) int64 {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	patterns := []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"}
	var staged struct{}
	s.Call(t, "debug_trace", args{"projectRoot": filepath.Dir(path), "add": patterns, "sampling": b.sampling,
		"serializationDepth": b.depth}, &staged)
	l := s.Launch(t, path, filepath.Dir(path),
		[]string{file, strconv.FormatUint(b.seed, 10), strconv.Itoa(b.threads), strconv.Itoa(b.calls), b.end},
		args{"onFullBuffer": b.policy})
	defer s.Stop(t, l.SessionID)
	inFlight := int64(0)
	if b.end == "sleep" {
		strobetest.Eventually(t, endLimit, "the last call", func() bool { return word(16) == 1 })
	} else {
		s.WaitEnd(t, l.SessionID, endLimit)
		if b.end == "killed" || b.end == "exits" {
			inFlight = int64(b.threads)
		}
	}
	stats := s.Query(t, l.SessionID, args{"view": "stats"})
	tree := s.Query(t, l.SessionID, args{"view": "tree"})
	st := s.Status(t, l.SessionID)
	var all, made int64
	for k := range patterns {
		row := statsRow(stats.Stats, patterns[k])
		want := word(k)
		all, made = all+row["calls"], made+want
		kept := row["calls"]
		if n, ok := row["recorded"]; ok {
			kept = n
		}
		if row["calls"] < want || row["calls"] > want+inFlight || kept > row["calls"] {
			t.Errorf("%v\n%s was called %d times, and\n%s\n%s", b, patterns[k], want, stats.Stats, stats.Hint)
		}
	}
	c := st.Calls
	if c.Made != all || c.Recorded+c.Sampled+c.Dropped != c.Made || c.Recorded != st.EventCount["function_enter"] {
		t.Errorf("%v\nstatus says %+v and %v; stats say %d", b, c, st.EventCount, all)
	}
	for what, n := range map[string]int64{"Dropped: ": c.Dropped, "Sampled: ": c.Sampled} {
		if (n > 0) != strings.Contains(stats.Hint+tree.Hint, what) { // once is enough
			t.Errorf("%v\n%s%d; the tree says %q, the stats %q", b, what, n, tree.Hint, stats.Hint)
		}
	}
	if testing.Verbose() {
		t.Logf("%v: %d made, %+v", b, made, c)
	}
}

// statsRow is a function's line in the table of view stats, by column.
func statsRow(table, function string) map[string]int64 {
	row := map[string]int64{}
	lines := strings.Split(table, "\n")
	head := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != function {
			continue
		}
		for i := range min(len(head), len(f)) {
			if n, err := strconv.ParseInt(f[i], 10, 64); err == nil {
				row[head[i]] = n
			}
		}
	}
	return row
}
