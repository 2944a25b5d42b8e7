package native

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// exceptionsByPID counts what happened in each process, and what was said.
func exceptionsByPID(sink *memorySink) map[int32][]string {
	sink.mu.Lock()
	defer sink.mu.Unlock()
	by := map[int32][]string{}
	for _, e := range sink.events {
		if e.Kind == event.Exception {
			var x thrown
			json.Unmarshal(e.Payload, &x)
			pid := sink.threads[e.Thread].PID
			by[pid] = append(by[pid], x.What+" "+x.Message)
		}
	}
	return by
}

// TestExceptionsInChildren: forked children, and what they exec, are watched as their parent is.
func TestExceptionsInChildren(t *testing.T) {
	const source = `
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void fails(const std::string &s) { throw std::runtime_error(s); }
static int attempt(const std::string &s) { try { fails(s); } catch (std::exception &e) { return e.what() == s; } return 0; }
int main(int argc, char **argv) {
	if (argc > 1) { int ok = attempt("execed"); return ok ? 5 : 6; }
	int ok = attempt("parent"), status;
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) { int good = attempt("child " + std::to_string(i)); if (i == 2) execl(argv[0], argv[0], "again", nullptr); _exit(good ? 5 : 6); }
		waitpid(pid, &status, 0); ok += WEXITSTATUS(status) == 5;
	}
	ok += attempt("parent again");
	printf("ok=%d\n", ok);
}
`
	bin := strobetest.BuildSource(t, "cpp", "gcc-O2", "children", source, "-std=c++17")
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"@exceptions"}, bin)
	pid := int32(s.PID())
	s.wait(t)
	if s.stdout.String() != "ok=5\n" {
		t.Errorf("the program ended with %+v and wrote %q", s.Exit(), s.stdout)
	}
	by := exceptionsByPID(sink)
	if got := fmt.Sprint(by[pid]); got != "[throw parent catch parent throw parent again catch parent again]" {
		t.Errorf("the parent: %s", got)
	}
	delete(by, pid)
	all := fmt.Sprint(by)
	for _, want := range []string{"[throw child 0 catch child 0]", "[throw child 1 catch child 1]",
		"[throw child 2 catch child 2 throw execed catch execed]"} {
		if !strings.Contains(all, want) || len(by) != 3 {
			t.Errorf("the children: %s, want %s", all, want)
		}
	}
}

// TestExceptionsLoaded: a C program loads a C++ library, and the C++ runtime with it, later.
func TestExceptionsLoaded(t *testing.T) {
	strobetest.NeedCommand(t, "gcc", "g++")
	lib := build(t, "lib.cpp", `
#include <stdexcept>
__attribute__((noinline)) static void fails() { throw std::logic_error("in a library"); }
extern "C" int attempt() { try { fails(); } catch (std::exception &e) { return 7; } return 0; }
`, "g++", "-g", "-O1", "-shared", "-fPIC")
	bin := build(t, "main.c", `
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) { for (int i = 0; i < 2; i++) { void *l = dlopen(argv[1], RTLD_NOW); int (*f)(void) = (int (*)(void))dlsym(l, "attempt"); printf("%d\n", f()); dlclose(l); } }
`, "gcc", "-g", "-ldl")
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"@exceptions"}, bin, lib)
	pid := int32(s.PID())
	s.wait(t)
	if got := fmt.Sprint(exceptionsByPID(sink)[pid]); got != "[throw in a library catch in a library throw in a "+
		"library catch in a library]" || s.stdout.String() != "7\n7\n" {
		t.Errorf("%s; the program ended with %+v and wrote %q", got, s.Exit(), s.stdout)
	}
}

// TestExceptionsRestored: without the pattern every function of the runtime is as its file has it, also beside a trace
// of one of these very functions, which gives way.
func TestExceptionsRestored(t *testing.T) {
	bin := strobetest.BuildSource(t, "cpp", "gcc-O2", "waits", `
#include <cstdio>
#include <stdexcept>
#include <unistd.h>
__attribute__((noinline)) void fails() { throw std::runtime_error("x"); }
int main() { char c; while (read(0, &c, 1) > 0 && c != '\n') {} try { fails(); } catch (std::exception &) {} puts("done"); }
`)
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"fails"}, bin)
	set := func(patterns ...string) collector.Status {
		t.Helper()
		var want collector.Tracing
		for _, p := range patterns {
			want.Probes = append(want.Probes, collector.Probe{Pattern: p})
		}
		st, err := s.SetTracing(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	patched := func() (n int) {
		p := s.processes()[0]
		for _, m := range p.modules {
			if m.mod == nil {
				continue
			}
			for _, f := range throwFunctions(m.mod) {
				want, err := m.mod.BytesAt(f.addr, 16)
				now := make([]byte, 16)
				if err != nil || p.mem.Read(uint64(f.addr)+m.bias, now) != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(now, want) {
					n++
				}
			}
		}
		return n
	}
	if n := patched(); n != 0 {
		t.Errorf("%d functions are patched without the pattern", n)
	}
	st := set("fails", "@exceptions", "__cxa_throw")
	if n := patched(); n < 4 || st.Probes[1].Hooked != n || len(st.Warnings) == 0 {
		t.Errorf("%d functions are patched, status %+v", n, st)
	}
	set("fails", "__cxa_throw")
	if n := patched(); n != 1 {
		t.Errorf("%d functions are patched by a trace of __cxa_throw", n)
	}
	set("fails", "@exceptions")
	set()
	if n := patched(); n != 0 {
		t.Errorf("%d functions stay patched", n)
	}
	set("@exceptions")
	s.stdin.WriteString("\n")
	s.wait(t)
	if lines, _ := exceptionLines(t, sink); len(lines) != 2 || s.stdout.String() != "done\n" {
		t.Errorf("exceptions %q, and the program wrote %q", lines, s.stdout)
	}
}

// TestExceptionPoints sets and takes away points of exceptions while a program throws as fast as it can in several
// threads: one whose condition never holds, and one that pauses at one of the hits.
func TestExceptionPoints(t *testing.T) {
	bin := strobetest.BuildSource(t, "cpp", "gcc-O2", "many", throwsAll, "-std=c++17")
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), nil, bin)
	ctx := context.Background()
	paused := 0
	for i := range 20 {
		pt := collector.Point{ID: fmt.Sprintf("bp-%d", i), Function: collector.PointExceptions, Condition: "1 == 2"}
		if i%2 == 0 {
			pt.Condition, pt.HitCount = "", 3
		}
		if i%4 == 0 {
			if _, err := s.SetTracing(ctx, collector.Tracing{Probes: []collector.Probe{{Pattern: "@exceptions"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.SetPoints(ctx, []collector.Point{pt}); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if i%2 == 0 {
			for len(s.Paused()) == 0 {
				if err := s.Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
			p := s.Paused()[0]
			if p.PointID != pt.ID || !strings.Contains(p.Note, "std::runtime_error: ") || p.Hit != 3 {
				t.Errorf("pause %+v", p)
			}
			paused++
		}
		if _, err := s.SetPoints(ctx, nil); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if _, err := s.SetTracing(ctx, collector.Tracing{}); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Paused() {
			if err := s.Resume(ctx, collector.Resume{Thread: p.TID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.stdin.WriteString("\n")
	s.wait(t)
	var thrown, caught int64
	if _, err := fmt.Sscanf(s.stdout.String(), "thrown=%d caught=%d", &thrown, &caught); err != nil || thrown != caught ||
		thrown == 0 {
		t.Errorf("the program ended with %+v and wrote %q", s.Exit(), s.stdout)
	}
	t.Logf("%d exceptions thrown, %d pauses", thrown, paused)
}
