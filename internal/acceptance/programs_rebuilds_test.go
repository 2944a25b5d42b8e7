package acceptance

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const (
	rebuilds = 500
	// heldMost is what the daemon may hold beside the program that runs at present, in memory and on disk.
	heldMost = 200 << 20
)

// TestSoakRebuilds has a program of 20 MB built anew and traced, 500 times or for as long as STROBE_SOAK says: the
// daemon's memory, the files of old builds that it keeps from being deleted, and its folder stay small. Keeps out:
// builds that stayed mapped, 703 MB of 160.
func TestSoakRebuilds(t *testing.T) {
	limit := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	dir := t.TempDir()
	gcc := func(args ...string) {
		t.Helper()
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var code strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&code, "struct s%d { int a; double b[%d]; struct s%d *next; };\nint large_%d(struct s%d *s) { return s "+
			"? s->a + %d : 0; }\n", i, i%7+1, i, i, i, i)
	}
	write("large.c", code.String()+"__asm__(\".section .rodata\\n.fill 19 << 20, 1, 7\\n.text\");\n")
	gcc("-g", "-O0", "-c", "large.c")
	s := strobetest.Start(t, nil)
	started, n := time.Now(), 0
	var held [3]int64
	for ; n < rebuilds && time.Since(started) < limit; n++ {
		write("main.c", fmt.Sprintf("#include <stdio.h>\nint large_7(void *);\nint build(int n) { return n + large_7(0); "+
			"}\nint main(void) { printf(\"%%d\\n\", build(%d)); return 0; }\n", n))
		gcc("-g", "-O0", "-o", "program", "main.c", "large.o")
		l := s.Launch(t, filepath.Join(dir, "program"), dir, nil, args{"trace": []string{"build", "large_7"}})
		s.WaitEnd(t, l.SessionID, endLimit)
		if out := s.Output(t, l.SessionID, "stdout"); out != fmt.Sprintf("%d\n", n) ||
			s.Count(t, l.SessionID, "function_exit", "build") != 1 {
			t.Fatalf("build %d wrote %q, or its call is not there", n, out)
		}
		s.Stop(t, l.SessionID)
		if n%25 == 24 {
			held = heldBy(t, s, dir)
			t.Logf("%d builds: %d MB of memory, %d MB of deleted files, %d MB on disk", n+1, held[0]>>20, held[1]>>20,
				held[2]>>20)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "program"))
	if err != nil || info.Size() < 20<<20 {
		t.Errorf("the program has %d bytes", info.Size())
	}
	strobetest.Eventually(t, endLimit, "what is held to be little", func() bool {
		held = heldBy(t, s, dir)
		return held[0]+held[1]+held[2] < heldMost
	})
	t.Logf("%d builds of %d bytes: %d MB of memory, %d MB of deleted files, %d MB on disk", n, info.Size(), held[0]>>20,
		held[1]>>20, held[2]>>20)
}

var (
	residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)
	deletedMap   = regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .* (/\S+) \(deleted\)$`)
)

// heldBy is what a daemon has in memory, what of deleted files of a folder it keeps on the disk, and what its own
// folder takes there.
func heldBy(t *testing.T, s *strobetest.Strobe, dir string) (held [3]int64) {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(daemon.HolderPID(s.Home)))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	m := residentLine.FindSubmatch(status)
	if err != nil || m == nil {
		t.Fatalf("read the daemon's status: %v", err)
	}
	kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
	held[0] = kb << 10
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range deletedMap.FindAllStringSubmatch(string(maps), -1) {
		lo, _ := strconv.ParseInt(m[1], 16, 64)
		hi, _ := strconv.ParseInt(m[2], 16, 64)
		if strings.HasPrefix(m[3], dir) {
			held[1] += hi - lo
		}
	}
	err = filepath.WalkDir(s.Home, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // deleted meanwhile
		}
		if info, err := d.Info(); err == nil {
			held[2] += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}
