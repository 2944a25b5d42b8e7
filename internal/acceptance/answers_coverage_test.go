package acceptance

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// coverSource is a program of n functions that calls some: every third by main, every fifth by a thread, every seventh
// by a child, and the last one when it is told to.
func coverSource(n int) (source string, ran func(i int) bool) {
	var b strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n")
	b.WriteString("static volatile int sum;\n")
	for i := range n {
		fmt.Fprintf(&b, "__attribute__((noinline)) int part_%03d(int k) { sum += k; return k + %d; }\n", i, i)
	}
	calls := func(every int) {
		for i := range n - 1 {
			if i%every == 0 {
				fmt.Fprintf(&b, "  part_%03d(k);\n", i)
			}
		}
	}
	b.WriteString("void *other(void *p) {\n  int k = 1;\n")
	calls(5)
	b.WriteString("  return p;\n}\nvoid child(void) {\n  int k = 2;\n")
	calls(7)
	b.WriteString("}\nint main(void) {\n  pthread_t t[4];\n  int k = 0;\n")
	b.WriteString("  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, other, 0);\n")
	b.WriteString("  for (int i = 0; i < 200; i++) {\n")
	calls(3)
	b.WriteString("  }\n  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);\n")
	b.WriteString("  if (fork() == 0) { child(); _exit(0); }\n  wait(0);\n")
	b.WriteString("  puts(\"ready\"); fflush(stdout);\n  while (getchar() != 'q') ;\n")
	fmt.Fprintf(&b, "  return part_%03d(sum) == 0;\n}\n", n-1)
	return b.String(), func(i int) bool { return i < n-1 && (i%3 == 0 || i%5 == 0 || i%7 == 0) }
}

// TestCoverage: what ran is told exactly, by threads and children too, beside traces and breakpoints, and afterwards
// nothing stands in the program any more.
func TestCoverage(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const n = 400
	source, ran := coverSource(n)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "coverage", source, "-pthread")
	root := filepath.Dir(strobetest.SourceOf(t, "c", "coverage", source))
	l := s.Launch(t, path, root, nil, args{"trace": []string{"@coverage"}, "stdin": "pipe"})
	defer s.Stop(t, l.SessionID)
	s.Query(t, l.SessionID, args{"eventType": "stdout", "text": "ready", "waitMs": 30000})
	check := func(last bool) {
		t.Helper()
		r := s.Query(t, l.SessionID, args{"view": "coverage", "maxTokens": 100000})
		var want, got []string
		for i := range n {
			if !ran(i) && (i < n-1 || !last) {
				want = append(want, fmt.Sprintf("part_%03d", i))
			}
		}
		for _, m := range regexp.MustCompile(`(part_\d+):\d+`).FindAllStringSubmatch(r.Text, -1) {
			got = append(got, m[1])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%d functions never ran, want %d:\n%s", len(got), len(want), r.Text)
		}
		if !strings.HasPrefix(r.Text, fmt.Sprintf("%d of %d functions ran", n+3-len(want), n+3)) {
			t.Errorf("coverage begins: %.100s", r.Text)
		}
	}
	check(false)
	pages, lines := 0, 0
	for offset, more := 0, true; more && pages < 200; pages++ {
		page := s.Query(t, l.SessionID, args{"view": "coverage", "maxTokens": 500, "offset": offset})
		lines += len(regexp.MustCompile(`part_\d+:\d+`).FindAllString(page.Text, -1))
		if more = page.HasMore; more {
			fmt.Sscanf(regexp.MustCompile(`offset \d+`).FindString(page.Hint), "offset %d", &offset)
		}
	}
	if whole := s.Query(t, l.SessionID, args{"view": "coverage", "maxTokens": 100000}); pages < 3 ||
		lines != len(regexp.MustCompile(`part_\d+:\d+`).FindAllString(whole.Text, -1)) {
		t.Errorf("%d pages have %d functions, one answer has\n%s", pages, lines, whole.Text)
	}
	// A trace and a logpoint come to stand where such traps do.
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"part_3*"}}, nil)
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID,
		"add": []args{{"function": fmt.Sprintf("part_%03d", n-1), "message": "last {k}"}}}, nil)
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "q\n"}, nil)
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	check(true)
	if r := s.Query(t, l.SessionID, args{"eventType": "logpoint"}); len(r.Events) != 1 {
		t.Errorf("the logpoint was met %d times", len(r.Events))
	}
}
