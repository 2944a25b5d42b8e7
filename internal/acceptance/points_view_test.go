package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// viewed are programs whose function look has an argument with parts of every kind, and what an editor finds there: for
// a path of names, the value. A path that ends in = is set to the value first.
var viewed = []struct {
	lang, variant, name, source string
	parts                       map[string]string
	sets                        [][2]string // path, value; what is shown then is the value
}{
	{"rust", "rust-debug", "viewedrust", `
use std::collections::{BTreeMap, HashMap};
struct Inner { text: String, pair: (u8, i32), next: Option<Box<Inner>> }
enum Shape { Round(f64), Flat { width: u32 } }
struct Whole { number: i64, list: Vec<Inner>, map: BTreeMap<String, Vec<u16>>, other: HashMap<u8, bool>, shapes: [Shape; 2], words: &'static str }
#[inline(never)]
fn look(whole: &mut Whole) -> i64 { whole.number + whole.list.len() as i64 }
fn main() {
	let inner = Inner { text: "deep".to_string(), pair: (9, -9), next: None };
	let mut whole = Whole { number: 5, list: vec![Inner { text: "near".to_string(), pair: (1, -1), next: Some(Box::new(inner)) }],
		map: BTreeMap::from([("key".to_string(), vec![7, 8])]), other: HashMap::from([(3, true)]),
		shapes: [Shape::Round(2.5), Shape::Flat { width: 4 }], words: "some words" };
	println!("total {}", look(&mut whole));
}
`, map[string]string{
		"whole number": "5", "whole words": `"some words"`, "whole list [0] text": `"near"`, "whole list [0] pair __1": "-1",
		"whole map key [1]": "8", "whole other 3": "true", "whole shapes [1] Flat width": "4",
		"whole list [0] next text": `"deep"`, "whole list [0] next pair [0]": "9",
	}, [][2]string{{"whole number", "100"}, {"whole list [0] pair __1", "-70"}}},
	{"cpp", "gcc-O2", "viewedcpp", `
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>
struct Point { int x, y; };
enum class Color { red, green };
struct Named { std::string name; Color color = Color::green; };
struct Whole : Named {
	std::list<Point> points{{1, 2}, {3, 4}};
	std::map<std::string, std::vector<Point>> map{{"key", {{5, 6}}}};
	std::unique_ptr<Named> owned = std::make_unique<Named>();
	std::shared_ptr<Point> shared = std::make_shared<Point>(Point{7, 8});
	std::optional<Point> maybe = Point{9, 10};
	std::variant<int, Point> either = Point{11, 12};
	union { int whole; unsigned char bytes[4]; };
	int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
	const char *text = "some text";
	Point *none = nullptr, **two;
	int &number;
	unsigned low : 3 = 5;
	bool yes = true;
	double half = 0.5;
	Whole(int &n) : whole(0x01020304), number(n) { name = "the whole"; owned->name = "owned"; static Point *one = new Point{13, 14}; two = &one; }
};
__attribute__((noinline)) long look(Whole &whole, int by) { asm volatile("" : : "r"(&whole) : "memory"); return whole.table[1][2] * by + whole.number; }
int main()
{
	int n = 40;
	Whole whole(n);
	printf("total %ld %s\n", look(whole, 2), whole.name.c_str());
}
`, map[string]string{
		"by": "2", "whole name": `"the whole"`, "whole color": "green", "whole points [1] y": "4", "whole map key [0] x": "5",
		"whole owned name": `"owned"`, "whole shared value x": "7",
		"whole maybe y": "10", "whole whole": "16909060", "whole bytes [0]": "4", "whole table [1] [2]": "6",
		"whole text": `"some text"`, "whole none": "null",
		"whole number": "40", "whole low": "5", "whole half": "0.5", "whole two *whole.two x": "13",
	}, [][2]string{{"whole table [1] [2]", "100"}, {"whole color", "red"}, {"whole yes", "false"}, {"whole low", "2"},
		{"whole half", "1.25"}, {"whole number", "1"}}},
}

// TestView looks into an argument with parts of every kind as an editor does, one level after the other, and sets some
// of them.
func TestView(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range viewed {
		t.Run(p.name, func(t *testing.T) {
			path := strobetest.BuildSource(t, p.lang, p.variant, p.name, p.source)
			l := s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true})
			t.Cleanup(func() { s.Stop(t, l.SessionID) })
			d := &debugged{t, s, l.SessionID}
			d.points(args{"add": []any{args{"function": strings.TrimPrefix(p.name+"::", "viewedcpp::") + "look"}}})
			th := d.next(args{}).PausedThreads[0]
			for at, want := range p.parts {
				if got := d.part(th.ThreadID, at); got.Value != want {
					t.Errorf("%s is %+v, want %s", at, got, want)
				}
			}
			for _, set := range p.sets {
				got := d.part(th.ThreadID, set[0])
				if got.Fixed || got.Eval == "" {
					t.Errorf("%s cannot be set: %+v", set[0], got)
					continue
				}
				var r struct{ Variable viewedVariable }
				if err := s.Try("debug_view", args{"sessionId": d.id, "action": "set", "ref": got.parent, "name": got.Name,
					"value": set[1]}, &r); err != nil {
					t.Errorf("%s: %v", set[0], err)
				}
				if again := d.part(th.ThreadID, set[0]); again.Value != r.Variable.Value ||
					!strings.HasSuffix(again.Value, set[1]) {
					t.Errorf("%s = %s is %+v, and then %+v", set[0], set[1], r.Variable, again)
				}
			}
			old := d.part(th.ThreadID, "whole").parent
			d.next(args{})
			if err := s.Try("debug_view", args{"sessionId": d.id, "action": "variables", "ref": old},
				nil); fault.CodeOf(err) != fault.NotPaused && !strings.Contains(fmt.Sprint(err), "NOT_PAUSED") &&
				!strings.Contains(fmt.Sprint(err), "PROCESS_EXITED") {
				t.Errorf("a ref of a thread that went on: %v", err)
			}
		})
	}
}

type viewedVariable struct {
	Name, Value, Type, Eval string
	Ref                     int
	Count                   int
	Fixed                   bool
	parent                  int
}

// part follows names from the arguments of a paused thread's innermost frame.
func (d *debugged) part(thread int, path string) (v viewedVariable) {
	d.t.Helper()
	var r struct {
		Frames []struct{ Ref int }
		Scopes []struct {
			Kind string
			Ref  int
		}
		Variables []viewedVariable
	}
	ask := func(a args) {
		d.t.Helper()
		a["sessionId"] = d.id
		if err := d.s.Try("debug_view", a, &r); err != nil {
			d.t.Fatalf("%s: %v: %v", path, a, err)
		}
	}
	ask(args{"action": "frames", "threadId": thread, "count": 1})
	ask(args{"action": "scopes", "ref": r.Frames[0].Ref})
	v.Ref = r.Scopes[0].Ref
	for _, name := range strings.Split(path, " ") {
		r.Variables = nil
		ask(args{"action": "variables", "ref": v.Ref})
		parent := v.Ref
		found := false
		for _, one := range r.Variables {
			if one.Name == name {
				v, found = one, true
			}
		}
		if !found {
			d.t.Errorf("%s: no %s among %+v", path, name, r.Variables)
			return v
		}
		v.parent = parent
	}
	return v
}
