package dap_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const coreSource = `
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct place { const char *name; int rooms[4]; struct place *next; };
static void *waits(void *arg) { pause(); return arg; }
__attribute__((noinline)) int look(struct place *p, int nr) { int sum = 0;
	for (int i = 0; i < 4; i++) sum += p->next->rooms[i] * nr;
	return sum; }
int main(void)
{
	pthread_t t;
	struct place inner = {"inn", {1, 2, 3, 4}, 0}, outer = {"out", {5, 6, 7, 8}, &inner};
	pthread_create(&t, 0, waits, 0);
	printf("%d\n", look(&outer, 2));
	return look(&inner, 3);
}
`

// TestCoreFile: an editor opens what a crash left. Threads stand, variables are followed, nothing goes on.
func TestCoreFile(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gdb")
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "dapcore", coreSource)
	core := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command("gdb", "-nx", "-q", "-batch", "-ex", "run", "-ex", "generate-core-file "+core,
		bin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "coreFile": core}, func() {
		ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints", args{"breakpoints": []args{{"name": "look"}}})
	})
	stop := e.stops("exception")
	if !stop.AllThreadsStopped || stop.Description != "SIGSEGV" || !strings.Contains(stop.Text, "null") {
		t.Errorf("stopped: %+v", stop)
	}
	if all := ask[*proto.ThreadsResponse](e, "threads", nil).Body.Threads; len(all) != 2 || all[0].Id != stop.ThreadId {
		t.Errorf("threads: %+v", all)
	}
	info := ask[*proto.ExceptionInfoResponse](e, "exceptionInfo", args{"threadId": stop.ThreadId}).Body
	if info.ExceptionId != "SIGSEGV" || !strings.Contains(info.Description, "null") {
		t.Errorf("exception: %+v", info)
	}
	frames := e.stack(stop.ThreadId)
	if len(frames) < 2 || frames[0].Name != "look" || frames[0].Line != lineOf(t, coreSource, "p->next->rooms") ||
		frames[1].Name != "main" {
		t.Fatalf("stack: %+v", frames)
	}
	locals, _ := e.scope(frames[1].Id, "Locals")
	outer := e.variables(locals["outer"].VariablesReference)
	next := e.variables(outer["next"].VariablesReference)
	rooms := e.variables(next["rooms"].VariablesReference)
	if outer["name"].Value != `"out"` || next["name"].Value != `"inn"` || rooms["[3]"].Value != "4" {
		t.Errorf("outer: %+v, next: %+v, rooms: %+v", outer, next, rooms)
	}
	if got := e.evaluate(frames[1].Id, "outer.next->rooms[1] * 10", "watch"); got != "20" {
		t.Errorf("evaluated %s", got)
	}
	for command, a := range map[string]args{
		"continue":      {"threadId": stop.ThreadId},
		"next":          {"threadId": stop.ThreadId},
		"pause":         {"threadId": stop.ThreadId},
		"setExpression": {"expression": "outer.rooms[0]", "value": "7", "frameId": frames[1].Id},
	} {
		if why := e.refused(command, a); !strings.Contains(why, "core file") {
			t.Errorf("%s: %s", command, why)
		}
	}
	if why := e.refused("restart", nil); !strings.Contains(why, "core file") {
		t.Errorf("restart: %s", why)
	}
	ask[*proto.TerminateResponse](e, "terminate", nil)
	event[*proto.TerminatedEvent](e, "terminated", nil)
}
