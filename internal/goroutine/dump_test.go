//go:build linux && amd64

package goroutine

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/waits.go.txt
var waitsProgram string

// build compiles a program with the toolchain of a version, "" for the one in PATH.
func build(t testing.TB, version, source string, flags ...string) string {
	t.Helper()
	strobetest.NeedTime(t)
	strobetest.NeedCommand(t, "go")
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", source)
	write("go.mod", "module waits\n\ngo 1.21\n")
	cmd := exec.Command("go", append(append([]string{"build", "-o", "program"}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if version != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+version)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "program")
}

// running is a program that runs.
type running struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
	p   *Program
}

func start(t testing.TB, path string, other Source) *running {
	t.Helper()
	r := &running{cmd: exec.Command(path)}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill() //nolint:errcheck // it may have ended
		r.cmd.Wait()         //nolint:errcheck // it was killed
	})
	r.until(t, "ready")
	mem, err := ptrace.OpenMem(r.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if r.p, err = Open(f, mem, bias(t, f, r.cmd.Process.Pid), other); err != nil {
		t.Fatal(err)
	}
	return r
}

// bias is where a program is loaded.
func bias(t testing.TB, f *os.File, pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		t.Fatal(err)
	}
	bias, err := Bias(f, b)
	if err != nil {
		t.Fatal(err)
	}
	return bias
}

// until reads up to a line.
func (r *running) until(t testing.TB, last string) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, b.String())
		}
		if strings.TrimSpace(line) == last {
			return b.String()
		}
		b.WriteString(line)
	}
}

var (
	dumpHead  = regexp.MustCompile(`^goroutine (\d+) \[([^\],]+).*\]:$`)
	dumpPlace = regexp.MustCompile(`^\t(.*):(\d+)`)
)

// own are the stacks as the program itself prints them.
func (r *running) own(t testing.TB) map[uint64]string {
	t.Helper()
	if _, err := io.WriteString(r.in, "\n"); err != nil {
		t.Fatal(err)
	}
	out := map[uint64]string{}
	for _, part := range strings.Split(strings.TrimSpace(r.until(t, "end")), "\n\n") {
		lines := strings.Split(part, "\n")
		m := dumpHead.FindStringSubmatch(lines[0])
		if m == nil {
			t.Fatalf("%q is no head of a stack", lines[0])
		}
		id, _ := strconv.ParseUint(m[1], 10, 64)
		var b strings.Builder
		fmt.Fprintf(&b, "[%s]\n", m[2])
		for i := 1; i+1 < len(lines); i += 2 {
			if strings.HasPrefix(lines[i], "...") {
				b.WriteString("...\n")
				i--
				continue
			}
			name, creator := strings.CutPrefix(lines[i], "created by ")
			if creator {
				name, _, _ = strings.Cut(name, " in goroutine ")
				b.WriteString("by ")
			} else if at := strings.LastIndex(name, "("); at > 0 {
				name = name[:at]
			}
			place := dumpPlace.FindStringSubmatch(lines[i+1])
			if place == nil {
				t.Fatalf("%q is no place", lines[i+1])
			}
			fmt.Fprintf(&b, "%s %s:%s\n", name, place[1], place[2])
		}
		out[id] = b.String()
	}
	return out
}

// seen are the same stacks from outside.
func seen(d *Dump) map[uint64]string {
	out := map[uint64]string{}
	for _, g := range d.Goroutines {
		if g.System {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "[%s]\n", g.State())
		for i, f := range g.Stack {
			fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
			if i == 49 && g.Lack == "it is deeper" {
				b.WriteString("...\n")
				break
			}
		}
		if g.Creator != nil {
			fmt.Fprintf(&b, "by %s %s:%d\n", g.Creator.Function, g.Creator.File, g.Creator.Line)
		}
		out[g.ID] = b.String()
	}
	return out
}

// compare waits until both see the same but for goroutine 1, which prints the one and waits in the other.
func (r *running) compare(t *testing.T) {
	t.Helper()
	var want, got map[uint64]string
	diff := "nothing was read"
	defer func() {
		if t.Failed() {
			t.Logf("the program's own (-), and what was read (+):\n%s", diff)
		}
	}()
	strobetest.Eventually(t, 20*time.Second, "a dump without change", func() bool {
		want = r.own(t)
		d, err := r.p.Read()
		if err != nil {
			t.Log(err)
			return false
		}
		got = seen(d)
		delete(want, 1)
		if !strings.Contains(got[1], "main.main") {
			return false
		}
		delete(got, 1)
		for id, text := range want { // the runtime leaves out the middle of deep stacks
			if head, _, cut := strings.Cut(text, "...\n"); cut {
				want[id] = head
				if len(got[id]) > len(head) {
					got[id] = got[id][:len(head)]
				}
			}
		}
		diff = gocmp.Diff(want, got)
		return diff == ""
	})
	if len(want) < 20 {
		t.Errorf("only %d goroutines", len(want))
	}
}

// TestDump: from outside, goroutines are what the program itself says, without symbols and with, wherever it is loaded.
func TestDump(t *testing.T) {
	strobetest.NeedPtrace(t)
	for name, flags := range map[string][]string{
		"stripped": {"-ldflags=-s -w"}, "plain": nil, "pie": {"-buildmode=pie", "-ldflags=-s -w"},
		"unoptimized": {"-gcflags=all=-N -l"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, build(t, "", waitsProgram, flags...), nil)
			r.compare(t)
		})
	}
}

// TestVersions: the same for other versions of Go, built with their toolchains.
func TestVersions(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.Soak(t)
	strobetest.NeedNetwork(t)
	for _, version := range []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.5"} {
		t.Run(version, func(t *testing.T) {
			r := start(t, build(t, version, waitsProgram, "-ldflags=-s -w"), nil)
			r.compare(t)
			if r.p.Version != version {
				t.Errorf("it is of %s", r.p.Version)
			}
		})
	}
}
