package goroutine

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/timers.go.txt
var restsProgram string

// TestRests: what a goroutine that sleeps comes back to is the program's own code, by the way that its whole stack
// tells as well.
func TestRests(t *testing.T) {
	strobetest.NeedPtrace(t)
	r := start(t, build(t, "", restsProgram, "-ldflags=-s -w"), nil)
	rests, err := r.p.Rests("time.Sleep")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, rest := range rests {
		calls := r.p.Calls(rest.PC-1, rest.SP)
		if len(calls) == 0 {
			t.Fatalf("%+v has no stack", rest)
		}
		first := calls[0].Frames[0].Function
		if rest.Function != "time.Sleep" || !strings.HasPrefix(first, "main.") {
			t.Errorf("goroutine %d called %s from %s", rest.ID, rest.Function, first)
		}
		if at, ok := r.p.Code(calls[0].Entry); !ok || at.Entry != calls[0].Entry || rest.BP <= rest.SP {
			t.Errorf("%+v at %#x, %t; frame pointer %#x, stack pointer %#x", at, calls[0].Entry, ok, rest.BP, rest.SP)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d goroutines sleep, want 1", found)
	}
}
