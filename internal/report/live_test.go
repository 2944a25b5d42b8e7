package report_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/strobe-debug/strobe/internal/report"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// program is one way to build one of testdata/programs with the compilers of this machine.
type program struct {
	file, variant string
	flags         []string
}

var (
	asanGCC     = program{"mem.c", "gcc-O0", []string{"-w", "-fsanitize=address"}}
	asanClang   = program{"mem.c", "clang-O0", []string{"-w", "-fsanitize=address"}}
	lsanGCC     = program{"mem.c", "gcc-O0", []string{"-w", "-fsanitize=leak"}}
	msanClang   = program{"mem.c", "clang-O0", []string{"-w", "-fsanitize=memory"}}
	ubsanGCC    = program{"ub.cpp", "gcc-O0", []string{"-w", "-fsanitize=undefined"}}
	ubsanClang  = program{"ub.cpp", "clang-O0", []string{"-w", "-fsanitize=undefined"}}
	tsanGCC     = program{"race.cpp", "gcc-O0", []string{"-w", "-fsanitize=thread"}}
	tsanClang   = program{"race.cpp", "clang-O0", []string{"-w", "-fsanitize=thread"}}
	plainC      = program{"libc.c", "gcc-O1", []string{"-w", "-fstack-protector-all", "-D_FORTIFY_SOURCE=2"}}
	protected   = program{"libc.c", "gcc-O1", []string{"-w", "-fstack-protector-all"}}
	throwing    = program{"throw.cpp", "gcc-O0", []string{"-w", "-std=c++20", "-D_GLIBCXX_ASSERTIONS"}}
	throwingABI = program{"throw.cpp", "clang-O0", []string{"-w", "-std=c++20", "-stdlib=libc++"}}
	panicking   = program{"panic.rs", "rust-debug", []string{"-Cdebug-assertions"}}
)

// live says what the report of one run must be. At is text of the source line that it must name,
// message is part of its message or location; empty ones are not looked at.
type live struct {
	program
	arg                         string
	tool, kind, access          string
	function, at, message, kept string
	fatal                       bool
}

var lives = []live{
	{asanGCC, "use-after-free", ASan, "heap-use-after-free", "read", "use_after_free", "return p[3 + zero]",
		"12 bytes inside of", "freed by thread T0", true},
	{asanGCC, "free-in-thread", ASan, "heap-use-after-free", "write", "free_in_thread", "p[5 + zero] = 1", "",
		"freed by thread T1", true},
	{asanGCC, "stack-overflow", ASan, "stack-buffer-overflow", "read", "stack_overflow", "return local[i]", "'local'", "",
		true},
	{asanGCC, "global-overflow", ASan, "global-buffer-overflow", "read", "global_overflow", "return table[i]", "'table'",
		"", true},
	{asanGCC, "double-free", ASan, "double-free", "", "double_free", "free(p);", "", "freed by thread T0", true},
	{asanGCC, "bad-free", ASan, "bad-free", "", "bad_free", "free(q);", "", "allocated by thread T0", true},
	{asanGCC, "null", ASan, "segv", "read", "null_deref", "return *p", "zero page", "", true},
	{asanGCC, "leak", LSan, "leak", "", "leak", "malloc(", "", "Direct leak of", false},
	{asanClang, "use-after-free", ASan, "heap-use-after-free", "read", "use_after_free", "return p[3 + zero]",
		"12 bytes inside of", "freed by thread T0", true},
	{asanClang, "use-after-scope", ASan, "stack-use-after-scope", "read", "use_after_scope", "return *escaped", "'x'", "",
		true},
	{asanClang, "wild-write", ASan, "segv", "write", "wild_write", "0x7000", "", "", true},
	{asanClang, "huge", ASan, "allocation-size-too-big", "", "huge", "malloc(n)", "", "", true},
	{lsanGCC, "leak", LSan, "leak", "", "leak", "malloc(", "340 byte(s)", "Indirect leak of", false},
	{msanClang, "uninit", MSan, "use-of-uninitialized-value", "", "uninit", "if (p[n])", "", "", true},
	{ubsanGCC, "", UBSan, "signed-integer-overflow", "", "", "return a + b", "2147483647 + 1", "", false},
	{ubsanGCC, "", UBSan, "index-out-of-bounds", "", "", "return v[i]", "index 5", "", false},
	{ubsanClang, "", UBSan, "misaligned-pointer", "read", "", "(p + 1)", "", "", false},
	{ubsanClang, "", UBSan, "wrong-object-type", "", "", "b->f()", "'Other'", "", false},
	{tsanGCC, "race", TSan, "data-race", "", "bump", "counter++", "global 'counter'", "Previous write", false},
	{tsanGCC, "order", TSan, "lock-order-inversion", "", "", "lock_guard", "", "", false},
	{tsanClang, "heap-race", TSan, "data-race", "write", "", "*p = ", "heap block of size 4", "Previous write", false},
	{tsanClang, "thread-leak", TSan, "thread-leak", "", "threadLeak", "pthread_create", "", "", false},
	{plainC, "assert", Assert, "assertion", "", "main", "assert(zero == 1", "zero is one", "", true},
	{plainC, "fortify", Fortify, "buffer-overflow", "", "", "", "", "", true},
	{protected, "smash", StackSmashing, "stack-smashing", "", "", "", "", "", true},
	{plainC, "double-free", Glibc, "double-free", "", "", "", "", "", true},
	{plainC, "invalid-pointer", Glibc, "invalid-pointer", "", "", "", "", "", true},
	{plainC, "top", Glibc, "heap-corruption", "", "", "", "malloc()", "", true},
	{throwing, "throw", CxxTerminate, "uncaught-exception", "", "", "", "could not open the ledger", "", true},
	{throwing, "lines", CxxTerminate, "uncaught-exception", "", "", "", "first line\nsecond line\n\nfourth line", "",
		true},
	{throwing, "terminate", CxxTerminate, "terminate", "", "", "", "", "", true},
	{throwing, "pure", CxxTerminate, "pure-virtual-call", "", "", "", "", "", true},
	{throwing, "vector", LibstdcxxCheck, "index-out-of-bounds", "", "operator[]", "", "__n < this->size()", "", true},
	{throwingABI, "throw", CxxTerminate, "uncaught-exception", "", "", "", "could not open the ledger", "", true},
	{panicking, "lines", RustPanic, "panic", "", "", "first line", "first line\nsecond line\n\nfourth: 2", "", false},
	{panicking, "index", RustPanic, "index-out-of-bounds", "", "", "v[i]", "the len is 3", "", false},
	{panicking, "overflow", RustPanic, "arithmetic-overflow", "", "", "a + b", "", "", false},
	{panicking, "thread", RustPanic, "panic", "", "", "worker-1", "in a thread", "", false},
	{panicking, "no-unwind", RustPanic, "panic-cannot-unwind", "", "", "", "", "", true},
	{panicking, "stack", RustPanic, "stack-overflow", "", "", "", "", "", true},
}

// TestLive builds the programs with the compilers of this machine and reads what they write.
func TestLive(t *testing.T) {
	for _, test := range lives {
		t.Run(test.variant+"/"+test.tool+"/"+test.kind, func(t *testing.T) {
			source := readFile(t, filepath.Join("testdata", "programs", test.file))
			name, extension, _ := strings.Cut(test.file, ".")
			lang := map[string]string{"c": "c", "cpp": "cpp", "rs": "rust"}[extension]
			path := strobetest.BuildSource(t, lang, test.variant, name, source, test.flags...)
			test.find(t, source, stderrOf(t, "RUST_BACKTRACE=0", path, test.arg))
		})
	}
}

// TestLiveGo does so for Go.
func TestLiveGo(t *testing.T) {
	strobetest.NeedTime(t)
	source := readFile(t, filepath.Join("testdata", "programs", "gopanic.go"))
	path := filepath.Join(t.TempDir(), "gopanic")
	build := exec.Command("go", "build", "-o", path, filepath.Join("testdata", "programs", "gopanic.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, test := range []live{
		{arg: "nil", kind: "nil-pointer", function: "main.deref", at: "t.left.left", message: "SIGSEGV"},
		{arg: "lines", kind: "panic", function: "main.main", at: `"first\nsecond"`, message: "first\nsecond"},
		{arg: "goroutine", kind: "panic", function: "main.main.func", at: "in a goroutine", kept: "created by main.main"},
		{arg: "deadlock", kind: "deadlock", function: "main.main", at: "mu.Lock()"},
		{arg: "stack", kind: "stack-overflow", function: "main.again", at: "again(n+1)"},
	} {
		t.Run(test.arg, func(t *testing.T) {
			test.tool, test.fatal = GoPanic, true
			test.find(t, source, stderrOf(t, "GOTRACEBACK=single", path, test.arg))
		})
	}
	if got := parseAll(stderrOf(t, "", path, "recovered")); len(got) > 0 {
		t.Errorf("a recovered panic: got %+v", got)
	}
}

// find looks for the report that is asked for among those of text.
func (want live) find(t *testing.T, source string, text []byte) {
	t.Helper()
	reports := parsePieces(text, 7)
	for _, r := range reports {
		if r.Tool != want.tool || r.Kind != want.kind {
			continue
		}
		lines := strings.Split("\n"+source, "\n")
		if want.at != "" && (r.Line >= len(lines) || !strings.Contains(lines[r.Line], want.at)) {
			t.Errorf("place = %s:%d, want the line with %q", r.File, r.Line, want.at)
		}
		if r.Fatal != want.fatal || want.access != "" && r.Access != want.access ||
			!strings.Contains(r.Function, want.function) {
			t.Errorf("fatal, access, function = %v, %s, %s; want %v, %s, %s", r.Fatal, r.Access, r.Function, want.fatal,
				want.access, want.function)
		}
		if !strings.Contains(r.Message+"\n"+r.Location, want.message) {
			t.Errorf("message, location = %q, %q; want %q", r.Message, r.Location, want.message)
		}
		titles := ""
		for _, s := range r.Stacks {
			titles += s.Title + "\n"
		}
		if !strings.Contains(titles, want.kept) {
			t.Errorf("stacks = %q, want %q", titles, want.kept)
		}
		return
	}
	t.Errorf("no %s %s in %+v of\n%s", want.tool, want.kind, reports, text)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stderrOf runs a program that fails and returns what it wrote to standard error.
func stderrOf(t *testing.T, env, path, arg string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	if arg != "" {
		cmd.Args = append(cmd.Args, arg)
	}
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("run %s %s: %v", path, arg, errors.Join(err, ctx.Err()))
	}
	return stderr.Bytes()
}

// parseAll reads a whole output at once.
func parseAll(text []byte) []Report {
	var p Parser
	return append(p.Write(text), p.Close()...)
}

// parsePieces reads it n bytes at a time.
func parsePieces(text []byte, n int) (all []Report) {
	var p Parser
	for len(text) > 0 {
		k := min(n, len(text))
		all = append(all, p.Write(text[:k])...)
		text = text[k:]
	}
	return append(all, p.Close()...)
}
