package jvm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// jobs are what varies from run to run in what Kotlin's coroutines tell of themselves.
var jobs = regexp.MustCompile(`@[0-9a-f]+`)

// TestKotlinSuspends: a suspend function is one call from its begin to its end, whatever it waits for and on whichever
// thread it goes on, with its own arguments, its result or what it throws, and what it called below it; as are lambdas.
// The program prints what it does without an agent.
func TestKotlinSuspends(t *testing.T) {
	strobetest.NeedTime(t)
	versions := []string{"2.2.20"}
	if strobetest.Soaks(t, "Kotlin 1.8, 1.9 and 2.0") {
		versions = append(versions, "1.8.22", "1.9.24", "2.0.21")
	}
	all := strobetest.Javas(t)
	for _, version := range versions {
		classes := strobetest.Kotlin(t, all[0], version, filepath.Join("testdata", "Suspend.kt"))
		for _, in := range all {
			t.Run(version+" "+in.Name, func(t *testing.T) { kotlinSuspends(t, in, version, classes) })
		}
	}
}

func kotlinSuspends(t *testing.T, in strobetest.Interpreter, version, classes string) {
	b := under(t, in, "", []string{"shop.**"}, "-Xverify:all", "-cp", classes, "shop.SuspendKt")
	var stdout, stderr bytes.Buffer
	b.cmd.Stdout, b.cmd.Stderr = &stdout, &stderr
	err := b.cmd.Run()
	const prints = "[32, 32, 0]\n40\ntoo dear: 30\n6\nx:5:1.5\n[1, 2, 3]\nfalse\n"
	if err != nil || stdout.String() != prints || plain(stderr.String()) != "" {
		t.Fatalf("%v: it printed %q and %q", err, &stdout, &stderr)
	}
	st := b.member.Status()
	b.member.Close(t.Context())
	if len(st.Warnings) > 0 {
		t.Errorf("warnings %q", st.Warnings)
	}
	for _, e := range b.book.All() {
		if e.Kind == event.FunctionExit && b.book.Functions[e.Func].Name == "shop.SuspendKt.price" && e.Ret < 1000 {
			t.Errorf("of a call that waits 5 ms %d µs are told", e.Ret)
		}
	}
	got := jobs.ReplaceAllString(callTree(t, b.book), "@…")
	file := filepath.Join("testdata", "suspend.txt")
	if *golden && version == "2.2.20" {
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
}

// made is a call in a tree.
type made struct {
	name, arguments, result string
	calls                   []*made
}

// brief is the beginning of a value: objects of Kotlin's own lead to much.
func brief(payload []byte) string { return string(payload[:min(len(payload), 100)]) }

// callTree is the calls of a book, each below who called it, in their order.
func callTree(t *testing.T, book *strobetest.Book) string {
	t.Helper()
	var root made
	open := map[event.ThreadID][]*made{}
	for _, e := range book.All() {
		if !e.Kind.IsCall() {
			continue
		}
		lane, above := open[e.Thread], &root
		if e.Kind == event.FunctionExit {
			if len(lane) == 0 || lane[len(lane)-1].name != book.Functions[e.Func].Name {
				t.Fatalf("%s ends, open are %v", book.Functions[e.Func].Name, lane)
			}
			one := lane[len(lane)-1]
			one.result = brief(e.Payload)
			if e.Flags != 0 {
				one.result = fmt.Sprintf("flags %d %s", e.Flags, one.result)
			}
			open[e.Thread] = lane[:len(lane)-1]
			continue
		}
		if len(lane) > 0 {
			above = lane[len(lane)-1]
		} else if from := open[e.Under-1]; e.Under != 0 && len(from) > 0 {
			above = from[len(from)-1]
		}
		one := &made{name: book.Functions[e.Func].Name, arguments: brief(e.Payload), result: "open"}
		above.calls = append(above.calls, one)
		open[e.Thread] = append(lane, one)
	}
	var out strings.Builder
	var write func(m *made, indent string)
	write = func(m *made, indent string) {
		for _, c := range m.calls {
			fmt.Fprintf(&out, "%s%s %s → %s\n", indent, c.name, c.arguments, c.result)
			write(c, indent+"  ")
		}
	}
	write(&root, "")
	return out.String()
}
