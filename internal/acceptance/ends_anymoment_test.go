package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// deathWays are how testdata/dying.c ends, and 'o': from outside.
const deathWays = "kKsnatxgo"

// deathOps are calls that a process may die in.
var deathOps = []func(p *placed){
	func(p *placed) { p.toggle(&p.traced, "w0", "w1") },
	func(p *placed) { p.point(args{"function": "w0", "condition": "n == 5"}) },
	func(p *placed) { p.point(args{"function": "w1", "condition": "n % 1000 == 5", "message": "{n}"}) },
	func(p *placed) { p.point(args{"function": "w1", "hitCount": 3, "allThreads": p.rng.IntN(2) == 0}) },
	func(p *placed) { p.point(args{"function": "w0", "return": 4}) },
	func(p *placed) { p.point(args{"variable": "counter", "pause": p.rng.IntN(2) == 0}) },
	func(p *placed) { p.next([]string{"continue", "step-over", "step-into", "step-out"}[p.rng.IntN(4)]) },
	func(p *placed) { p.call("debug_memory", args{"targets": []any{args{"variable": "counter"}}}) },
	func(p *placed) {
		p.call("debug_memory", args{"action": "write", "targets": []any{args{"variable": "counter", "value": 7}}})
	},
	func(p *placed) { p.call("debug_query", args{"view": "stats"}) },
	func(p *placed) { p.call("debug_session", args{"action": "status", "threads": p.rng.IntN(2) == 0}) },
	func(p *placed) { p.toggle(&p.thrown, "@exceptions") },
}

// deaths runs programs that die at random moments of all operations.
func deaths(t *testing.T, total time.Duration, seed uint64) *placeTally {
	t.Helper()
	source, err := os.ReadFile("testdata/dying.c")
	if err != nil {
		t.Fatal(err)
	}
	path := strobetest.BuildSource(t, "c", "gcc-O1", "dying", string(source), "-pthread")
	s := strobetest.Start(t, nil)
	tally := &placeTally{combos: map[string]bool{}, failed: map[string]int{}, logf: t.Logf}
	rng := rand.New(rand.NewPCG(seed, 0))
	for until := time.Now().Add(total); time.Now().Before(until); {
		tally.rounds++
		own := rng.Uint64()
		death(t, s, tally, path, rand.New(rand.NewPCG(own, 1)), fmt.Sprintf("round %d (%d)", tally.rounds, own))
	}
	return tally
}

// death is one program's life.
func death(t *testing.T, s *strobetest.Strobe, tally *placeTally, path string, rng *rand.Rand, what string) {
	how, us := string(deathWays[rng.IntN(len(deathWays))]), 1+rng.IntN([]int{3000, 30000, 400000}[rng.IntN(3)])
	attached := how == "o" || rng.IntN(3) == 0
	what += fmt.Sprintf(": %s after %d µs", how, us)
	launch := args{"projectRoot": filepath.Dir(path)}
	var cmd *exec.Cmd
	if attached {
		what += ", attached"
		cmd = exec.Command(path, how, strconv.Itoa(us))
		if how == "o" {
			cmd = exec.Command(path, "g", "20000000")
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()         //nolint:errcheck // it is killed
		defer cmd.Process.Kill() //nolint:errcheck // it has ended
		if how == "o" {
			time.AfterFunc(time.Duration(us)*time.Microsecond, func() { syscall.Kill(cmd.Process.Pid, syscall.SIGKILL) }) //nolint:errcheck // it has ended
		}
		launch["pid"] = cmd.Process.Pid
	} else {
		launch["command"], launch["args"], launch["stopOnEntry"] = path, []any{how, strconv.Itoa(us)}, rng.IntN(8) == 0
		if rng.IntN(2) == 0 {
			launch["trace"] = []any{"w*"}
		}
	}
	first := &placed{placeTally: tally, s: s, rng: rng, what: what}
	var l strobetest.Launched
	if first.try("debug_launch", launch, &l) != nil {
		return
	}
	var wg sync.WaitGroup
	for range 2 {
		p := &placed{placeTally: tally, s: s, id: l.SessionID, what: what, rng: rand.New(rand.NewPCG(rng.Uint64(), 2))}
		wg.Go(func() {
			for range 400 {
				deathOps[p.rng.IntN(len(deathOps))](p)
				if p.rng.IntN(3) == 0 {
					p.next("continue")
				}
				var st strobetest.Status
				if p.try("debug_session", args{"action": "status"}, &st) != nil || st.Status == "exited" || st.Status == "crashed" {
					return
				}
			}
		})
	}
	wg.Wait()
	first.id = l.SessionID
	if rng.IntN(4) == 0 {
		first.call("debug_session", args{"action": "stop", "kill": rng.IntN(2) == 0})
		return
	}
	first.call("debug_breakpoint", args{"remove": []any{"all"}})
	var st strobetest.Status
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		if first.try("debug_session", args{"action": "status"}, &st) != nil || st.Status == "exited" ||
			st.Status == "crashed" {
			break
		}
		first.next("continue")
	}
	if st.Status != "exited" && st.Status != "crashed" {
		first.note(&tally.harmed, "%s: its end is not told: %+v", what, st)
	}
	first.call("debug_session", args{"action": "stop"})
}

// TestDeathAnyMoment has programs die in the midst of every operation: each call answers, and the end is told.
func TestDeathAnyMoment(t *testing.T) {
	strobetest.NeedPtrace(t)
	p := deaths(t, 6*time.Second, placeSeed(t))
	t.Log(p)
	for _, h := range p.harmed {
		t.Error(h)
	}
}

// TestSoakDeath does so for the time that STROBE_SOAK says, and no call may take more than two seconds.
func TestSoakDeath(t *testing.T) {
	total := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	p := deaths(t, total, placeSeed(t))
	t.Log(p)
	for _, h := range append(p.harmed, p.slow...) {
		t.Error(h)
	}
}
