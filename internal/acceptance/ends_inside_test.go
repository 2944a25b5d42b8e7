package acceptance

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// leavers ends by exit below main, and has a thread that ends below its first function; g is left by a longjmp, and f
// crashes if asked to.
const leavers = `
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf back;
__attribute__((noinline)) void g(int n) { if (n) longjmp(back, 1); __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void h(int n) { if (n) pthread_exit(0); __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void f(int n) { if (n > 1) *(volatile int *)8 = n; exit(0); }
static void *thread(void *a) { h(1); return a; }
int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	if (!setjmp(back)) g(1);
	f(argc);
}
`

// TestEndedInside: a call in which the program or its thread ends by itself is no error; one that is jumped out of, or
// in which it crashes, is.
func TestEndedInside(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "leavers", leavers, "-pthread", "-w")
	for _, r := range []struct {
		argv   []string
		errors map[string]string
		tree   []string
	}{
		{nil, map[string]string{"main": "0", "f": "0", "h": "0", "g": "1"},
			[]string{`main\(.*■ ended in it`, `f\(.*■ ended in it`, `h\(.*■ ended in it`, `g\(.*✗ unwound`}},
		{[]string{"x"}, map[string]string{"main": "1", "f": "1", "h": "0", "g": "1"},
			[]string{`f\(.*✗ unwound`, `h\(.*■ ended in it`}},
	} {
		l := s.Launch(t, path, filepath.Dir(path), r.argv, args{"trace": []any{"main", "f", "g", "h"}})
		s.WaitEnd(t, l.SessionID, time.Minute)
		stats := s.Query(t, l.SessionID, args{"view": "stats"})
		for name, want := range r.errors {
			row := regexp.MustCompile(`(?m)^` + name + ` +1 +(\d+) `).FindStringSubmatch(stats.Stats)
			if row == nil || row[1] != want {
				t.Errorf("%v: %s should have 1 call and %s errors:\n%s", r.argv, name, want, stats.Stats)
			}
		}
		tree := s.Query(t, l.SessionID, args{"view": "tree"}).Tree
		for _, want := range r.tree {
			if !regexp.MustCompile(want).MatchString(tree) {
				t.Errorf("%v: no %s in\n%s", r.argv, want, tree)
			}
		}
		s.Stop(t, l.SessionID)
	}
}
