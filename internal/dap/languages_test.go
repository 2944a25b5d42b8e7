package dap_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// compiled are programs of other languages that pause in look, and what is found in its arguments by a path of names.
var compiled = []struct {
	lang, variant, name, source, function string
	parts                                 map[string]string
	set, value                            string
}{
	{"cpp", "gcc-O0", "dapcpp", `
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Order { std::string name; std::vector<int> prices; std::map<std::string, int> stock; };
__attribute__((noinline)) int look(Order &order, int by) { return order.prices[1] * by + (int)order.stock.size(); }
int main()
{
	Order order{"größer", {10, 20, 30}, {{"pear", 4}}};
	printf("%d\n", look(order, 2));
	fflush(stdout);
	throw std::runtime_error("no more");
}
`, "look", map[string]string{"by": "2", "order name": `"größer"`, "order prices [2]": "30", "order stock pear": "4"},
		"order prices [1]", "100"},
	{"rust", "rust-debug", "daprust", `
struct Order { name: String, prices: Vec<i64>, next: Option<Box<Order>> }
#[inline(never)]
fn look(order: &mut Order, by: i64) -> i64 { order.prices[1] * by + order.name.len() as i64 - 7 }
fn main() {
	let next = Some(Box::new(Order { name: "next".to_string(), prices: vec![], next: None }));
	let mut order = Order { name: "größer".to_string(), prices: vec![10, 20, 30], next };
	println!("{}", look(&mut order, 2));
	if order.next.is_some() { panic!("no more"); }
}
`, "daprust::look", map[string]string{"by": "2", "order name": `"größer"`, "order prices [2]": "30",
		"order next name": `"next"`}, "order prices [1]", "100"},
}

// TestLanguages looks at values of other languages, changes one, and sees the program fail.
func TestLanguages(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range compiled {
		t.Run(p.lang, func(t *testing.T) {
			bin := strobetest.BuildSource(t, p.lang, p.variant, p.name, p.source)
			e := open(t, s.Home)
			e.launch(args{"program": bin}, func() {
				ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints",
					args{"breakpoints": []args{{"name": p.function}}})
			})
			stop := e.stops("function breakpoint")
			for path, want := range p.parts {
				if v, _ := e.part(stop.ThreadId, path); v.Value != want {
					t.Errorf("%s is %+v, want %s", path, v, want)
				}
			}
			v, parent := e.part(stop.ThreadId, p.set)
			ask[*proto.SetVariableResponse](e, "setVariable",
				args{"variablesReference": parent, "name": v.Name, "value": p.value})
			ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
			code := event[*proto.ExitedEvent](e, "exited", nil).Body.ExitCode
			if code == 0 || e.said["stdout"] != "201\n" || !strings.Contains(e.said["stderr"], "no more") {
				t.Errorf("ended with %d, said %q", code, e.said)
			}
			ask[*proto.DisconnectResponse](e, "disconnect", args{})
		})
	}
}

// part follows names from the arguments of a paused thread's innermost frame; parent is what has the last.
func (e *testEditor) part(thread int, path string) (v proto.Variable, parent int) {
	e.t.Helper()
	all, ref := e.scope(e.stack(thread)[0].Id, "Arguments")
	for name := range strings.SplitSeq(path, " ") {
		if v.VariablesReference != 0 {
			ref = v.VariablesReference
			all = e.variables(ref)
		}
		var ok bool
		if v, ok = all[name]; !ok {
			e.t.Errorf("%s: there is no %s among %v", path, name, all)
		}
	}
	return v, ref
}

// TestOneThreadAtATime lets the others run while one is paused, and go on one by one.
func TestOneThreadAtATime(t *testing.T) {
	const source = `#include <pthread.h>
#include <stdio.h>
static int done[2];
static void *work(void *p) { *(int *)p = 1; return p; } // work
int main(void)
{
	pthread_t t[2];
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, &done[i]);
	puts("both began");
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	return done[0] + done[1];
}
`
	bin, file := program(t, "onebyone", source, "-pthread")
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, source, "// work")}) })
	first, second := e.stops("breakpoint"), e.stops("breakpoint")
	if first.ThreadId == second.ThreadId || first.AllThreadsStopped {
		t.Errorf("paused %+v and %+v", first, second)
	}
	for !strings.Contains(e.said["stdout"], "both began") { // main is not kept from it
		e.next("output")
	}
	one := args{"threadId": first.ThreadId, "singleThread": true}
	if ask[*proto.ContinueResponse](e, "continue", one).Body.AllThreadsContinued {
		t.Error("all are said to go on")
	}
	event(e, "the end of the first", func(ev *proto.ThreadEvent) bool {
		return ev.Body.Reason == "exited" && ev.Body.ThreadId == first.ThreadId
	})
	if got := e.stack(second.ThreadId); got[0].Name != "work" {
		t.Errorf("the second is at %+v", got[0])
	}
	e.refused("continue", one)
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": second.ThreadId})
	e.ends(2)
}

// TestStepsToTheEnd steps until the program has ended.
func TestStepsToTheEnd(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, shop, "// the end")}) })
	stop := e.stops("breakpoint")
	ask[*proto.StepInResponse](e, "stepIn", args{"threadId": stop.ThreadId})
	stop = e.stops("step")
	e.refused("stepOut", args{"threadId": stop.ThreadId}) // of main
	ask[*proto.NextResponse](e, "next", args{"threadId": stop.ThreadId})
	for {
		m := e.next("a pause or the end")
		if _, ended := m.(*proto.ExitedEvent); ended {
			break
		}
		if _, is := m.(*proto.StoppedEvent); is {
			ask[*proto.NextResponse](e, "next", args{"threadId": stop.ThreadId})
		}
	}
	e.ends(7)
}

// TestExceptionFilters are verified where they work alone; a C program has no exceptions, but may die of a signal.
func TestExceptionFilters(t *testing.T) {
	bin, _ := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "stopOnEntry": true}, func() {
		got := ask[*proto.SetExceptionBreakpointsResponse](e, "setExceptionBreakpoints",
			args{"filters": []string{"@exceptions", "@uncaught"}}).Body.Breakpoints
		if len(got) != 2 || got[0].Verified || got[0].Message == "" || !got[1].Verified {
			t.Errorf("filters: %+v", got)
		}
	})
	stop := e.stops("entry")
	e.refused("exceptionInfo", args{"threadId": stop.ThreadId})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}

// TestInterpreters see output, the exception that ends the program, and its code.
func TestInterpreters(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for command, source := range map[string]string{
		"python3": "import sys\nprint('begun')\nprint('to err', file=sys.stderr)\nraise KeyError('the end')\n",
		"node":    "console.log('begun')\nconsole.error('to err')\nthrow new RangeError('the end')\n",
	} {
		t.Run(command, func(t *testing.T) {
			strobetest.NeedCommand(t, command)
			path, err := exec.LookPath(command)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			e := open(t, s.Home)
			e.launch(args{"program": path, "args": []string{file}, "cwd": filepath.Dir(file)}, nil)
			e.ends(1)
			if e.said["stdout"] != "begun\n" || !strings.HasPrefix(e.said["stderr"], "to err\n") ||
				!strings.Contains(e.said["important"], "the end") {
				t.Errorf("said %q", e.said)
			}
		})
	}
}

// TestPort serves editors on a port, this user's alone.
func TestPort(t *testing.T) {
	bin, _ := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	cmd := exec.Command(strobetest.Binary(t), "dap", "--port", "0")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()                             //nolint:errcheck // it is interrupted
	defer cmd.Process.Signal(os.Signal(sigterm)) //nolint:errcheck // it may have failed
	var address string
	if _, err := fmt.Fscanf(said, "strobe: dap on %s\n", &address); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // until it ends
	for range 2 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		e := speak(t, conn, conn)
		e.launch(args{"program": bin}, nil)
		e.ends(7)
		conn.Close()
	}
	strobetest.NeedRoot(t)
	strobetest.NeedCommand(t, "bash")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s; cat <&3", host, port))
	other.Dir = "/"
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := other.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "reset") || strings.Contains(string(out), "Content-Length") {
		t.Errorf("another user's process: %v: %s", err, out)
	}
}
