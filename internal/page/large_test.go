package page_test

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// manyThreads is a program that makes 1,728 calls in each round of each thread, and prints now and then.
const manyThreads = `
#include <cstdio>
#include <string>
#include <thread>
#include <vector>
namespace many {
volatile long sink;
long leaf(long n) { sink = n; return n + 1; }
long twig(long n) { return leaf(n) + leaf(n + 1); }
long branch(long n) { long s = 0; for (int i = 0; i < 4; i++) s += twig(n + i); return s; }
long tree(long n) { return branch(n) + branch(n + 8); }
void grow(int id, int rounds) {
  for (int i = 0; i < rounds; i++) {
    tree(id * 1000 + i);
    if (i % 500 == 0) { std::printf("%d at %d\n", id, i); std::fflush(stdout); }
  }
}
}
int main(int argc, char **argv) {
  int threads = std::stoi(argv[1]), rounds = std::stoi(argv[2]);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) all.emplace_back(many::grow, i, rounds);
  for (auto &t : all) t.join();
}
`

// Bounds of the page at 10,000,000 events in 64 lanes, on two cores without a graphics card.
const (
	firstPictureWithin = 300 * time.Millisecond
	framesPerSecond    = 30
	pageMemory         = 150 << 20
	searchWithin       = 200 * time.Millisecond
)

// TestLargePage measures the page on a recording as large as a session may be.
func TestLargePage(t *testing.T) {
	strobetest.Soak(t)
	s := strobetest.Start(t, map[string]any{"events.maxBytesPerSession": 4 << 30})
	bin := strobetest.BuildSource(t, "cpp", "gcc-O0", "many", manyThreads, "-pthread")
	small := s.Launch(t, bin, t.TempDir(), []string{"2", "3"}, args{"trace": []string{"many::**"}})
	s.WaitEnd(t, small.SessionID, time.Minute)
	l := s.Launch(t, bin, t.TempDir(), []string{"64", "2890"}, args{"trace": []string{"many::**"}})
	st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
	t.Logf("recorded %v", st.EventCount)
	ask := func(what string, a args) {
		t.Helper()
		a["sessionId"] = l.SessionID
		began := time.Now()
		s.Call(t, "debug_timeline", a, nil)
		t.Logf("%s: %d ms", what, time.Since(began).Milliseconds())
	}
	link := begin(t, s)
	link.Fragment = ""
	d := drive(t, link)
	var first struct{ MS, First float64 }
	picture := func(when string) {
		t.Helper()
		t.Logf("first picture %s: %.0f ms", when, first.First)
		if first.First > float64(firstPictureWithin.Milliseconds()) {
			t.Errorf("the first picture takes %.0f ms", first.First)
		}
	}
	d.open("s=" + url.QueryEscape(small.SessionID)) // the browser has begun to draw
	d.do(args{"do": "pictureOf", "state": "s=" + url.QueryEscape(l.SessionID)}, &first)
	picture("of a session that nobody has looked at")
	for range 3 {
		d.do(args{"do": "firstPicture"}, &first)
		picture("of one that somebody has looked at")
	}
	s.StopDaemon(t)
	s.Call(t, "debug_session", args{"action": "list"}, nil) // the next daemon
	d.do(args{"do": "firstPicture"}, &first)
	picture("from the file")
	ask("lanes", args{"action": "lanes"})
	ask("picture", args{"action": "picture", "lanes": []int{0, 1, 2, 3}})
	ask("flame graph, cold", args{"action": "flame"})
	ask("flame graph by calls", args{"action": "flame", "by": "count"})
	var search struct {
		MS    float64
		Found string
	}
	for _, text := range []string{"leaf", "tree", "no_such"} {
		d.do(args{"do": "search", "text": text}, &search)
		t.Logf("search for %q: %.0f ms, %s", text, search.MS, search.Found)
		if search.MS > float64(searchWithin.Milliseconds()) {
			t.Errorf("a search for %q takes %.0f ms", text, search.MS)
		}
	}
	d.open("s=" + url.QueryEscape(l.SessionID))
	var motion struct{ PerSecond, Median, P95, Worst float64 }
	d.do(args{"do": "motion", "seconds": 12}, &motion)
	t.Logf("zoom and pan: %.1f frames per second drawn; between frames %.1f ms in the middle, 95 %% in %.1f, "+
		"the worst %.0f",
		motion.PerSecond, motion.Median, motion.P95, motion.Worst)
	if motion.PerSecond < framesPerSecond || motion.P95 > 1000/framesPerSecond {
		t.Errorf("the page moves at %.1f frames per second", motion.PerSecond)
	}
	var used struct{ Held, Process float64 }
	d.do(args{"do": "memory"}, &used)
	t.Logf("the page holds %.1f MB; the browser's process for it has %.0f MB of its own", used.Held/1e6, used.Process/1e6)
	if used.Process > pageMemory {
		t.Errorf("the page's process has %.0f MB", used.Process/1e6)
	}
	f := d.openFlame("s=" + url.QueryEscape(l.SessionID))
	d.do(args{"do": "memory"}, &used)
	t.Logf("flame graph of %d nodes: the page holds %.1f MB; its process has %.0f MB", f.Nodes, used.Held/1e6,
		used.Process/1e6)
	if dir := os.Getenv("STROBE_SHOTS"); dir != "" {
		d.open("s=" + url.QueryEscape(l.SessionID))
		d.do(args{"do": "shot", "path": dir + "/large.png"}, nil)
	}
}
