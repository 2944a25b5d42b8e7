//go:build linux

package acceptance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// napping has threads that sleep in the kernel most of the time, and call then.
const napping = `#include <pthread.h>
#include <stdio.h>
#include <time.h>
static long sum;
__attribute__((noinline)) long work(long i, long who)
{
	return i * 3 + who;
}
static long rounds;
static void *run(void *p)
{
	struct timespec nap = {0, 20000};
	long mine = 0;
	for (long i = 0; i < rounds; i++) {
		nanosleep(&nap, 0);
		for (long k = 0; k < 20; k++) mine += work(i * 20 + k, (long)p);
	}
	__atomic_fetch_add(&sum, mine, __ATOMIC_RELAXED);
	return 0;
}
int main(void)
{
	char line[64] = "";
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%ld", &rounds) == 1) {
		pthread_t t[8];
		for (long k = 0; k < 8; k++) pthread_create(&t[k], 0, run, (void *)k);
		for (long k = 0; k < 8; k++) pthread_join(t[k], 0);
		printf("total %ld\n", sum);
		fflush(stdout);
	}
}
`

// TestPointsStayWhileOthersChange: a point misses nobody while another one comes to its place and goes, also not a
// thread that was in the kernel when the program was halted for it.
func TestPointsStayWhileOthersChange(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const rounds, toggles = 5000, 60
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "napping", napping)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe", "onFullBuffer": "block"})
	d := &debugged{t, s, l.SessionID}
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d.points(args{"add": []any{args{"function": "work", "message": "{who} {i}", "condition": "i % 25 == 2"}}})
	d.input(fmt.Sprintln(rounds))
	for range toggles {
		r := d.points(args{"add": []any{args{"function": "work", "condition": "who > 20"}}})
		d.points(args{"remove": r.Added})
	}
	d.output()
	seen := map[string]int{}
	for _, e := range d.all("logpoint") {
		seen[fmt.Sprint(e["message"])]++
	}
	const want = 8 * rounds * 20 / 25
	if hits := d.points(args{}).Logpoints[0].Hits; len(seen) != want || hits != want {
		t.Errorf("%d different messages, %d hits, want %d", len(seen), hits, want)
	}
}
