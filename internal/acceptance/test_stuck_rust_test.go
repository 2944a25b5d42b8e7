package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stuckRust = `use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Barrier, Mutex};
static READY: AtomicBool = AtomicBool::new(false);

fn await_ready() { while !READY.load(Ordering::Acquire) { std::hint::spin_loop(); } }
fn position(items: &[u32], want: u32) -> usize {
    let (mut lo, mut hi) = (0, items.len());
    while lo < hi {
        let mid = (lo + hi) / 2;
        if items[mid] <= want { lo = mid; } else { hi = mid; }
    }
    lo
}

#[test] fn channel() { let (keep, recv) = mpsc::channel::<u32>(); assert_eq!(recv.recv().unwrap(), 1); drop(keep); }
#[test] fn spins() { await_ready(); }
#[test] fn search() { assert_eq!(position(&[1, 3, 5, 7], 3), 2); }
#[test] fn locks() {
    let (a, b, both) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)), Arc::new(Barrier::new(2)));
    let (a2, b2, both2) = (a.clone(), b.clone(), both.clone());
    let t = std::thread::spawn(move || { let _b = b2.lock().unwrap(); both2.wait(); let _a = a2.lock().unwrap(); });
    let _a = a.lock().unwrap();
    both.wait();
    let _b = b.lock().unwrap();
    t.join().unwrap();
}
#[test] fn joins() { std::thread::spawn(|| std::thread::park()).join().unwrap(); }
#[test] fn dropped() { // a guard that was given up, and one that no variable has
    static M: Mutex<u32> = Mutex::new(0);
    let g = M.lock().unwrap();
    drop(g);
    let (both, sleep) = (Arc::new(Barrier::new(2)), std::time::Duration::from_millis(3500));
    let both2 = both.clone();
    let t = std::thread::spawn(move || { let kept = vec![Box::new(M.lock().unwrap())]; both2.wait(); std::thread::sleep(sleep); drop(kept); });
    both.wait();
    *M.lock().unwrap() = 1;
    t.join().unwrap();
}
#[test] fn polls() { while !READY.load(Ordering::Acquire) { std::thread::sleep(std::time::Duration::from_millis(3)); } }
`

// TestStuckRust runs tests of a cargo project that never end, each in its way. Its build takes its time without a word,
// which is no stuck test.
func TestStuckRust(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"Cargo.toml": "[package]\nname = \"waits\"\nversion = \"0.1.0\"\nedition = " +
		"\"2021\"\n", "src/lib.rs": stuckRust,
		"build.rs": "fn main() { println!(\"cargo:rerun-if-changed=build.rs\"); " +
			"std::thread::sleep(std::time::Duration::from_secs(6)); }\n"})
	neverStuck(t, s, args{"projectRoot": dir, "test": "dropped"})
	for _, c := range []struct{ test, want, in string }{
		{"channel", "stuck: ", "waits::channel"}, {"spins", "infinite loop: waits::await_ready", "waits::await_ready"},
		{"search", "infinite loop: waits::position", "waits::position"},
		{"locks", "deadlock: ", "waits::locks"}, {"joins", "stuck: ", "waits::joins"},
		{"polls", "infinite loop: waits::polls", "waits::polls"},
	} {
		var r testAnswer
		s.Call(t, "debug_test", args{"projectRoot": dir, "test": c.test, "timeout": 120000, "onStuck": "keep"}, &r)
		id := r.TestRunID
		strobetest.Eventually(t, 2*endLimit, c.test+" to be called stuck", func() bool {
			r = testAnswer{}
			s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 200}, &r)
			if p := r.Progress; p != nil && p.Phase == "compiling" && len(p.Stuck) > 0 {
				t.Fatalf("stuck while it compiles: %+v", p.Stuck)
			}
			return r.Progress == nil || len(r.Progress.Stuck) > 0
		})
		if r.Progress == nil {
			t.Fatalf("%s ended: %+v", c.test, r.Result)
		}
		st := r.Progress.Stuck[0]
		var stacks []string
		for _, th := range st.Threads {
			stacks = append(stacks, th.Stack...)
		}
		if !strings.HasPrefix(st.Diagnosis, c.want) || !strings.HasSuffix(st.Name, c.test) ||
			!strings.Contains(strings.Join(stacks, "\n"), c.in) {
			t.Errorf("%s: %+v", c.test, st)
		}
		s.Call(t, "debug_test", args{"action": "cancel", "testRunId": id}, &r)
	}
}
