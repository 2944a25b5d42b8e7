//go:build linux

package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// lastSource makes calls of mark, the last one with the number given, and then at once ends as asked.
const lastSource = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int *volatile nothing;
__attribute__((noinline)) void mark(long n) { __asm__ volatile("" : : "r"(n)); }
int main(int argc, char **argv) {
	long last = atol(argv[2]);
	for (long i = last - 5; i <= last; i++)
		mark(i);
	switch (argv[1][0]) {
	case 'c': *nothing = 1;
	case 'e': _exit(7);
	}
	if (write(1, "!", 1) != 1)
		return 1;
	for (;;)
		pause();
}
`

// lastRuns is how often each end is tried: STROBE_LAST_EVENTS, or a number that takes a few seconds.
func lastRuns(t *testing.T) int {
	if text := os.Getenv("STROBE_LAST_EVENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("STROBE_LAST_EVENTS: %v", err)
		}
		return n
	}
	if strobetest.Soaks(t, "12 of 20 runs of each kind") {
		return 20
	}
	return 8
}

// TestLastEvent looks for the last call before a crash, before exit_group, and before a SIGKILL that comes as soon as
// the program has said that it made the call.
func TestLastEvent(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "last", lastSource)
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	runs := lastRuns(t)
	for _, how := range []string{"crash", "exit", "killed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			numbers := make(chan int)
			var workers sync.WaitGroup
			for range 2 {
				workers.Go(func() {
					for n := range numbers {
						if err := lastEvent(t, s, path, cache, how, n); err != nil {
							t.Errorf("run %d: %v", n, err)
						}
					}
				})
			}
			for i := range runs {
				numbers <- 1000 + i
			}
			close(numbers)
			workers.Wait()
			t.Logf("%d runs", runs)
		})
	}
}

func lastEvent(t *testing.T, s *strobetest.Strobe, path, root, how string, n int) error {
	l := s.Launch(t, path, root, []string{how, strconv.Itoa(n)}, args{"trace": []string{"mark"}})
	if how == "killed" {
		said := s.Query(t, l.SessionID, args{"eventType": "stdout", "waitMs": 20000})
		if len(said.Events) == 0 {
			return fmt.Errorf("it has not said that it made its calls")
		}
		if err := syscall.Kill(l.PID, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill: %w", err)
		}
	}
	st := s.WaitEnd(t, l.SessionID, endLimit)
	defer s.Stop(t, l.SessionID)
	want := map[string]string{"crash": "SIGSEGV", "killed": "SIGKILL"}[how]
	if st.Signal != want || how == "exit" && (st.ExitCode == nil || *st.ExitCode != 7) || st.DroppedEvents != 0 {
		return fmt.Errorf("ended as %+v", st)
	}
	page := s.Query(t, l.SessionID, args{"eventType": []string{"function_enter", "function_exit"}, "verbose": true})
	if len(page.Events) != 12 {
		return fmt.Errorf("%d of 12 events are there", len(page.Events))
	}
	var args struct{ N int }
	if err := json.Unmarshal(page.Events[10].Arguments, &args); err != nil || args.N != n ||
		page.Events[11].EventType != "function_exit" || page.Events[11].Unwound {
		return fmt.Errorf("the last call is %s with %s, then %s (%v)", page.Events[10].Function, page.Events[10].Arguments,
			page.Events[11].EventType, err)
	}
	if how != "crash" {
		return nil
	}
	crashes := crashesOf(t, s, l.SessionID)
	if len(crashes) != 1 || len(crashes[0].LastEvents.Thread) != 12 ||
		!strings.Contains(crashes[0].LastEvents.Thread[10], fmt.Sprintf("mark(n=%d)", n)) {
		return fmt.Errorf("crashes %+v", crashes)
	}
	return nil
}
