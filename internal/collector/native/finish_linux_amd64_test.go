package native

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

const floatProgram = `
#include <pthread.h>
#include <stdio.h>
#include <string>
double gRate = 0.25;
float gScale = 1.5f;
struct Clock { double rate; int ticks; };
Clock gReal = {3.5, 7}, *gClock = &gReal, *gNone;
std::string gName = "left";
__attribute__((noinline)) double half(double x, int n, float f, const std::string &s) { gRate += 0.5; return x / 2 + n * f + s.size() * 0; }
__attribute__((noinline)) int plain(int n) { return n + 1; }
static void *work(void *) {
	pthread_setname_np(pthread_self(), "worker");
	half(8, 2, 0.5f, "right");
	getchar();
	return 0;
}
int main() {
	half(5, 1, 2.5f, "left");
	plain(1);
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
}
`

// TestWatchesOfFloats watches what only the daemon can compute: a double global, float arguments, results, members
// behind pointers and the thread's name; and two strings, which the agent compares.
func TestWatchesOfFloats(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			prog := build(t, "floats.cpp", floatProgram, "g++", "-g", flags, "-pthread")
			watches := map[string]string{
				"double": "gRate * 2", "chosen": "x > 6.0 ? gClock->ticks : -gClock->ticks", "mixed": "x + n * f - gScale",
				"arg": "f", "rounded": "(int)(gClock->rate * 2)",
				"name": `$threadName == "worker" ? 1.5 : 0.5`, "text": "s == gName", "null": "gNone->rate * 2",
				"guarded": "gNone != null && gNone->rate > 0.5",
				"result":  "$return * 10", "pointer": "x > 6.0 ? gClock : gNone", "short": `gRate > 100.0 && gNone->ticks == 1`,
			}
			sink := newSink(t)
			sink.tracing = &collector.Tracing{Probes: []collector.Probe{{Pattern: "half"}, {Pattern: "plain"}}}
			for label, src := range watches {
				sink.tracing.Watches = append(sink.tracing.Watches, collector.Watch{Label: label, Expr: src, On: []string{"half"}})
			}
			s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), nil, prog)
			s.flushUntil(t, "two calls", func() bool { return sink.exits["half"] == 2 })
			s.stdin.Close()
			s.wait(t)
			enters, exits := sink.watched("half")
			if len(enters) != 2 || len(exits) != 2 || sink.bad != "" {
				t.Fatalf("%d enters, %d exits, %s; status %+v", len(enters), len(exits), sink.bad, s.Status())
			}
			for _, w := range s.Status().Watches {
				if w.Functions != 1 || w.Err != nil {
					t.Errorf("watch %s in %d functions: %v", w.Label, w.Functions, w.Err)
				}
			}
			for i, want := range []map[string]string{
				{"double": "0.5", "chosen": "-7", "mixed": "6", "arg": "2.5", "rounded": "7", "text": "true",
					"null": "<unreadable>", "guarded": "false", "pointer": "null", "short": "false", "name": "0.5"},
				{"double": "1.5", "chosen": "7", "mixed": "7.5", "arg": "0.5", "rounded": "7", "text": "false",
					"null": "<unreadable>", "guarded": "false", "short": "false", "name": "1.5"},
			} {
				for label, text := range want {
					if got := shown(enters[i], label); got != text {
						t.Errorf("call %d: %s = %s, want %s", i, watches[label], got, text)
					}
				}
			}
			for i, want := range []map[string]string{{"double": "1.5", "rounded": "7", "result": "50"},
				{"double": "2.5", "rounded": "7", "result": "50"}} {
				for label, text := range want {
					if got := shown(exits[i], label); got != text {
						t.Errorf("exit %d: %s = %s, want %s", i, watches[label], got, text)
					}
				}
			}
			t.Logf("%v\n%v", enters, exits)
		})
	}
}

// flushUntil waits for events.
func (s *started) flushUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		if err := s.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.sink.mu.Lock()
		done := ok()
		s.sink.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// watched returns the watches of a function's events in order.
func (s *memorySink) watched(name string) (enters, exits []value.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind != event.FunctionEnter && e.Kind != event.FunctionExit || s.funcs[e.Func].Name != name {
			continue
		}
		if l := s.layouts[e.Func]; e.Kind == event.FunctionEnter {
			enters = append(enters, l.WatchValues(e.Payload, false))
		} else {
			exits = append(exits, l.WatchValues(e.Payload, true))
		}
	}
	return enters, exits
}

func shown(o value.Object, name string) string {
	for _, m := range o {
		if m.Name == name {
			return fmt.Sprint(m.Value)
		}
	}
	return "nothing"
}
