package native

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
)

const walkRoomProgram = `
struct part { int n; struct part *next; };
__attribute__((noinline)) int sum(struct part *p) {
  int s = 0;
  for (; p; p = p->next) s += p->n;
  return s;
}
int main(void) {
  struct part b = {2, 0}, a = {1, &b};
  return sum(&a) - 3;
}
`

// TestNoRoomForWalks: of a program with more types than there is room for (rhai 1.27) calls are recorded all the same,
// and somebody is told what is missing.
func TestNoRoomForWalks(t *testing.T) {
	most := maxWalkOps
	defer func() { maxWalkOps = most }()
	prog := build(t, "walkroom.c", walkRoomProgram, "gcc", "-g", "-O0")
	for _, room := range []uint32{most, 0} {
		maxWalkOps = room
		sink := newSink(t)
		s := startTracing(t, testRuntime(t), sink, prog,
			collector.Tracing{Probes: []collector.Probe{{Pattern: "sum", Depth: 3}}})
		s.wait(t)
		said := strings.Contains(strings.Join(s.Status().Warnings, "\n"), "more types than are read whole")
		if sink.enters["sum"] != 1 || sink.exits["sum"] != 1 || said != (room == 0) {
			t.Errorf("room for %d operations: %d enters, %d exits, warnings %q", room, sink.enters["sum"], sink.exits["sum"],
				s.Status().Warnings)
		}
	}
}
