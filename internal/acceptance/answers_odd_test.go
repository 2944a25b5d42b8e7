package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// oddSource has one call in some hundred that breaks what all others keep, each of another kind.
const oddSource = `#include <stdio.h>
#include <stdlib.h>
struct parcel { int id, weight; char label[16]; struct parcel *next; };
enum kind { READ, WRITE, DROP };
static long tickets;
long take_ticket(int lane) { tickets++; return tickets == 57 ? 3 : tickets; }
int split(struct parcel *p, int most, enum kind k) { if (p->id == 41) p->weight = -7; return p->weight > most; }
int price(int id, int low, int high) { return (high - low) * 2 + id % 3; }
struct cell { int kind; union { long n; double d; } as; };
union both { struct { int x, y; } at; int v[2]; };
int hold(struct cell *c, union both b) { return c->kind == 1 && c->as.d < 0; }
struct parcel *find(int id) { static struct parcel p; return id == 77 ? NULL : &p; }
int move(int from, int to, int amount) { return amount > 0; }
int main() {
  struct parcel p = {0, 10, "box", 0};
  for (int i = 0; i < 120; i++) {
    take_ticket(i % 3);
    p.id = i; p.weight = 10 + i % 5;
    split(&p, 3, i % 7 == 3 ? DROP : WRITE);
    split(&p, 3, READ);
    price(i, i * 7 % 40, i == 66 ? i * 7 % 40 - 9 : i * 7 % 40 + 1 + i % 4);
    find(i);
    struct cell c = {i == 60};
    if (c.kind) c.as.d = -1.5; else c.as.n = 9;
    hold(&c, (union both){{3, i == 30 ? -4 : 4 + i % 2}});
    move(i % 6, i == 90 ? i % 6 : (i % 6 + 1 + i % 5) % 6, 1 + i % 9);
  }
  puts("done");
}
`

// TestOddCalls: one question without any condition names the call that breaks what the others keep.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "c", "oddcalls", oddSource, "take_ticket", "split", "price", "find", "move", "hold")
	all := s.Query(t, id, args{"view": "invariants"})
	for _, want := range []string{
		"never decreases", "(result=3 after ", // a ticket that was given out again
		"p.weight >= 0 in 239 of 240, not #", "(p.weight=-7)",
		"result >= 0 in 119 of 120, not #", "high=13); nor low < high",
		"result is never null in 119 of 120, not #",
		"from != to in 119 of 120, not #", "(from=0, to=0)",
	} {
		if !strings.Contains(all.Text, want) {
			t.Errorf("invariants do not say %q:\n%s", want, all.Text)
		}
	}
	if !strings.Contains(all.Text, "b.at.y >= 0 in 119 of 120, not #") || strings.Contains(all.Text, "c.as.") {
		t.Errorf("a union's members are odd where they are not what it holds, or others are not:\n%s", all.Text)
	}
	if n := len(all.Text) + len(all.Hint); n > 3500 {
		t.Errorf("invariants of six functions have %d bytes", n)
	}
	for function, want := range map[string][]string{
		"split":       {"same in all: ", "most=3", `p.label="box"`, "-7!"},
		"take_ticket": {"3!"},
		"find":        {"null!"},
		"price":       {"13!"},
	} {
		table := s.Query(t, id, args{"view": "table", "function": function})
		for _, w := range want {
			if !strings.Contains(table.Text, w) {
				t.Errorf("the table of %s is without %q:\n%s", function, w, table.Text)
			}
		}
		if n := len(table.Text); n > 2500 {
			t.Errorf("the table of %s has %d bytes", function, n)
		}
	}
	odd := regexp.MustCompile(`(?m)^!#(\d+).* -7!`).FindStringSubmatch(
		s.Query(t, id, args{"view": "table", "function": "split"}).Text)
	if odd == nil {
		t.Fatal("the table does not mark the call")
	}
	event, _ := strconv.Atoi(odd[1])
	why := s.Query(t, id, args{"view": "why", "under": event})
	for _, want := range []string{
		"split(p={id: 41, weight: -7", "k=READ) → 0", "unlike 239 of its 240 calls: p.weight >= 0",
		"number 84 of its kind there; beside it: split ×239", "k=WRITE) → 0", "in no call that was recorded",
	} {
		if !strings.Contains(why.Text, want) {
			t.Errorf("why #%d does not say %q:\n%s", event, want, why.Text)
		}
	}
	sorted := s.Query(t, id, args{"view": "table", "function": "split", "order": "p.weight", "limit": 1,
		"fields": []string{"p.weight", "p.id"}})
	sides := s.Query(t, id, args{"view": "diff", "function": "split", "claim": "result == 0"})
	for _, want := range []string{"split: 2 with result == 0, 238 without", "p.id=41 in 2 of 2 with, 0 of 238 without"} {
		if !strings.Contains(sides.Text, want) {
			t.Errorf("diff does not say %q:\n%s", want, sides.Text)
		}
	}
	gap := s.Query(t, id, args{"view": "table", "function": "price", "fields": []string{"id", "high - low"},
		"order": "high - low", "limit": 1})
	if !regexp.MustCompile(`(?m)^!#\d+ +66 +-9`).MatchString(gap.Text) {
		t.Errorf("the least gap comes first:\n%s", gap.Text)
	}
	if !strings.Contains(sorted.Text, "-7!") || !strings.Contains(sorted.Text, "41") {
		t.Errorf("the least weight comes first:\n%s", sorted.Text)
	}
}

// TestOddCallsOfInterpreters is the same of programs whose values are trees.
func TestOddCallsOfInterpreters(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, x := range []struct{ interpreter, file, none, source string }{
		{"python3", "orders.py", "null", `
class Order:
    def __init__(self, id, total):
        self.id, self.total, self.state = id, total, "open"

def pay(order, amount):
    if order.id == 33:
        return None
    return order.total - amount

for i in range(80):
    pay(Order(i, 100 + i % 7), -5 if i == 51 else 10 + i % 4)
`},
		{"node", "orders.js", "null", `
class Order {
  constructor(id, total) { this.id = id; this.total = total; this.state = "open"; }
}
function pay(order, amount) {
  if (order.id === 33) return null;
  return order.total - amount;
}
for (let i = 0; i < 80; i++) pay(new Order(i, 100 + i % 7), i === 51 ? -5 : 10 + i % 4);
`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, x.file)
		if err := os.WriteFile(path, []byte(x.source), 0o644); err != nil {
			t.Fatal(err)
		}
		l := s.Launch(t, x.interpreter, dir, []string{path}, args{"trace": []string{"orders.*", "__main__.*", "pay"}})
		t.Cleanup(func() { s.Stop(t, l.SessionID) })
		s.WaitEnd(t, l.SessionID, 30*time.Second)
		pay := args{"contains": "pay"}
		for _, q := range []struct {
			args args
			want []string
		}{
			{args{"view": "invariants"}, []string{"amount >= 0 in 79 of 80, not #", "(amount=-5", "result is never null in 79 of 80"}},
			{args{"view": "table"}, []string{`order.state="open"`, "-5!", "null!"}},
			{args{"view": "check", "claim": "result == order.total - amount whenever order.id != 33"},
				[]string{"proved on this recording: 79 calls"}},
			{args{"view": "check", "claim": `order.state == "open" and amount > 0`}, []string{"broken by 1 of 80", "amount=-5"}},
		} {
			q.args["function"] = pay
			r := s.Query(t, l.SessionID, q.args)
			for _, want := range q.want {
				if !strings.Contains(r.Text, want) {
					t.Errorf("%s: %v does not say %q:\n%s\n%s", x.interpreter, q.args, want, r.Text, r.Hint)
				}
			}
		}
	}
}

// rustSource breaks a claim about a type of the program's own, an order per lane, and one about an enumeration.
const rustSource = `
#[derive(Debug)]
#[allow(dead_code)]
enum State { Idle, Armed }
struct Timer { id: u32, left: i64, state: State }
#[inline(never)]
fn release(t: &mut Timer, lane: u32) -> bool { t.left >= 0 && lane < 9 }
#[inline(never)]
fn ticket(lane: u32, at: u64) -> u64 { at * 10 + lane as u64 }
fn main() {
    let mut n = 0;
    for i in 0..90u32 {
        let mut t = Timer { id: i, left: if i == 52 { 3 } else { 0 }, state: State::Idle };
        if i == 52 { t.state = State::Armed }
        if release(&mut t, i % 4) { n += 1 }
        let at = if i == 70 { 2 } else { (i / 3) as u64 };
        n += (ticket(i % 3, at) % 7) as i32;
    }
    println!("{}", n);
}
`

// TestClaims: a claim is proved, or the calls that break it are named, or it is said why nobody can tell.
func TestClaims(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "rust", "rust-debug", "claims", rustSource)
	l := s.Launch(t, path, strobetest.Root(t), nil, args{"trace": []string{"claims::release", "claims::ticket"}})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	for claim, want := range map[string]string{
		"every claims::release(t) has t.left == 0":        "broken by 1 of 90 calls of claims::release",
		"result == true whenever left >= 0":               "not observable in",
		"t.left == 0 whenever t.state == Idle":            "proved on this recording: 89 calls of claims::release, 1 without",
		"at never decreases per lane":                     "broken by 1 of 90 calls of claims::ticket",
		"result == at * 10 + lane":                        "proved on this recording: 90 calls of claims::ticket",
		"t.id never repeats":                              "proved on this recording: 90 calls of claims::release",
		"every claims::ticket(l, a) has result % 10 == l": "proved on this recording: 90 calls",
	} {
		r := s.Query(t, l.SessionID, args{"view": "check", "claim": claim})
		if !strings.Contains(r.Text, want) {
			t.Errorf("%s is\n%swant %s", claim, r.Text, want)
		}
		if n := len(r.Text); n > 900 {
			t.Errorf("%s: %d bytes", claim, n)
		}
	}
}

// endSource forks, fails in a child, throws away a result, and dies.
const endSource = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int step(int i) { return i == 13 ? -1 : i * 2; }
int load(int n) { int s = 0; for (int i = 0; i < n; i++) s += step(i % 50); if (n == 90) usleep(20000); return s; }
int boom(int *p) { return *p; }
int main() {
  if (!fork()) { load(3); _exit(3); }
  wait(NULL);
  puts("start"); fflush(stdout);
  load(40); load(90);
  fprintf(stderr, "warning: bad row 13\n");
  puts("total"); fflush(stdout);
  return boom(NULL);
}
`

// TestSummary: one answer of under 1,000 tokens says how a session went, and where to look.
func TestSummary(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "c", "summary", endSource, "step", "load", "boom", "main")
	r := s.Query(t, id, args{"view": "summary"})
	for _, want := range []string{
		"crashed SIGSEGV", "2 processes", "exit 3", "died of SIGSEGV", "null pointer", "boom (", `"p":null`,
		"step: result >= 0 in 130 of 133, not #", "! warning: bad row 13", "  total", "most called: step ×133",
		"slowest calls (p99): main ",
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("the summary does not say %q:\n%s", want, r.Text)
		}
	}
	if n := len(answered(t, s, "debug_query", args{"sessionId": id, "view": "summary"})); n > 3000 {
		t.Errorf("the summary has %d bytes", n)
	}
}

// TestNothingOfUsercode: where no traced function has run the answer says what @usercode is here.
func TestNothingOfUsercode(t *testing.T) {
	pythons := strobetest.Pythons(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	l := s.Launch(t, pythons[0].Path, dir, []string{"-c", "print(1)"}, args{"trace": []string{"@usercode"}})
	s.WaitEnd(t, l.SessionID, endLimit)
	var r struct{ Hint string }
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "view": "tree"}, &r)
	if !strings.Contains(r.Hint, "@usercode is the code below "+dir) || !strings.Contains(r.Hint, "1 stdout") {
		t.Errorf("hint: %q", r.Hint)
	}
}

// TestEndedFromOutside: calls that are open when somebody ends the program are no errors; those of a crash are.
func TestEndedFromOutside(t *testing.T) {
	path := strobetest.BuildSource(t, "c", "gcc-O1", "ended", `#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int waits(int n) { if (n) raise(n); puts("here"); fflush(stdout); pause(); return n; }
int main(int argc, char **argv) { return waits(argc > 1 ? SIGSEGV : 0) + 1; }
`)
	s := strobetest.Start(t, nil)
	for _, sig := range []string{"SIGTERM", "SIGINT", "SIGKILL", "SIGSEGV"} {
		var argv []string
		if sig == "SIGSEGV" {
			argv = []string{"crash"}
		}
		l := s.Launch(t, path, filepath.Dir(path), argv, args{"trace": []string{"waits"}})
		if argv == nil {
			strobetest.Eventually(t, time.Minute, "its line", func() bool {
				return strings.Contains(s.Output(t, l.SessionID, "stdout"), "here")
			})
			s.Call(t, "debug_session", args{"sessionId": l.SessionID, "action": "signal", "signal": sig}, nil)
		}
		s.WaitEnd(t, l.SessionID, endLimit)
		row := statsRow(s.Query(t, l.SessionID, args{"view": "stats"}).Stats, "waits")
		if want := int64(len(argv)); row["calls"] != 1 || row["errors"] != want {
			t.Errorf("%s: %v, want 1 call and %d errors", sig, row, want)
		}
	}
}
