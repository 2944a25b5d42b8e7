package testrun

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/stuck"
)

// TestTree ends a process with what it began, also where a parent has ended before.
func TestTree(t *testing.T) {
	strobetest.NeedCommand(t, "sh", "setsid")
	// Of one shell, one that has ended, and one in a session of its own, whose parent ends as soon as its input does.
	cmd := exec.Command("sh", "-c", "(sh -c 'sleep 1000 & sleep 1001' &) ; (setsid sh -c 'sleep 1003 & exec sleep 1004' "+
		"& read _) & exec sleep 1002")
	group(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[2] = "exec 3<&0; " + strings.Replace(cmd.Args[2], "read _", "read _ <&3", 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	f := newFamily(cmd.Process.Pid, []string{"dash", "sh", "bash"}, func(string) {})
	sleeps := func(all []stuck.Process) map[string]int {
		pids := map[string]int{}
		for _, m := range all {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.PID)); err == nil &&
				bytes.HasPrefix(b, []byte("sleep\x00")) {
				pids[strings.Trim(string(b[6:]), "\x00")] = m.PID
			}
		}
		return pids
	}
	strobetest.Eventually(t, 10*time.Second, "whoever has a parent, in whatever session", func() bool {
		now := sleeps(f.Now())
		return now["1002"] != 0 && now["1003"] != 0 && now["1004"] != 0
	})
	input.Close()
	var found map[string]int
	strobetest.Eventually(t, 10*time.Second, "all, with the two in the background, and those that lost their parent",
		func() bool {
			found = sleeps(f.Every())
			return len(found) == 5
		})
	if now := f.Now(); len(now) != 5 || len(sleeps(now)) != 5 {
		t.Errorf("without the shells, and once they are known, there are %+v", now)
	}
	all := f.byDepth()
	f.end()
	for _, m := range all {
		strobetest.Eventually(t, 10*time.Second, "each to be gone", func() bool {
			now := stuck.ReadProcess(m.PID)
			return now == nil || now.State == 'Z'
		})
	}
}

// TestFamilyIsFollowed: a process that becomes another program is judged by that; nobody else's is taken for one of the
// family; what computes is known again by one look; and only a scan finds who has no parent and was never seen with
// one.
func TestFamilyIsFollowed(t *testing.T) {
	strobetest.NeedCommand(t, "sh")
	cmd := exec.Command("sh", "-c", "read _; (sleep 1000 &) ; exec sh -c 'read _; exec sleep 1001'")
	group(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	f := newFamily(cmd.Process.Pid, []string{"dash", "sh", "bash"}, func(string) {})
	defer f.end()
	if now := f.Now(); len(now) != 0 || !f.known[f.root].driver {
		t.Errorf("a shell that waits: %+v", now)
	}
	io.WriteString(input, "\n") //nolint:errcheck // seen below
	shell := f.known[f.root].Image
	strobetest.Eventually(t, 10*time.Second, "the next shell, and a sleep whose parent has ended", func() bool {
		r := stuck.ReadProcess(f.root)
		return r != nil && r.Image != shell && len(stuck.Children(f.root)) == 0
	})
	if now := f.Now(); childLists() && len(now) != 0 {
		t.Errorf("without a scan: %+v", now)
	}
	strobetest.Eventually(t, 10*time.Second, "the sleep", func() bool { return len(f.Every()) == 1 })
	io.WriteString(input, "\n") //nolint:errcheck // seen below
	strobetest.Eventually(t, 10*time.Second, "the program that the shell became", func() bool { return len(f.Now()) == 2 })
	for pid := range f.known {
		if r := f.known[pid]; r.Group != f.root {
			t.Errorf("of another family: %+v", r)
		}
	}

	strobetest.Eventually(t, 10*time.Second, "nothing to compute any more",
		func() bool { _, busy := f.Busy(); return !busy })
	loop := exec.Command("sh", "-c", "while :; do :; done")
	group(loop)
	if err := loop.Start(); err != nil {
		t.Fatal(err)
	}
	defer loop.Wait() //nolint:errcheck // it was killed
	g := newFamily(loop.Process.Pid, nil, func(string) {})
	defer g.end()
	strobetest.Eventually(t, 10*time.Second, "who computes",
		func() bool { _, busy := g.Busy(); return len(g.Now()) == 1 && busy })
}

// TestStrays: a process of a session of its own, whose parents have ended before anybody looked, is looked at and never
// ended; nor is one of another run, or of another environment, taken for it.
func TestStrays(t *testing.T) {
	strobetest.NeedCommand(t, "sh", "setsid", "env")
	dir, other := t.TempDir(), t.TempDir()
	cmd := exec.Command("sh", "-c", "for go in . "+other+
		" /proc; do (cd $go; setsid sh -c 'sleep 1008 >&- & echo $!'); done; env -i setsid sh -c 'sleep 1008 >&- & echo "+
		"$!'; exec sleep 1009")
	cmd.Dir = dir
	group(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	var pids [4]int
	if _, err := fmt.Fscan(out, &pids[0], &pids[1], &pids[2], &pids[3]); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		defer syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it is there
	}
	strobetest.Eventually(t, 10*time.Second, "their parents to have ended, and the sleep", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		return err == nil && bytes.HasPrefix(b, []byte("sleep\x00")) && len(stuck.Children(cmd.Process.Pid)) == 0
	})
	f := newFamily(cmd.Process.Pid, nil, func(string) {})
	f.elsewhere = func(dir string) bool { return dir == other }
	if now := f.Now(); childLists() && len(now) != 1 {
		t.Errorf("without a scan: %+v", now)
	}
	all := f.Every()
	if got := stuck.PIDs(all); len(all) != 2 || !slices.Contains(got, cmd.Process.Pid) || !slices.Contains(got, pids[0]) {
		t.Errorf("%+v, want %d and %d", all, cmd.Process.Pid, pids[0])
	}
	if len(f.Now()) != 2 {
		t.Error("a stray that is known is not looked at")
	}
	f.end()
	if r := stuck.ReadProcess(pids[0]); r == nil || r.State == 'Z' || r.State == 'T' {
		t.Errorf("a stray was ended: %+v", r)
	}
}

func TestWords(t *testing.T) {
	if got, want := shellLine([]string{"A=b c"}, []string{"go", "test", "-run", "^T$/^it's$", ""}),
		`A='b c' go test -run '^T$/^it'\''s$' ''`; got != want {
		t.Errorf("shellLine: %s, want %s", got, want)
	}
	if got := cut("aé"+strings.Repeat("x", 100), 2); got != "a…(+102 bytes)" {
		t.Errorf("cut: %q", got)
	}
	for want, list := range map[bool][][]string{
		true:  {{"passed", "failed", "passed"}, {"failed", "passed", "passed", "failed"}},
		false: {{"passed", "failed", "failed"}, {"failed", "passed"}, {"passed", "skipped", "passed"}},
	} {
		for _, l := range list {
			if flips(l, "x") != want {
				t.Errorf("flips(%q) = %v", l, !want)
			}
		}
	}
}
