package native

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const throwsSource = `
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#define KEEP __attribute__((noinline))
struct Mine : std::runtime_error {
	mutable std::string text; int code;
	Mine(int c) : std::runtime_error("base"), code(c) {}
	const char *what() const noexcept override { text = "code " + std::to_string(code); return text.c_str(); }
};
static long sum, guards;
struct Guard { ~Guard() { guards += std::uncaught_exceptions(); } };
KEEP void throwInt(int n) { Guard g; throw n; } // THROW int
KEEP void throwMine(int n) { Guard g; throw Mine(n); } // THROW mine
KEEP int throwRange(std::vector<int> &v, size_t i) { return v.at(i) + 1; } // THROW range
KEEP void again() { try { throwMine(3); } catch (std::exception &e) { sum += strlen(e.what()); throw; } } // CATCH inner
KEEP void carry(std::exception_ptr p) { std::rethrow_exception(p); } // THROW carry
static void *leaves(void *) { try { Guard g; pthread_exit((void *)7); } catch (...) { sum += 1000; throw; } return nullptr; }
int main(int argc, char **argv) {
	std::vector<int> v(3);
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	for (long r = 0; r < rounds; r++) {
		try { throwInt(42); } catch (int n) { sum += n; } // CATCH int
		try { throwMine(9); } catch (const std::exception &e) { sum += strlen(e.what()); } // CATCH mine
		try { sum += throwRange(v, 7 + (size_t)r); } catch (std::logic_error &e) { sum += 1; } // CATCH range
		try { again(); } catch (Mine &m) { sum += m.code; } // CATCH outer
		std::exception_ptr kept;
		try { throwInt(5); } catch (...) { kept = std::current_exception(); } // CATCH kept
		std::thread t([&] { try { carry(kept); } catch (int n) { sum += n; } }); // CATCH carried
		t.join();
#ifndef _LIBCPP_VERSION // which has another unwinder than pthread_exit, and ends there untraced, too
		pthread_t p; void *result; pthread_create(&p, nullptr, leaves, nullptr); pthread_join(p, &result);
		sum += (long)result;
#endif
	}
	printf("sum=%ld guards=%ld\n", sum, guards);
	if (argc > 2 && !strcmp(argv[2], "end")) throwMine(77);
	if (argc > 2 && !strcmp(argv[2], "noexcept")) []() noexcept { throwMine(78); }();
	return 0;
}
`

var throwsWant = []string{
	"throw int: 42 @int", "catch int: 42 @int in int",
	"throw Mine: code 9 @mine", "catch Mine: code 9 @mine in mine",
	"throw std::out_of_range: vector::_M_range_check: __n (which is 7) >= this->size() (which is 3) @range",
	"catch std::out_of_range: vector::_M_range_check: __n (which is 7) >= this->size() (which is 3) @range in range",
	"throw Mine: code 3 @mine", "catch Mine: code 3 @mine in inner", "rethrow Mine: code 3 @inner",
	"catch Mine: code 3 @mine in outer",
	"throw int: 5 @int", "catch int: 5 @int in kept", "rethrow int: 5 @carry", "catch int: 5 @int in carried",
}

// exceptionLines renders the exceptions of a sink in order. Markers in the source name the lines.
func exceptionLines(t *testing.T, sink *memorySink) (lines []string, all []thrown) {
	t.Helper()
	sink.mu.Lock()
	defer sink.mu.Unlock()
	for _, e := range sink.events {
		if e.Kind != event.Exception {
			continue
		}
		var x thrown
		if err := json.Unmarshal(e.Payload, &x); err != nil {
			t.Fatalf("payload %s: %v", e.Payload, err)
		}
		all = append(all, x)
		line := fmt.Sprintf("%s %s: %s @%s", x.What, x.Type, x.Message, mark(x.File, x.Line, "// THROW ", "// CATCH "))
		if c := x.CaughtIn; c != nil {
			line += " in " + mark(c.File, c.Line, "// CATCH ")
		}
		lines = append(lines, line)
	}
	return lines, all
}

// mark is the name in a comment at the end of a source line.
func mark(file string, line int, kinds ...string) string {
	b, err := os.ReadFile(file)
	lines := strings.Split(string(b), "\n")
	if err == nil && line > 0 && line <= len(lines) {
		for _, kind := range kinds {
			if _, name, ok := strings.Cut(lines[line-1], kind); ok {
				return name
			}
		}
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// TestExceptions compares every exception of programs of two compilers, and that they run as without us.
func TestExceptions(t *testing.T) {
	for _, v := range []struct {
		variant string
		flags   []string
	}{{"gcc-O0", nil}, {"gcc-O2", nil}, {"clang-O0", nil}, {"clang-O2", nil}, {"gcc-O2-static", nil}, {"gcc-O2-cet", nil},
		{"gcc-asan", nil}, {"clang-O1", []string{"-stdlib=libc++"}}} {
		t.Run(v.variant+strings.Join(v.flags, ""), func(t *testing.T) {
			if v.flags != nil {
				if all, _ := filepath.Glob("/usr/lib/llvm-*/lib/libc++.so"); len(all) == 0 {
					strobetest.Lack(t, "libc++ is not installed")
				}
			}
			bin := strobetest.BuildSource(t, "cpp", v.variant, "thrower", throwsSource,
				append([]string{"-std=c++17", "-w"}, v.flags...)...)
			untraced, err := exec.Command(bin, "1").Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, patterns := range [][]string{{"@exceptions"}, {"@exceptions", "throw*", "again", "carry"}} {
				sink := newSink(t)
				s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), patterns, bin, "1")
				s.wait(t)
				if out := s.stdout.String(); s.Exit() != (collector.ExitInfo{}) || out != string(untraced) {
					t.Errorf("the program ended with %+v and wrote %q, untraced %q", s.Exit(), out, untraced)
				}
				got, all := exceptionLines(t, sink)
				want := slices.Clone(throwsWant)
				if v.flags != nil {
					want[4], want[5] = "throw std::out_of_range: vector @range", "catch std::out_of_range: vector @range in range"
				}
				if !slices.Equal(got, want) {
					t.Errorf("with %q: got\n%s\nwant\n%s", patterns, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				for i := 0; i+1 < len(all); i += 2 {
					if all[i].Exception != all[i+1].Exception || all[i].Exception == "0x0" {
						t.Errorf("exceptions %d and %d: %s and %s", i, i+1, all[i].Exception, all[i+1].Exception)
					}
				}
				if len(patterns) > 1 {
					checkBalance(t, sink)
					checkInside(t, sink)
				}
				if st := s.Status(); len(st.Probes) == 0 || st.Probes[0].Warning != "" {
					t.Errorf("status %+v", st)
				}
			}
		})
	}
}

// checkInside: a throw stands between the enter and the exit of the function that threw.
func checkInside(t *testing.T, sink *memorySink) {
	t.Helper()
	sink.mu.Lock()
	defer sink.mu.Unlock()
	open := map[event.ThreadID][]string{}
	for _, e := range sink.events {
		st := open[e.Thread]
		switch e.Kind {
		case event.FunctionEnter:
			open[e.Thread] = append(st, sink.funcs[e.Func].Name)
		case event.FunctionExit:
			open[e.Thread] = st[:len(st)-1]
		case event.Exception:
			var x thrown
			if json.Unmarshal(e.Payload, &x) == nil && x.What == "throw" &&
				(len(st) == 0 || !strings.HasPrefix(x.Function, st[len(st)-1])) {
				t.Errorf("%s is thrown inside %v", e.Payload, st)
			}
		}
	}
}

// TestExceptionsEnd: the end by an exception is no catch.
func TestExceptionsEnd(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O2", "clang-O0", "clang-O2"} {
		bin := strobetest.BuildSource(t, "cpp", variant, "thrower", throwsSource, "-std=c++17", "-w")
		for how, code := range map[string]string{"end": "77", "noexcept": "78"} {
			sink := newSink(t)
			s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"@exceptions"}, bin, "0", how)
			s.wait(t)
			got, _ := exceptionLines(t, sink)
			want := []string{"throw Mine: code " + code + " @mine", "uncaught Mine: code " + code + " @mine"}
			if !slices.Equal(got, want) || s.Exit().Signal != "SIGABRT" {
				t.Errorf("%s %s: %q and %+v, want %q", variant, how, got, s.Exit(), want)
			}
		}
	}
}

// throwsAll throws in three threads as fast as it can, until it reads a line.
const throwsAll = `
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
#include <unistd.h>
static std::atomic<long> thrown, caught; static std::atomic<bool> done;
__attribute__((noinline)) void fails(long n) { thrown++; throw std::runtime_error(n % 2 ? "odd" : "even"); }
int main() {
	std::vector<std::thread> all;
	for (int i = 0; i < 3; i++) all.emplace_back([] { for (long n = 0; !done; n++) try { fails(n); } catch (std::exception &e) { caught += e.what()[0] == (n % 2 ? 'o' : 'e'); } });
	char c; while (read(0, &c, 1) > 0 && c != '\n') {}
	done = true; for (auto &t : all) t.join();
	printf("thrown=%ld caught=%ld\n", thrown.load(), caught.load());
}
`

// TestExceptionsMany adds and removes the pattern while a program throws as fast as it can in several threads.
func TestExceptionsMany(t *testing.T) {
	bin := strobetest.BuildSource(t, "cpp", "gcc-O2", "many", throwsAll, "-std=c++17")
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), nil, bin)
	ctx := context.Background()
	for i := range 20 {
		var want collector.Tracing
		if i%2 == 0 {
			want.Probes = []collector.Probe{{Pattern: "@exceptions"}}
		}
		if i%4 == 0 {
			want.Probes = append(want.Probes, collector.Probe{Pattern: "fails"})
		}
		if _, err := s.SetTracing(ctx, want); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if n := len(want.Probes); n > 0 {
			awaitExceptions(t, s, sink, 100)
		}
	}
	s.stdin.WriteString("\n")
	s.wait(t)
	var thrown, caught int64
	if _, err := fmt.Sscanf(s.stdout.String(), "thrown=%d caught=%d", &thrown, &caught); err != nil || thrown != caught ||
		thrown == 0 {
		t.Errorf("the program ended with %+v and wrote %q", s.Exit(), s.stdout)
	}
	lines, _ := exceptionLines(t, sink)
	for _, l := range lines {
		if !strings.Contains(l, "std::runtime_error: odd @") && !strings.Contains(l, "std::runtime_error: even @") {
			t.Fatalf("event %q", l)
		}
	}
	t.Logf("%d exceptions thrown, %d events", thrown, len(lines))
}

// TestExceptionsInside: a throw stands in its call, also while others throw as fast as they can and calls are read
// behind them.
func TestExceptionsInside(t *testing.T) {
	bin := strobetest.BuildSource(t, "cpp", "gcc-O2", "many", throwsAll, "-std=c++17")
	sink := newSink(t)
	s := startProgram(t, testRuntime(t), sink, filepath.Dir(bin), []string{"@exceptions", "fails"}, bin)
	awaitExceptions(t, s, sink, 5_000)
	s.stdin.WriteString("\n")
	s.wait(t)
	checkInside(t, sink)
}

// awaitExceptions waits until so many more exceptions are there.
func awaitExceptions(t *testing.T, s *started, sink *memorySink, more int) {
	t.Helper()
	count := func() (n int) {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		for _, e := range sink.events {
			if e.Kind == event.Exception {
				n++
			}
		}
		return n
	}
	before := count()
	for tries := 0; count() < before+more; tries++ {
		if err := s.Flush(context.Background()); err != nil || tries > 1_000_000 {
			t.Fatalf("only %d exceptions came: %v", count()-before, err)
		}
	}
}
