//go:build linux

package acceptance

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shopJS = `class Order {
  constructor(id, items) { this.id = id; this.items = items; }
  total(tax = 0.2) { return this.items.map(i => price(i)).reduce((a, b) => a + b, 0) * (1 + tax); }
}
function price(item) {
  if (item === 'broken') throw new Error('no price for ' + item);
  return item.length;
}
function* gen(n) { for (let i = 0; i < n; i++) yield i; }
const sleep = ms => new Promise(r => setTimeout(r, ms));
async function get(n) { await sleep(10); console.log('got', n); return n * 2; }
async function both() { return Promise.all([get(1), get(2)]); }
async function run() {
  const o = new Order(7, ['apple', 'pear']);
  console.log('total', o.total(0.5));
  console.log([...gen(2)]);
  console.log(await both());
  try { new Order(8, ['broken']).total(); } catch (e) { console.log('error', e.message); }
}
run();
`

// TestNodeTree: calls with arguments and results, exceptions, generators and async functions below who ran them, and
// output where it was written, also behind an await.
func TestNodeTree(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "node")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	write(t, dir, "shop.js", shopJS, 0o644)
	l := s.Launch(t, node, dir, []string{"shop.js"}, args{"trace": []string{"@usercode"}, "cwd": dir})
	defer s.Stop(t, l.SessionID)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("ended %+v", st)
	}
	tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true}).Tree, "")
	for _, want := range []string{`
shop.run() → undefined
  shop.Order.constructor(id=7, items=["apple", "pear"]) → Order{id: 7, items: ["apple", "pear"]}
  shop.Order.total(this=Order{id: 7, items: ["apple", "pear"]}, tax=0.5) → 13.5
    shop.Order.total.<anonymous>(i="apple") → 5
      shop.price(item="apple") → 5
`, `
  stdout: "total 13.5\n"
  shop.gen(n=2) → undefined
    yield: function="shop.gen" value=0
    yield: function="shop.gen" value=1
  stdout: "[ 0, 1 ]\n"
  shop.both() → [2, 4]
    shop.get(n=1) → 2
`, `
      stdout: "got 1\n"
    shop.get(n=2) → 4
`, `
      stdout: "got 2\n"
  stdout: "[ 2, 4 ]\n"
  shop.Order.constructor(id=8, items=["broken"]) → Order{id: 8, items: ["broken"]}
  shop.Order.total(this=Order{id: 8, items: ["broken"]}, tax=0.2) ✗ Error: no price for broken
`, `
      shop.price(item="broken") ✗ Error: no price for broken
  stdout: "error no price for broken\n"
`} {
		if !strings.Contains("\n"+tree, want) {
			t.Errorf("tree\n%s\nlacks\n%s", tree, want)
		}
	}
}

// TestNodeUntouched: the program sees the environment, the arguments and the stacks that it sees without us.
func TestNodeUntouched(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "node")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	write(t, dir, "look.js", `const { spawnSync } = require('child_process');
function f(a, b = 2) { return new Error('x').stack; }
const deep = n => n ? [deep(n - 1)][0] : new Error('deep').stack;
const look = () => console.log(JSON.stringify({ env: Object.keys(process.env).filter(k => /NODE|STROBE_AGENT/.test(k)).sort().map(k => [k, process.env[k]]),
  argv: process.argv.slice(2), execArgv: process.execArgv, f: f.toString(), stack: f(), deep: deep(4), deeper: deep(20), length: f.length, keys: Object.keys(globalThis) }));
look();
if (process.argv.length < 3) { process.stdout.write(spawnSync(process.execPath, ['look.js', 'child']).stdout); process.exitCode = 3; }
`, 0o644)
	for _, env := range []map[string]string{nil, {"NODE_OPTIONS": "--no-warnings"}} {
		plain := exec.Command(node, "look.js")
		plain.Dir, plain.Env = dir, os.Environ()
		for k, v := range env {
			plain.Env = append(plain.Env, k+"="+v)
		}
		want, _ := plain.Output()
		l := s.Launch(t, node, dir, []string{"look.js"}, args{"trace": []string{"@usercode"}, "cwd": dir, "env": env})
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 3 {
			t.Errorf("ended %+v", st)
		}
		if got := s.Output(t, l.SessionID, "stdout"); got != string(want) {
			t.Errorf("sees\n%s\nwithout us\n%s", got, want)
		}
		if n := s.Count(t, l.SessionID, "function_enter", "look.f"); n != 2 {
			t.Errorf("%d calls of f in two processes", n)
		}
		s.Stop(t, l.SessionID)
	}
}
