package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// racingProgram writes its variables from eight threads at once, each value once, and counts what is lost.
const racingProgram = `#include <pthread.h>
#include <cstdio>
long stored, added, counted, swapped, *nothing;
static thread_local volatile long own;
static pthread_barrier_t barrier;
static void *run(void *arg) {
	long id = (long)arg;
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < 30; i++) {
		own = i;
		__atomic_store_n(&stored, id * 1000 + i + 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&added, 3, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&counted, 1, __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&swapped, id * 1000 + i + 1, __ATOMIC_SEQ_CST);
	}
	return nullptr;
}
int main() {
	pthread_t t[8];
	pthread_barrier_init(&barrier, nullptr, 8);
	for (long i = 0; i < 8; i++) pthread_create(&t[i], nullptr, run, (void *)i);
	for (auto &x : t) pthread_join(x, nullptr);
	printf("total %ld %ld\n", added, counted);
}
`

// TestAccesses watches reads and writes, the kernel's write among them, which only the next read shows.
func TestAccesses(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "accessed", `#include <cstdio>
#include <unistd.h>
int value;
int main() {
	int fd[2], five = 5, sum = 0;
	value = 2;
	value = 2;
	sum += value;
	if (pipe(fd) || write(fd[1], &five, sizeof five) < 0 || read(fd[0], &value, sizeof value) < 0) return 1;
	sum += value;
	value++;
	printf("total %d\n", sum);
}
`, map[string]any{"stopOnEntry": true})
	d.points(args{"add": []any{args{"variable": "value", "access": "readwrite"}}})
	d.next(args{})
	var got []string
	for _, e := range d.events("variable_write") {
		got = append(got, fmt.Sprint(e["access"], " ", e["oldValue"], ">", e["newValue"], " ", e["note"] != nil))
	}
	want := "write 0>2 false, write 2>2 false, read 2>2 false, read 2>5 true, read 5>5 false, write 5>6 false"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("accesses %s, want %s", text, want)
	}
}

// Of writes that several threads make at once, those whose value another one has overwritten when the thread stops had
// no event.
func TestWritesOfThreadsAtOnce(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		d := debug(t, s, variant, "racing", racingProgram, map[string]any{"stopOnEntry": true})
		if r := d.points(args{"add": []any{args{"variable": "own"}}}); !strings.Contains(r.Breakpoints[0].Note,
			"each thread has its own") {
			t.Errorf("%s: a thread-local variable: %+v", variant, r)
		}
		d.points(args{"remove": []string{"all"}})
		refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"variable": "*nothing"}}}, "READ_FAILED",
			"0x0")
		refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"variable": "stored", "thread": 1}}},
			"NOT_PAUSED", "stored")
		d.points(args{"add": []any{args{"variable": "stored"}, args{"variable": "added"}, args{"variable": "counted"},
			args{"variable": "swapped"}}})
		d.next(args{"waitMs": 60000})
		s.WaitEnd(t, d.id, endLimit)
		if out := d.output(); out != "total 720 240\n" {
			t.Errorf("%s: output %q", variant, out)
		}
		for _, v := range d.points(args{}).Breakpoints {
			if v.Hits != 240 || v.Note != "" {
				t.Errorf("%s: %+v, want 240 writes", variant, v)
			}
		}
		values := map[string]map[string]int{}
		for after := 0.0; ; {
			var page struct {
				Events      []map[string]any
				HasMore     bool
				LastEventID float64
			}
			s.Call(t, "debug_query", args{"sessionId": d.id, "eventType": "variable_write", "limit": 500, "afterEventId": after},
				&page)
			for _, e := range page.Events {
				name := fmt.Sprint(e["variable"])
				if values[name] == nil {
					values[name] = map[string]int{}
				}
				if note := fmt.Sprint(e["note"]); !strings.Contains(note, "at the same time") {
					values[name][fmt.Sprint(e["newValue"])]++
				}
			}
			if after = page.LastEventID; !page.HasMore {
				break
			}
		}
		for _, name := range []string{"stored", "added", "counted", "swapped"} {
			if n := len(values[name]); n != 240 {
				t.Errorf("%s: %s had %d values, want 240: %v", variant, name, n, values[name])
			}
		}
	}
}
