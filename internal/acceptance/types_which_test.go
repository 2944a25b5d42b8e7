package acceptance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const whichProgram = `#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
struct Lock { int held; struct Lock *next; } first = {1, 0}, second = {1, &first};
__attribute__((noinline)) int enter(struct Lock *l, int n) { asm volatile("" : : "g"(l) : "memory"); return n + l->held; }
__attribute__((noinline)) void probe(long n) { asm volatile("" : : "g"(n) : "memory"); }
int main() {
	int sum = 0;
	for (int i = 0; i < 4; i++) sum += enter(i % 2 ? &first : &second, i);
	struct sockaddr_in a = {}, peer = {}; socklen_t n = sizeof a;
	a.sin_family = AF_INET; a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 1) || getsockname(l, (struct sockaddr *)&a, &n)) return 3;
	probe(ntohs(a.sin_port));
	connect(c, (struct sockaddr *)&a, sizeof a);
	int s = accept4(l, (struct sockaddr *)&peer, &n, 0);
	probe(getpid());
	return sum != 10 || s < 0;
}
`

// TestWhichObject: calls that differ only in which object they are about are told apart where that is asked for: in
// every view, and by a filter; and registers are watched, of functions without debug information, too.
func TestWhichObject(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "which", whichProgram)
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true})
	defer s.Stop(t, l.SessionID)
	trace := func(expr string) error {
		return s.Try("debug_trace", args{"sessionId": l.SessionID, "add": []string{"enter", "probe", "getpid"},
			"watches": args{"add": []args{{"expr": expr}}}}, nil)
	}
	for _, expr := range []string{"$rdi", "$rax", "$rsi + 1"} {
		if err := trace(expr); err != nil {
			t.Fatalf("watch %s: %v", expr, err)
		}
	}
	for _, expr := range []string{"$rbx", "$rip + 1"} {
		if err := trace(expr); err == nil || !strings.HasPrefix(err.Error(), "WATCH_FAILED: ") ||
			!strings.Contains(err.Error(), "$rdi") {
			t.Errorf("watch %s: %v", expr, err)
		}
	}
	if err := s.Try("debug_trace", args{"sessionId": l.SessionID, "add": []string{"connect", "accept4"},
		"captureOut": true}, nil); err != nil {
		t.Fatal(err)
	}
	s.Call(t, "debug_continue", args{"sessionId": l.SessionID}, nil)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Fatalf("ended as %+v", st)
	}
	which := args{"eventType": "function_enter", "function": args{"equals": "enter"}, "verbose": true, "addresses": true}
	seen, watched := map[string]int{}, 0
	for _, e := range s.Query(t, l.SessionID, which).Events {
		var a struct {
			L struct {
				At   string `json:"$address"`
				Next *struct {
					At string `json:"$address"`
				}
			}
		}
		var w map[string]int64
		if json.Unmarshal(e.Arguments, &a) != nil || json.Unmarshal(e.Watches, &w) != nil {
			t.Fatalf("%s, watches %s", e.Arguments, e.Watches)
		}
		seen[a.L.At]++
		if a.L.Next != nil {
			seen["next "+a.L.Next.At]++
		}
		if w["$rdi"] > 1<<32 && len(w) == 3 {
			watched++
		}
	}
	if len(seen) != 3 || watched != 4 {
		t.Errorf("objects %v, want two of two calls and what one leads to; registers of %d calls", seen, watched)
	}
	for at, calls := range seen {
		page := s.Query(t, l.SessionID, args{"eventType": "function_enter",
			"argument": args{"name": "l.$address", "equals": at}})
		if !strings.HasPrefix(at, "next") && (page.TotalCount != 2 || calls != 2) {
			t.Errorf("calls on %s: %d, want 2", at, page.TotalCount)
		}
	}
	if tree := s.Query(t, l.SessionID, args{"view": "tree", "addresses": true}).Tree; strings.Count(tree, "$address") < 2 {
		t.Errorf("no addresses in %s", tree)
	}
	if page := s.Query(t, l.SessionID, args{"eventType": "function_enter", "function": args{"contains": "getpid"},
		"verbose": true}); len(page.Events) != 1 ||
		!strings.Contains(string(page.Events[0].Watches), `"$rdi":`) {
		t.Errorf("a function of the C library: %+v", page.Events)
	}
}
