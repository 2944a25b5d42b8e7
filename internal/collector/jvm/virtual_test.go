package jvm

import (
	"fmt"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestVirtualThreads: calls of virtual threads nest in each of them, whichever threads carry them.
func TestVirtualThreads(t *testing.T) {
	in := strobetest.JavasFrom(t, 21)[0]
	b := under(t, in, "", []string{"Virtual.work", "Virtual.part"}, "-Djdk.virtualThreadScheduler.parallelism=3", "-cp",
		compiled(t, in, "Virtual"), "Virtual")
	if out, err := b.cmd.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Fatalf("%v: %s", err, out)
	}
	st := b.member.Status()
	b.member.Close(t.Context())
	if len(st.Warnings) > 0 {
		t.Errorf("warnings %q", st.Warnings)
	}
	lanes := map[event.ThreadID]string{} // what was entered and left, in its order
	for _, e := range b.book.All() {
		if name := b.book.Functions; e.Kind.IsCall() {
			s := map[bool]string{true: "(", false: ")"}[e.Kind == event.FunctionEnter]
			lanes[e.Thread] += s + name[e.Func].Name[len("Virtual."):] + " "
			if e.Flags != 0 {
				t.Errorf("event %+v", e)
			}
		}
	}
	if len(lanes) != 200 {
		t.Errorf("%d lanes", len(lanes))
	}
	const want = "(work (part )part (part )part )work "
	for lane, got := range lanes {
		if got != want {
			t.Errorf("lane %s has %s, want %s", b.book.Threads[lane].Name, got, fmt.Sprintf("%q", want))
		}
	}
}
