package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stepForking = `#include <csetjmp>
#include <cstdio>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile bool done;
static int children, wrong;
static void *forks(void *) {
  while (!done) {
    pid_t pid = fork();
    if (pid == 0) {
      jmp_buf back;
      volatile int n = 0;
      if (setjmp(back) == 0) longjmp(back, 1);
      try { throw 7; } catch (int v) { n = v; }
      _exit(n);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    children++;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) wrong++;
  }
  return nullptr;
}
static int twice(int n) { return 2 * n; }
int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, forks, nullptr);
  long sum = 0;
  for (int i = 0; i < STEPS; i++) // begins
    sum += twice(i); // steps
  done = true;
  pthread_join(thread, nullptr);
  printf("%ld, %d of %s children wrong\n", sum, wrong, children > 0 ? "some" : "no");
  return 0;
}
`

// TestForksWhileStepping: while a step runs, int3s of ours stand at longjmp and the unwinder. A child that is forked
// just when they are taken out has them in its memory still, and met them for ever.
func TestForksWhileStepping(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const steps = 60
	source := strings.Replace(stepForking, "STEPS", fmt.Sprint(steps), 1)
	s := strobetest.Start(t, nil)
	d := stepped(t, s, "stepforks", source, args{}, "// begins")
	for range steps {
		d.resume("step-over", "// steps", source)
		d.resume("step-over", "// begins", source)
	}
	var st standing
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "continue", "waitMs": 1000}, &st)
	s.WaitEnd(t, d.id, endLimit)
	if out, want := s.Output(t, d.id, "stdout"),
		fmt.Sprintf("%d, 0 of some children wrong\n", steps*(steps-1)); out != want {
		t.Errorf("it wrote %q, want %q", out, want)
	}
}
