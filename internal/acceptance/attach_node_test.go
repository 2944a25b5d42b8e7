//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// tillJS answers each line of its input, while it waits, computes, or as a worker of a cluster.
const tillJS = `const fs = require('fs'), mode = process.argv[2];
class Order {
  constructor(n) { this.n = n; }
  total(tax) { const sum = add(this.n, tax); return sum; }
}
function add(a, b) { return a + b; }
const check = n => { if (n > 5) throw new RangeError('over ' + n); return n; };
function tried(n) { try { return check(n); } catch (e) { return 'caught'; } }
async function later(n) { const got = add(n, 1); await null; return got; }
function nested(v) { if (v > 4) { const v = 'inner'; return v; } return v; }
let wrong = 0;
function answer(line) {
  if (line === 'late') { console.log(require('./late.cjs').grown(4).n); return; }
  const n = +line, sum = new Order(n).total(1);
  if (tried(n) !== (n > 5 ? 'caught' : n)) wrong++;
  later(n);
  nested(n);
  console.log('total', sum);
}
function ends() { console.log('wrong', wrong, add.name, String(add).length, process.exitCode); process.exit(7); }
function each(text) { for (const line of text.trim().split('\\n')) answer(line); }
if (mode === 'own') process.on('SIGUSR1', () => console.log('mine'));
if (mode === 'cluster' && require('cluster').isPrimary) {
  require('cluster').fork().on('exit', code => process.exit(code));
} else if (mode === 'busy') {
  const fd = fs.openSync('/proc/self/fd/0', fs.constants.O_RDONLY | fs.constants.O_NONBLOCK), buffer = Buffer.alloc(100);
  console.log('ready');
  for (let x = 0; ; x = (x * 7 + 1) % 1000) {
    if (x % 100 !== 1) continue;
    try {
      const n = fs.readSync(fd, buffer);
      if (n === 0) ends();
      each(buffer.toString('latin1', 0, n));
    } catch (e) { if (e.code !== 'EAGAIN') throw e; }
  }
} else {
  require('net').createServer(c => c.on('data', d => console.log('spoken to: ' + d))).listen(0, '127.0.0.1', () => {
    process.stdin.on('data', d => each(String(d))).on('end', ends);
    console.log('ready');
  });
}
`

// debuggerSays is what Node prints when its inspector is opened, used and closed.
var debuggerSays = regexp.MustCompile(`(?m)^(Debugger (listening|attached|ending)|For help, see:).*\n`)

// TestAttachNode: a program that runs is traced, paused and let go, twice, and ends as it does by itself; nobody can
// speak with its inspector meanwhile.
func TestAttachNode(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	nodes := strobetest.Nodes(t)
	for _, in := range nodes {
		modes := []string{"busy", "waits", "cluster"}
		if len(nodes) == 2 { // the short form
			modes = map[string][]string{nodes[0].Name: {"waits", "cluster"}, nodes[1].Name: {"busy"}}[in.Name]
		}
		for _, mode := range modes {
			t.Run(in.Name+" "+mode, func(t *testing.T) {
				dir := t.TempDir()
				write(t, dir, "till.cjs", tillJS, 0o644)
				write(t, dir, "late.cjs", "exports.grown = n => ({ n: n * 2 });\n", 0o644)
				plain := startPython(t, in.Path, dir, "till.cjs", mode)
				plain.says(t, "9", "total 10")
				want := plain.ends(t)
				r := startPython(t, in.Path, dir, "till.cjs", mode)
				pid := r.Process.Pid
				if mode == "cluster" {
					children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
					if err != nil {
						t.Fatal(err)
					}
					if pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
						t.Fatal(err)
					}
				}
				listened := iochan.Listening(pid)
				for n := range 2 {
					attachNode(t, s, r, pid, dir, n)
					if diff := cmp.Diff(fmt.Sprint(listened), fmt.Sprint(iochan.Listening(pid))); diff != "" {
						t.Errorf("it listens otherwise:\n%s", diff)
					}
				}
				if diff := cmp.Diff(want, debuggerSays.ReplaceAllString(r.ends(t), "")); diff != "" {
					t.Errorf("by itself and after two attaches it ends otherwise:\n%s", diff)
				}
			})
		}
	}
}

func attachNode(t *testing.T, s *strobetest.Strobe, r *pythonRun, pid int, dir string, n int) {
	var l attachAnswer
	s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": dir, "trace": []string{"Order.**", "tried", "check", "later", "nested"}}, &l)
	if l.Capabilities.Runtime != "node" || l.Capabilities.FunctionTracing != "full" || l.HookedFunctions != 6 ||
		len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "Debugger listening on") {
		t.Errorf("attached: %+v", l)
	}
	r.says(t, "4", "total 5")
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"till.add", "late.*"}}, nil)
	r.says(t, "6", "total 7")
	r.says(t, "late", "8")
	tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true}).Tree, "")
	for _, call := range []string{"till.Order.constructor(n=4) → <unreadable>\n", "till.Order.total(this=Order{n: 4}, tax=1) → 5\n",
		"till.Order.total(this=Order{n: 6}, tax=1) → 7\n  till.add(a=6, b=1) → <unreadable>\n",
		"till.tried(n=4) → <unreadable>\n  till.check(n=4) → 4\n", "till.tried(n=6) → \"caught\"\n  till.check(n=6) ✗ <unreadable>",
		"till.later(n=6)", "till.nested(v=6) → <unreadable>\n"} {
		if !strings.Contains(tree, call) {
			t.Errorf("attach %d: no %q in\n%s", n, call, tree)
		}
	}
	if whole := "late.grown(n=4) → {n: 8}\n"; n == 0 && !strings.Contains(tree, whole) {
		t.Errorf("no %q in\n%s", whole, tree)
	}
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []args{{"function": "till.add"}}}, nil)
	if _, err := r.in.Write([]byte("5\n")); err != nil {
		t.Fatal(err)
	}
	strobetest.Eventually(t, endLimit, "a pause", func() bool { return s.Status(t, l.SessionID).Status == "paused" })
	var st struct {
		PausedThreads []struct{ Arguments map[string]any }
	}
	s.Call(t, "debug_session", args{"sessionId": l.SessionID, "action": "status"}, &st)
	if len(st.PausedThreads) != 1 || st.PausedThreads[0].Arguments["a"] != float64(5) {
		t.Errorf("it stands: %+v", st)
	}
	s.Stop(t, l.SessionID) // which lets it go on
	r.hears(t, "total 6")
	r.says(t, "8", "total 9")
}

// TestAttachNodeRefused: where its inspector cannot be opened, or opening it would do something else, Node is left
// alone, and the answer says why.
func TestAttachNodeRefused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	nodes := strobetest.Nodes(t)
	newest := nodes[len(nodes)-1]
	for _, c := range []struct {
		in           strobetest.Interpreter
		option, mode string
		reason       string
	}{
		{nodes[0], "--no-deprecation", "own", "a handler of its own for SIGUSR1"},
		{nodes[0], "--inspect-port=0.0.0.0:0", "waits", "listen for other machines"},
		{newest, "--disable-sigusr1", "waits", "--disable-sigusr1"},
	} {
		t.Run(c.option, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "till.cjs", tillJS, 0o644)
			r := startPython(t, c.in.Path, dir, c.option, "till.cjs", c.mode)
			var l attachAnswer
			s.Call(t, "debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir}, &l)
			if said := strings.Join(l.Capabilities.Limitations, "\n"); !strings.Contains(said, c.reason) {
				t.Errorf("it says %q, not %q", said, c.reason)
			}
			r.says(t, "4", "total 5")
			s.Stop(t, l.SessionID)
			if got, want := r.ends(t), "wrong 0 add 36 undefined\nexit status 7"; got != want {
				t.Errorf("it ended %q, want %q", got, want)
			}
		})
	}
}
