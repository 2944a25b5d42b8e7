package jvm

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// hard runs Hard with a JDK below an agent, and returns what it wrote to standard error.
func hard(t *testing.T, in strobetest.Interpreter, patterns []string, what string) (below, string) {
	t.Helper()
	b := under(t, in, "", patterns, "-cp", compiled(t, in, "Hard"), "Hard", what)
	var stderr bytes.Buffer
	b.cmd.Stderr = &stderr
	var exit *exec.ExitError
	if err := b.cmd.Run(); err != nil && !(what == "dies" && errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatalf("%s: %v\n%.2000s", what, err, &stderr)
	}
	for _, w := range b.member.Status().Warnings {
		t.Errorf("%s: warning %s", what, w)
	}
	b.member.Close(t.Context())
	return b, stderr.String()
}

// TestShortThreads: threads that end leave their streams to others.
func TestShortThreads(t *testing.T) {
	in := strobetest.Javas(t)[0]
	b, _ := hard(t, in, []string{"Hard.work"}, "threads")
	if n := b.book.Count(event.FunctionEnter, "Hard.work"); n != 2000 {
		t.Errorf("%d calls", n)
	}
	if n := b.book.Count(event.FunctionExit, "Hard.work"); n != 2000 {
		t.Errorf("%d exits", n)
	}
	names := map[string]bool{}
	for _, th := range b.book.Threads {
		names[th.Name] = true
	}
	if !names["short-0"] || !names["short-1999"] || len(names) != 2000 {
		t.Errorf("%d names of threads", len(names))
	}
}

// TestOverflow: a stack that overflows, in whatever it was, costs no call behind it.
func TestOverflow(t *testing.T) {
	for _, in := range strobetest.Javas(t) {
		b, _ := hard(t, in, []string{"Hard.*"}, "overflow")
		if n := b.book.Count(event.FunctionEnter, "Hard.work"); n != 5 {
			t.Errorf("%s: %d calls behind it", in.Name, n)
		}
		if n := b.book.Count(event.FunctionEnter, "Hard.deep"); n < 5000 {
			t.Errorf("%s: %d calls before it", in.Name, n)
		}
	}
}

// TestBigValues: whatever a value has, a record is bounded, says what it leaves out, and is one.
func TestBigValues(t *testing.T) {
	in := strobetest.Javas(t)[0]
	b, _ := hard(t, in, []string{"Hard.big whole", "Hard.work"}, "big")
	if n := b.book.Count(event.FunctionEnter, "Hard.work"); n != 200 {
		t.Errorf("%d calls behind them", n)
	}
	seen := 0
	for _, e := range b.book.All() {
		if b.book.Functions[e.Func].Name != "Hard.big" {
			continue
		}
		seen++
		if n := len(e.Payload); n > 24<<10 || n < 4<<10 || !bytes.Contains(e.Payload, []byte(`"more":`)) {
			t.Fatalf("%d bytes: %.300s", n, e.Payload)
		}
		if seen == 5 && !strings.Contains(string(e.Payload), `"more":49`) { // the map, alone
			t.Errorf("of 5,000 entries it says %s", e.Payload[max(0, len(e.Payload)-60):])
		}
	}
	if seen != 1200 {
		t.Errorf("%d enters and exits of big", seen)
	}
}

// TestUncaught: an exception that ends a thread, or the program, is a crash with its causes and frames, and the
// program's own report is what it would be.
func TestUncaught(t *testing.T) {
	for _, in := range strobetest.Javas(t) {
		t.Run(in.Name, func(t *testing.T) {
			b, got := hard(t, in, []string{"Hard.dies"}, "dies")
			var want bytes.Buffer
			cmd := exec.Command(in.Path, "-cp", compiled(t, in, "Hard"), "Hard", "dies")
			cmd.Stderr = &want
			if err := cmd.Run(); err == nil || got != want.String() {
				t.Errorf("%v: with an agent it writes\n%s\nand without\n%s", err, got, &want)
			}
			if len(b.book.Crashes) != 2 {
				t.Fatalf("%d crashes", len(b.book.Crashes))
			}
			for i, c := range b.book.Crashes {
				if c.Fatal != (i == 1) || c.Class != "uncaught-exception" || c.Function != "Hard.dies" ||
					filepath.Base(c.File) != "Hard.java" || c.Line == 0 || len(c.Causes) != 1 ||
					!strings.Contains(c.Reason, fmt.Sprintf("Hard.Wrong that nobody caught: died %d", i+1)) {
					t.Errorf("crash %d is %+v", i, c.Crash)
				}
			}
		})
	}
}
