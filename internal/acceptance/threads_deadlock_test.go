package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stuckProgram = `
#include <pthread.h>
static pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER, stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *sell(void *p) {
	pthread_mutex_lock(&orders);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&stock);
	return 0;
}
static void *refill(void *p) {
	pthread_mutex_lock(&stock);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&orders);
	return 0;
}
int main(void) {
	pthread_t a, b;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&a, 0, sell, 0);
	pthread_create(&b, 0, refill, 0);
	pthread_join(a, 0);
	return 0;
}
`

// TestThreadsNameADeadlock: a client that asks for threads reads the deadlock in one sentence; people see the same.
func TestThreadsNameADeadlock(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "shop.c"), filepath.Join(dir, "shop")
	if err := os.WriteFile(src, []byte(stuckProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-pthread", src, "-o", prog).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := strobetest.Start(t, nil)
	var l strobetest.Launched
	s.Call(t, "debug_launch", map[string]any{"command": prog, "projectRoot": dir, "trace": []string{"@usercode"}}, &l)
	var st struct {
		Threads []struct {
			ThreadID   int      `json:"threadId"`
			State      string   `json:"state"`
			Backtrace  []string `json:"backtrace"`
			WaitingFor struct {
				Kind  string `json:"kind"`
				Name  string `json:"name"`
				Owner int    `json:"owner"`
			} `json:"waitingFor"`
		} `json:"threads"`
		ThreadCount int `json:"threadCount"`
		Deadlocks   []struct {
			Text    string `json:"text"`
			Blocked int    `json:"blocked"`
		} `json:"deadlocks"`
		Warnings []string `json:"warnings"`
	}
	status := map[string]any{"action": "status", "sessionId": l.SessionID, "threads": true}
	strobetest.Eventually(t, 20*time.Second, "a deadlock", func() bool {
		s.Call(t, "debug_session", status, &st)
		return len(st.Deadlocks) > 0
	})
	d := st.Deadlocks[0]
	for _, w := range []string{"sell (shop.c:8) for mutex stock", "refill (shop.c:14) for mutex orders"} {
		if !strings.Contains(d.Text, w) {
			t.Errorf("%q does not say %q", d.Text, w)
		}
	}
	if st.ThreadCount != 3 || len(st.Threads) != 3 || d.Blocked != 1 || st.Threads[0].WaitingFor.Kind != "join" ||
		st.Threads[0].WaitingFor.Owner != st.Threads[1].ThreadID {
		t.Errorf("threads %+v, deadlock %+v, want main joining the first and blocked by it", st, d)
	}
	for _, args := range [][]string{nil, {l.SessionID}, {fmt.Sprint(l.PID)}} {
		code, out := strobe(t, s.Home, "", append([]string{"threads"}, args...)...)
		if code != 0 || !strings.Contains(out, d.Text) || !strings.Contains(out, "waiting for join of thread") {
			t.Errorf("strobe threads %v: exit %d\n%s", args, code, out)
		}
	}
	if code, out := strobe(t, s.Home, "", "threads", "1"); code != 2 ||
		!strings.Contains(out, "no running session has process 1") {
		t.Errorf("strobe threads 1: exit %d\n%s", code, out)
	}
	s.Call(t, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID, "retain": true}, nil)
	st.Threads, st.Warnings = nil, nil
	s.Call(t, "debug_session", status, &st)
	if len(st.Threads) != 0 || len(st.Warnings) == 0 || !strings.Contains(st.Warnings[0], "ended") {
		t.Errorf("an ended session: %+v", st)
	}
	if code, out := strobe(t, s.Home, "", "threads"); code != 1 || !strings.Contains(out, "no session runs") {
		t.Errorf("strobe threads with none running: exit %d\n%s", code, out)
	}
}
