package acceptance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const rustPlacesProgram = `use std::hint::black_box;
static NAMES: [&str; 3] = ["one", "two", "three"];
static GRID: [[i16; 3]; 2] = [[1, 2, 3], [4, 5, 6]];
static PAIR: (u32, u8) = (5, 6);
static BYTES: [u8; 4] = [104, 101, 121, 33];
struct Named { name: String, n: i32 }
#[inline(never)]
fn hold(s: &str) -> usize { black_box(s.len()) }
#[inline(never)]
fn eat(s: String) -> usize { black_box(s).len() }
#[inline(never)]
fn work(k: i32) -> usize {
    let p = Named { name: format!("name {}", k), n: k };
    let a = format!("alpha {}", k);
    let n = hold(&a);
    n + eat(p.name) + p.n as usize + eat(a)
}
fn main() { black_box((&NAMES, &GRID, &PAIR, &BYTES)); println!("total {}", work(3)); }
`

// TestRustPlaces reads Rust's types at addresses, and a struct some parts of which are optimized out: texts in it had
// no text.
func TestRustPlaces(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "rust", "rust-release", "rustplaces", rustPlacesProgram)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	d.points(args{"add": []any{args{"function": "**::hold"}}})
	d.next(args{})
	for _, c := range []struct{ name, typ, want string }{
		{"NAMES", "[&str; 3]", `["one","two","three"]`}, {"NAMES", "&str", `"one"`},
		{"GRID", "[[i16; 3]; 2]", "[[1,2,3],[4,5,6]]"},
		{"PAIR", "(u32, u8)", "[5,6]"}, {"PAIR", "u32", "5"}, {"BYTES", "[u8; 4]", "[104,101,121,33]"},
		{"BYTES", "[u16; 2]", "[25960,8569]"},
	} {
		at := d.memory(args{"targets": named(c.name)})[0].Address
		if got := d.memory(args{"targets": []args{{"address": at, "type": c.typ}}})[0]; string(got.Value) != c.want {
			t.Errorf("%s as %s: %s %s, want %s", c.name, c.typ, got.Value, got.Error, c.want)
		}
	}
	st := d.next(args{"action": "step-out"})
	if p := fmt.Sprint(st.PausedThreads[0].Locals["p"]); p != "map[n:3 name:name 3]" &&
		p != "map[n:<optimized out> name:name 3]" {
		t.Errorf("p is %s, want its name", p)
	}
}
