package native

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const panicsSource = `
use std::panic;
#[inline(never)] fn formatted(n: i32) -> i32 { if n > 2 { panic!("too big: {}", n); } n } // THROW formatted
#[inline(never)] fn fixed(n: i32) -> i32 { if n > 2 { panic!("just text"); } n } // THROW fixed
#[inline(never)] fn index(v: &[i32], i: usize) -> i32 { v[i] } // THROW index
#[inline(never)] fn unwrapped(v: Option<i32>) -> i32 { v.unwrap() } // THROW unwrapped
#[inline(never)] fn expected(v: Result<i32, String>) -> i32 { v.expect("no result") } // THROW expected
#[inline(never)] fn any() -> i32 { panic::panic_any(17u32) } // THROW any
#[inline(never)] fn owned(n: i32) -> i32 { panic::panic_any(format!("owned {}", n)) } // THROW owned
#[inline(never)] fn attempt<F: FnOnce() -> i32 + panic::UnwindSafe>(f: F) -> bool {
    panic::catch_unwind(f).is_err() // CATCH attempt
}
#[inline(never)] fn resumed() -> i32 {
    let e = panic::catch_unwind(|| fixed(8)).unwrap_err(); // CATCH resumed
    panic::resume_unwind(e) // THROW resumed
}
fn main() {
    panic::set_hook(Box::new(|_| {}));
    let n = std::env::args().count() as i32;
    let mut failed = 0;
    failed += attempt(|| formatted(n + 4)) as i32;
    failed += attempt(|| fixed(n + 4)) as i32;
    failed += attempt(|| index(&[1, 2, 3], n as usize + 6)) as i32;
    failed += attempt(|| unwrapped(None)) as i32;
    failed += attempt(|| expected(Err("broken".to_string()))) as i32;
    failed += attempt(any) as i32;
    failed += attempt(|| owned(5)) as i32;
    failed += attempt(resumed) as i32;
    failed += std::thread::spawn(|| fixed(6)).join().is_err() as i32;
    println!("failed={}", failed);
}
`

var panicsWant = []string{
	"panic panic: too big: 5 @formatted", "caught panic: too big: 5 @formatted in attempt",
	"panic panic: just text @fixed", "caught panic: just text @fixed in attempt",
	"panic panic: index out of bounds: the len is 3 but the index is 7 @index",
	"caught panic: index out of bounds: the len is 3 but the index is 7 @index in attempt",
	"panic panic: called `Option::unwrap()` on a `None` value @unwrapped",
	"caught panic: called `Option::unwrap()` on a `None` value @unwrapped in attempt",
	`panic panic: no result: "broken" @expected`, `caught panic: no result: "broken" @expected in attempt`,
	"panic panic:  @any", "caught panic:  @any in attempt",
	"panic panic: owned 5 @owned", "caught panic: owned 5 @owned in attempt",
	"panic panic: just text @fixed", "caught panic: just text @fixed in resumed", "rethrow panic: just text @resumed",
	"caught panic: just text @resumed in attempt",
	"panic panic: just text @fixed", "caught panic: just text @fixed in thread",
}

// TestPanics compares every panic of a Rust program, with its message and places.
func TestPanics(t *testing.T) {
	for _, variant := range []string{"rust-debug", "rust-release", "rust-static"} {
		t.Run(variant, func(t *testing.T) {
			bin := strobetest.BuildSource(t, "rust", variant, "panicker", panicsSource)
			untraced, err := exec.Command(bin).Output()
			if err != nil {
				t.Fatal(err)
			}
			sink := newSink(t)
			s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"@exceptions"}, bin)
			s.wait(t)
			if out := s.stdout.String(); s.Exit() != (collector.ExitInfo{}) || out != string(untraced) {
				t.Errorf("the program ended with %+v and wrote %q, untraced %q", s.Exit(), out, untraced)
			}
			got, all := exceptionLines(t, sink)
			for i := range got { // the standard library's own: it has no source here
				if c := all[i].CaughtIn; c != nil && strings.Contains(c.Function+c.Via, "thread") {
					got[i], _, _ = strings.Cut(got[i], " in ")
					got[i] += " in thread"
				}
			}
			if !slices.Equal(got, panicsWant) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(panicsWant, "\n"))
			}
		})
	}
}
