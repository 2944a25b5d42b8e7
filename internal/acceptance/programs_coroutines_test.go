package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const coroutinesSource = `#include <ucontext.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
const int n = 6;
static ucontext_t mainc, cs[n];
static int cur;
int risky(int k) { char big[6000]; big[k] = 1; if (k % 3 == 0) throw std::runtime_error("x"); return k + big[k]; }
int guarded(int k) { try { return risky(k); } catch (std::exception &) { return -k; } }
void yield_() { int me = cur; swapcontext(&cs[me], &mainc); cur = me; }
int work(int id, int k) { int r = guarded(k); yield_(); return r + id; }
void body(int id) { int t = 0; for (int k = 0; k < 10; k++) t += work(id, k); std::printf("%d: %d\n", id, t); }
int main() {
  char *pool = (char *)malloc(n * 65536);
  for (int i = 0; i < n; i++) {
    getcontext(&cs[i]);
    cs[i].uc_stack.ss_sp = pool + i * 65536; cs[i].uc_stack.ss_size = 65536; cs[i].uc_link = &mainc;
    makecontext(&cs[i], (void (*)())body, 1, i);
  }
  for (int r = 0; r <= 10; r++) for (int i = 0; i < n; i++) { cur = i; swapcontext(&mainc, &cs[i]); }
  for (int i = 0; i < 50; i++) guarded(i);
}
`

// TestStacksCloseTogether: calls on coroutines' stacks that lie side by side on the heap were told as left by an
// exception whenever a coroutine on a higher stack went on: 105 of these 126. Those that throw still are.
func TestStacksCloseTogether(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "coroutines", coroutinesSource, "body", "work", "yield_", "guarded", "risky")
	for _, row := range strings.Split(s.Query(t, id, args{"view": "stats"}).Stats, "\n")[1:] {
		f := strings.Fields(row)
		want := map[string]string{"body": "6 0", "work": "60 0", "yield_": "60 0", "guarded": "110 0", "risky": "110 41"}
		if len(f) > 2 && f[1]+" "+f[2] != want[f[0]] {
			t.Errorf("%s: calls and errors %s %s, want %s", f[0], f[1], f[2], want[f[0]])
		}
	}
}
