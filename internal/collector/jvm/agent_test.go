package jvm

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// golden writes what programs recorded into testdata.
var golden = flag.Bool("golden", false, "write what was recorded into testdata")

// below is a program that an agent is to record.
type below struct {
	cmd    *exec.Cmd
	member collector.Member
	book   *strobetest.Book
}

// under prepares a program below an agent, with patterns in force.
func under(t *testing.T, in strobetest.Interpreter, root string, patterns []string, args ...string) below {
	t.Helper()
	b := below{book: strobetest.NewBook()}
	rt := New(Config{CacheDir: t.TempDir()})
	m, err := rt.Join(collector.Joining{Root: root, OnFull: "wait", Sink: b.book})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(t.Context()) })
	b.member = m
	if _, err := m.SetTracing(t.Context(), tracing(patterns...)); err != nil {
		t.Fatal(err)
	}
	add := m.Starts(collector.Image{PID: 1, Path: in.Path, Args: args}, true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	b.cmd = exec.CommandContext(ctx, in.Path, append(add.Args, args...)...)
	return b
}

func tracing(patterns ...string) (t collector.Tracing) {
	for _, p := range patterns {
		name, given := strings.CutSuffix(p, " whole") // with a depth that somebody asked for
		t.Probes = append(t.Probes, collector.Probe{Pattern: name, Depth: 3, Given: given})
	}
	return t
}

// compiled compiles a program of testdata and returns the folder of its classes.
func compiled(t *testing.T, in strobetest.Interpreter, name string) string {
	t.Helper()
	dir := t.TempDir()
	strobetest.Javac(t, in, "-g", "-d", dir, filepath.Join("testdata", name+".java"))
	return dir
}

// varying is what differs from run to run, and from one javac to another.
var varying = regexp.MustCompile(`0x[0-9a-f]+|lambda\$\d+`)

// TestCalls: calls and values of every form are as testdata has them, with every JDK that is here, verified; the program
// prints what it does without an agent, and nothing of its own has run.
func TestCalls(t *testing.T) {
	for _, in := range strobetest.Javas(t) {
		t.Run(in.Name, func(t *testing.T) {
			classes := compiled(t, in, "Shop")
			b := under(t, in, "", []string{"shop.**"}, "-Xverify:all", "-cp", classes, "shop.Shop")
			var stdout, stderr bytes.Buffer
			b.cmd.Stdout, b.cmd.Stderr = &stdout, &stderr
			if err := b.cmd.Run(); err != nil || stdout.String() != "done 9\n" || plain(stderr.String()) != "" {
				t.Fatalf("%v: it printed %q and %q", err, &stdout, &stderr)
			}
			st := b.member.Status()
			b.member.Close(t.Context())
			got := varying.ReplaceAllString(b.book.Calls(), "…") + "\n"
			if st.Hooked < 25 || len(st.Warnings) > 0 {
				t.Errorf("status %+v", st)
			}
			file := filepath.Join("testdata", "shop.txt")
			if *golden {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("it recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWideValues: a method that is handed a large graph in each call tells all of it at first, then what is near; the next
// method has its first call told whole.
func TestWideValues(t *testing.T) {
	in := strobetest.Javas(t)[0]
	b := under(t, in, "", []string{"wide.Wide.walk", "wide.Wide.once"}, "-cp", compiled(t, in, "Wide"), "wide.Wide")
	if out, err := b.cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: it printed %q", err, out)
	}
	b.member.Close(t.Context())
	var walks, onces []string
	for line := range strings.Lines(b.book.Calls()) {
		if strings.Contains(line, `wide.Wide.walk {"node"`) {
			walks = append(walks, line)
		}
		if strings.Contains(line, `wide.Wide.once {"node"`) {
			onces = append(onces, line)
		}
	}
	if len(walks) != 3000 || len(onces) != 1 || !strings.Contains(walks[2999], `"text":"text 2999","flag":false`) ||
		!strings.Contains(walks[2999], `"id":59,"label":"node 59"`) {
		t.Fatalf("%d walks, the last %q", len(walks), walks[max(0, len(walks)-1):])
	}
	if first, last, whole := len(walks[0]), len(walks[2999]), len(onces[0]); first < 4000 || last > 600 || whole < 4000 {
		t.Errorf("%d bytes in the first call, %d in the last, %d in the other's", first, last, whole)
	}
}

// plain is what a program wrote to standard error without the JVM's own word on -Xverify.
func plain(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		if !strings.Contains(line, "Xverify") && !strings.Contains(line, "BytecodeVerification") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
