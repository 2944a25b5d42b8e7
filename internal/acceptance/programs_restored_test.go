package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// steady is a program that throws and catches through several frames on two threads until a file appears; then it
// writes what it counted to another, and ends.
const steady = `
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <unistd.h>
std::atomic<long> calls{0}, caught{0};
std::atomic<bool> throwing{false}, enough{false};
struct guard { ~guard() { calls++; } };
__attribute__((noinline)) int deep(int n) {
	guard g;
	if (n == 0) {
		if (throwing) throw std::runtime_error("deep");
		return 1;
	}
	return deep(n - 1) + 1;
}
__attribute__((noinline)) void round() {
	calls++;
	try {
		if (deep(5) != 6) abort();
	} catch (const std::runtime_error &) {
		caught++;
	}
}
__attribute__((noinline)) void outer() {
	while (!enough) { round(); usleep(200); }
	throw 1;
}
void work() {
	try { outer(); } catch (int) { caught++; }
}
int main(int argc, char **argv) {
	throwing = argv[3][0] == 't';
	std::thread a(work), b(work);
	puts("ready");
	while (access(argv[1], F_OK)) usleep(1000);
	throwing = true;
	long before = caught;
	while (caught < before + 5) usleep(100);
	enough = true;
	a.join(); b.join();
	FILE *f = fopen(argv[2], "w");
	fprintf(f, "%s\n", calls > 0 && caught >= before + 7 ? "ok" : "wrong");
	fclose(f);
	return 0;
}
`

// text is the code of one mapped file in a process.
type text struct {
	path         string
	lo, hi, from uint64
}

func (x text) String() string { return fmt.Sprintf("%s at %x", filepath.Base(x.path), x.lo) }

// readText reads all code of a process that comes from files.
func readText(t *testing.T, pid int) map[text][]byte {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	out := map[text][]byte{}
	for sc := bufio.NewScanner(maps); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 6 || f[1][2] != 'x' || !strings.HasPrefix(f[5], "/") || strings.HasPrefix(f[5], "/memfd:") {
			continue
		}
		lo, hi, _ := strings.Cut(f[0], "-")
		x := text{path: f[5]}
		for _, n := range []struct {
			to *uint64
			s  string
		}{{&x.lo, lo}, {&x.hi, hi}, {&x.from, f[2]}} {
			if *n.to, err = strconv.ParseUint(n.s, 16, 64); err != nil {
				t.Fatal(err)
			}
		}
		b := make([]byte, x.hi-x.lo)
		if _, err := mem.ReadAt(b, int64(x.lo)); err != nil {
			t.Fatalf("read %v: %v", x, err)
		}
		out[x] = b
	}
	return out
}

// sameText reports the places where the code of a process is not what it was.
func sameText(t *testing.T, when string, pid int, want map[text][]byte) {
	t.Helper()
	got := readText(t, pid)
	for x, b := range want {
		if !bytes.Equal(got[x], b) {
			t.Errorf("%s: %v differs at %s", when, x, differences(got[x], b))
		}
	}
}

func differences(got, want []byte) string {
	var at []string
	for i := 0; i < len(want) && i < len(got) && len(at) < 8; i++ {
		if got[i] != want[i] {
			at = append(at, fmt.Sprintf("%#x", i))
		}
	}
	return fmt.Sprintf("%v (%d bytes of %d)", at, len(got), len(want))
}

// asOnDisk compares code with the files that it comes from.
func asOnDisk(t *testing.T, code map[text][]byte) {
	t.Helper()
	if wrong := onDisk(t, code); wrong != "" {
		t.Error(wrong)
	}
}

// onDisk says where code is not what its file says.
func onDisk(t *testing.T, code map[text][]byte) (wrong string) {
	t.Helper()
	for x, b := range code {
		file, err := os.ReadFile(x.path)
		if err != nil {
			t.Fatal(err)
		}
		file = file[min(x.from, uint64(len(file))):]
		n := min(len(b), len(file)) // the rest of the last page
		if !bytes.Equal(b[:n], file[:n]) {
			wrong = fmt.Sprintf("%v is not what its file says: %s", x, differences(b[:n], file[:n]))
		}
	}
	return wrong
}

// TestTextRestored: when the last pattern is gone, and when a session ended without its program, every byte of code is
// what it was, the program goes on, and exceptions pass through functions that were hooked when they were entered.
func TestTextRestored(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	// its probes stand while the program is observed
	s := strobetest.Start(t, map[string]any{"output.recordWrites": "off"})
	for _, variant := range []string{"gcc-O0", "gcc-O2", "clang-O2", "gcc-O2-cet"} {
		for _, throws := range []string{"throws", "quiet"} {
			for _, first := range []string{"launched", "live"} {
				t.Run(variant+"/"+throws+"/"+first, func(t *testing.T) { restored(t, s, variant, throws, first == "launched") })
			}
		}
	}
}

func restored(t *testing.T, s *strobetest.Strobe, variant, throws string, atLaunch bool) {
	path := strobetest.BuildSource(t, "cpp", variant, "steady", steady, "-std=c++17")
	root, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	end, result := filepath.Join(dir, "end"), filepath.Join(dir, "result")
	extra := args{}
	if atLaunch {
		extra["trace"] = []string{"@usercode"}
	}
	l := s.Launch(t, path, root, []string{end, result, throws}, extra)
	s.Query(t, l.SessionID, args{"eventType": "stdout", "waitMs": 20000})
	var before map[text][]byte
	if !atLaunch {
		before = readText(t, l.PID)
		asOnDisk(t, before)
	}
	// Patterns come, calls are seen, patterns go.
	for round := range 3 {
		if round > 0 || !atLaunch {
			s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"@usercode"}}, nil)
		}
		seen := s.Query(t, l.SessionID, args{"eventType": "function_enter", "limit": 1, "function": args{"contains": "deep"},
			"waitMs": 20000, "timeFrom": "-50ms"})
		if len(seen.Events) == 0 {
			t.Fatal("saw no call")
		}
		if before != nil && round == 0 && !differs(readText(t, l.PID), before) {
			t.Error("code was not changed by a pattern: the test sees nothing")
		}
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"@usercode"}}, nil)
		if before == nil {
			before = readText(t, l.PID)
			asOnDisk(t, before)
		}
		// Calls that are under way keep the unwinder's hook for as long as they take.
		strobetest.Eventually(t, 2*time.Second, "all code to be what it was",
			func() bool { return !differs(readText(t, l.PID), before) })
	}
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": false}, nil)
	sameText(t, "after the stop", l.PID, before)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []byte
	strobetest.Eventually(t, endLimit, "the program's own end", func() bool {
		said, err = os.ReadFile(result)
		return err == nil && len(said) > 0
	})
	if string(said) != "ok\n" {
		t.Errorf("the program found %q", said)
	}
	strobetest.Eventually(t, endLimit, "the process to go", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", l.PID))
		return os.IsNotExist(err)
	})
}

func differs(a, b map[text][]byte) bool {
	for x := range b {
		if !bytes.Equal(a[x], b[x]) {
			return true
		}
	}
	return false
}
