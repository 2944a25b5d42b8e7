package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPauseNowTraced pauses threads that call traced functions all the time: none stands amid the recording of a call,
// every call is recorded, and the program comes to what it comes to untraced.
func TestPauseNowTraced(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const source = `
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>
static std::atomic<long> sum, calls;
static std::atomic<int> begun;
static volatile bool over;
__attribute__((noinline)) long twice(const std::string &text, long n) { return n + n + text.size(); }
static void turn(int k)
{
	std::string text(40, 'a' + k);
	long mine = 0, made = 0;
	if (++begun == 3) puts("ready"), fflush(stdout);
	while (!over || made < 1000) {
		long r = twice(text, made);
		for (volatile int i = 0; i < 3000; i = i + 1) { }
		mine += r != 2 * made + 40;
		made++;
	}
	sum += mine;
	calls += made;
}
int main()
{
	std::vector<std::thread> all;
	for (int k = 0; k < 3; k++) all.emplace_back(turn, k);
	for (auto &t : all) t.join();
	printf("total wrong %ld\n", sum.load());
	printf("total calls %ld\n", calls.load());
}
`
	d := debug(t, s, "gcc-O2", "turns", source, args{"trace": []string{"twice"}, "onFullBuffer": "block"})
	d.said("ready") // before, there are not all threads to pause
	for round := range 12 {
		r := d.next(args{"action": "pause"})
		if len(r.PausedThreads)+len(r.PausesLater) != 4 || len(r.PausedThreads) < 1 {
			t.Fatalf("round %d: %d paused, later %+v: %+v", round, len(r.PausedThreads), r.PausesLater, r)
		}
		for _, p := range r.PausedThreads {
			if text := fmt.Sprint(p.Backtrace); !strings.Contains(text, "turn (") && !strings.Contains(text, "main (") {
				t.Errorf("round %d: thread %d stands in %q", round, p.ThreadID, p.Backtrace)
			}
		}
		if r := d.next(args{"waitMs": 1}); r.Status != "running" {
			t.Fatalf("round %d: let go, it is %s: %+v", round, r.Status, r)
		}
	}
	if err := s.Try("debug_memory", args{"sessionId": d.id, "action": "write",
		"targets": []any{args{"variable": "over", "value": true}}}, nil); err != nil {
		t.Fatal(err)
	}
	d.said("total calls")
	out, calls := d.output(), int64(0)
	if _, rest, found := strings.Cut(out, "total calls "); !strings.Contains(out, "total wrong 0\n") || !found {
		t.Errorf("it wrote %q", out)
	} else if _, err := fmt.Sscan(rest, &calls); err != nil {
		t.Error(err)
	}
	var st struct {
		DroppedEvents int64
		Calls         struct{ Made, Recorded int64 }
	}
	strobetest.Eventually(t, endLimit, "all calls to be counted", func() bool {
		if err := s.Try("debug_session", args{"action": "status", "sessionId": d.id}, &st); err != nil {
			t.Fatal(err)
		}
		return st.Calls.Made >= calls
	})
	if st.Calls.Made != calls || st.DroppedEvents != 0 {
		t.Errorf("%d calls were made, counted are %+v", calls, st)
	}
}
