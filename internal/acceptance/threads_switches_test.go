package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// Two threads hand a byte to each other so many times. They say what the kernel counted; then the
// first one sleeps.
const handing = `
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int there[2], back[2], times;

static void counted(const char *who) {
	char line[200];
	FILE *f = fopen("/proc/thread-self/status", "r");
	long all = 0;
	while (fgets(line, sizeof line, f))
		if (strstr(line, "ctxt_switches")) all += atol(strchr(line, ':') + 1);
	fclose(f);
	printf("%s %ld\n", who, all);
}

static void *other(void *arg) {
	char c;
	for (int i = 0; i < times; i++) {
		if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1) abort();
	}
	counted("other");
	return arg;
}

static void rest(void) { sleep(600); }

int main(int argc, char **argv) {
	char c = 'x';
	pthread_t t;
	times = atoi(argv[1]);
	if (pipe(there) || pipe(back)) return 1;
	pthread_create(&t, NULL, other, NULL);
	for (int i = 0; i < times; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) return 1;
	pthread_join(t, NULL);
	counted("first");
	fflush(stdout);
	rest();
	return 0;
}
`

// switchRow is a thread's line of view threads.
var switchRow = regexp.MustCompile(`(?m)^(\S+) (\S+) (\S+) (\d+) handing (\d+)(.*)$`)

// TestSwitches: with @switches every switch of every thread is recorded, as the kernel counts them, and why a long wait
// was; exports have the lanes.
func TestSwitches(t *testing.T) {
	t.Parallel()
	program := strobetest.BuildSource(t, "c", "gcc-O2", "handing", handing, "-pthread")
	s := strobetest.Start(t, nil)
	const times = 10_000
	l := s.Launch(t, program, filepath.Dir(program), []string{strconv.Itoa(times)}, args{"trace": []string{"@switches"}})
	var rows [][]string
	strobetest.Eventually(t, 60*time.Second, "both threads, and why the first one waits", func() bool {
		var out struct{ Text string }
		s.Call(t, "debug_query", args{"sessionId": l.SessionID, "view": "threads"}, &out)
		rows = switchRow.FindAllStringSubmatch(out.Text, -1)
		return len(rows) == 2 && strings.Contains(out.Text, "sleep in rest (handing.c:")
	})
	counted := map[string]int{}
	for line := range strings.Lines(s.Output(t, l.SessionID, "stdout")) {
		var who string
		var n int
		if _, err := fmt.Sscan(line, &who, &n); err == nil {
			counted[who] = n
		}
	}
	for _, row := range rows {
		who := "other"
		if row[5] == strconv.Itoa(l.PID) {
			who = "first"
		}
		// a switch or two come after the kernel was asked, and some before the program is ours
		got, _ := strconv.Atoi(row[4])
		if want := counted[who]; want < times/2 || got < want*99/100-20 || got > want*101/100+20 {
			t.Errorf("%s has %d switches, the kernel counted %d", who, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	strobeIn(t, s, "export", l.SessionID, "--format", "chrome", "-o", file)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Cat string
			Dur       float64
		}
	}
	if err := json.Unmarshal(b, &trace); err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, e := range trace.TraceEvents {
		if e.Cat == "cpu" {
			sums[e.Name] += e.Dur
		}
	}
	if d, err := time.ParseDuration(rows[0][1]); err != nil || sums["running"]*1000 < float64(d) {
		t.Errorf("lanes: %v, and the first row's %v", sums, rows[0][1])
	}
}
