package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForms reads what other versions and systems write than those that testdata/recorded is of.
func TestForms(t *testing.T) {
	const frame = "    #0 0x1234 in f /a/b.c:3:4\n\n"
	tests := []struct{ name, text, want string }{
		{"rust before 1.73", "thread 'main' panicked at 'index out of bounds: the len is 3 but the index is 7', " +
			"src/main.rs:2:5\n",
			"rust-panic index-out-of-bounds src/main.rs:2:5 main false"},
		{"rust before 1.73, lines", "thread 'a b' panicked at 'first\nit's\nlast', src/main.rs:2:5\nnote: run with " +
			"`RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			"rust-panic panic src/main.rs:2:5 a b false"},
		{"rust without id", "thread 'main' panicked at src/main.rs:2:5:\nexplicit panic\nnote: run with `RUST_BACKTRACE=1` " +
			"environment variable to display a backtrace\n",
			"rust-panic panic src/main.rs:2:5 main false"},
		{"libc++ hardening", "/usr/lib/llvm-18/bin/../include/c++/v1/vector:1436: assertion __n < size() failed: vector[] " +
			"index out of bounds\n",
			"libcxx-assert index-out-of-bounds /usr/lib/llvm-18/bin/../include/c++/v1/vector:1436:0  true"},
		{"libc++abi now", "libc++abi: terminating due to uncaught exception of type std::runtime_error: closed\n",
			"cxx-terminate uncaught-exception :0:0  true"},
		{"musl assert", "Assertion failed: n == 3 (main.c: main: 12)\n", "assert assertion main.c:12:0  true"},
		{"apple assert", "Assertion failed: (n == 3), function main, file main.c, line 12.\n",
			"assert assertion main.c:12:0  true"},
		{"assert without program", "main.c:12: main: Assertion `n == 3' failed.\n", "assert assertion main.c:12:0  true"},
		{"assert in a namespace", "a.out: /s/a.cpp:12: int app::f(const char*): Assertion `n == \"a: b\"' failed.\n",
			"assert assertion /s/a.cpp:12:0  true"},
		{"malloc's assert", "a.out: malloc.c:2379: sysmalloc: Assertion `(old_top == initial_top (av) && old_size == 0)' " +
			"failed.\n", "glibc heap-corruption malloc.c:2379:0  true"},
		{"malloc's fatal error", "Fatal glibc error: malloc.c:2599 (sysmalloc): assertion failed: (old_top == initial_top " +
			"(av))\n", "glibc heap-corruption malloc.c:2599:0  true"},
		{"old malloc", "*** Error in `./a.out': double free or corruption (fasttop): 0x00000000010a6010 ***\n",
			"glibc double-free :0:0  true"},
		{"old stack protector", "*** stack smashing detected ***: <unknown> terminated\n",
			"stack-smashing stack-smashing :0:0  true"},
		{"older stack protector", "*** stack smashing detected ***: ./a.out terminated\n",
			"stack-smashing stack-smashing :0:0  true"},
		{"carriage returns", "*** stack smashing detected ***: terminated\r\n", "stack-smashing stack-smashing :0:0  true"},
		{"without newline", "free(): invalid pointer", "glibc invalid-pointer :0:0  true"},
		{"hwasan", "==5==ERROR: HWAddressSanitizer: tag-mismatch on address 0x0040 at pc 0x1\nREAD of size 4 at 0x0040 " +
			"tags: 01/02 (ptr/mem) in thread T0\n" + frame + "==5==ABORTING\n",
			"hwasan tag-mismatch /a/b.c:3:4 T0 true"},
		{"libFuzzer", "==5== ERROR: libFuzzer: deadly signal\n" + frame + "SUMMARY: libFuzzer: deadly signal\n",
			"libfuzzer deadly-signal /a/b.c:3:4  false"},
		{"alloc-dealloc-mismatch", "==5==ERROR: AddressSanitizer: alloc-dealloc-mismatch (malloc vs operator delete) " +
			"on 0x40\n" + frame + "==5==ABORTING\n", "asan alloc-dealloc-mismatch /a/b.c:3:4  true"},
		{"container-overflow", "==5==ERROR: AddressSanitizer: container-overflow on address 0x40 at pc 0x1 bp 0x2 sp " +
			"0x3\nWRITE of size 4 at 0x40 thread T2 (worker)\n" + frame, "asan container-overflow /a/b.c:3:4 T2 false"},
		{"go in C code", "SIGSEGV: segmentation violation\nPC=0x1 m=0 sigcode=1 addr=0x40\nsignal arrived during cgo " +
			"execution\n\ngoroutine 1 gp=0x1 m=0 mp=0x2 [syscall]:\nmain.main()\n\t/a/b.go:3 +0x4\n",
			"go-panic signal /a/b.go:3:0 goroutine 1 true"},
		{"go with minutes", "panic: x\n\ngoroutine 1 [select, 5 minutes, locked to thread]:\nmain.(*T).f.func1({0x1, " +
			"0x2})\n\t/a/b.go:3 +0x4\nexit status 2\n", "go-panic panic /a/b.go:3:0 goroutine 1 true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got string
			for _, r := range parse([]byte(test.text), whole) {
				got += fmt.Sprintf("%s %s %s:%d:%d %s %v", r.Tool, r.Kind, r.File, r.Line, r.Column, r.Thread, r.Fatal)
			}
			if got != test.want {
				t.Errorf("parse(%q)\n got %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// TestFrames reads single lines of sanitizers' stacks.
func TestFrames(t *testing.T) {
	tests := []struct {
		text   string
		number int
		want   Frame
	}{
		{"    #0 0x55d in name(int, char) /dir/my file.c:14:3", 0,
			Frame{PC: 0x55d, Function: "name(int, char)", File: "/dir/my file.c", Line: 14, Column: 3}},
		{"    #12 0x55d in _start (/dir/program+0x21c0) (BuildId: 2c7c)", 12,
			Frame{PC: 0x55d, Function: "_start", Module: "/dir/program", Offset: 0x21c0}},
		{"    #1 0x55d  (/dir/a (1)/program+0x21c0)", 1, Frame{PC: 0x55d, Module: "/dir/a (1)/program", Offset: 0x21c0}},
		{"    #1 0x55d (/dir/program+0x21c0)", 1, Frame{PC: 0x55d, Module: "/dir/program", Offset: 0x21c0}},
		{"    #2 operator new(unsigned long) ../src/new.cpp:64 (libtsan.so.2+0x87323)", 2,
			Frame{Function: "operator new(unsigned long)", File: "../src/new.cpp", Line: 64, Module: "libtsan.so.2",
				Offset: 0x87323}},
		{"    #6 <null> <null> (libstdc++.so.6+0xd44a2)", 6, Frame{Module: "libstdc++.so.6", Offset: 0xd44a2}},
		{"    #3 0x1 in a::f(std::function<void (int)>) const b.cpp:7", 3,
			Frame{PC: 1, Function: "a::f(std::function<void (int)>) const", File: "b.cpp", Line: 7}},
		{"    #3 0x1 in operator delete(void*)", 3, Frame{PC: 1, Function: "operator delete(void*)"}},
	}
	for _, test := range tests {
		number, got, ok := sanitizerFrame(test.text)
		if diff := cmp.Diff(test.want, got); !ok || number != test.number || diff != "" {
			t.Errorf("sanitizerFrame(%q) = %d, %v (-want +got):\n%s", test.text, number, ok, diff)
		}
	}
	for _, text := range []string{"", "#", "#0", "#a b c", "    #0 this is prose", "#99999999999999999999 0x1 in f"} {
		if _, f, ok := sanitizerFrame(text); ok {
			t.Errorf("sanitizerFrame(%q) = %+v", text, f)
		}
	}
}

// TestGoMethods: a frame of a Go program's last words has its whole name, be it a method's.
func TestGoMethods(t *testing.T) {
	text := "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [sync.Mutex.Lock]:\n" +
		"internal/sync.(*Mutex).lockSlow(0xc000012345)\n\t/go/mutex.go:149 +0x15d\n" +
		"main.(*Stack[...]).Push({0x1, {0x2?, 0x3}}, ...)\n\t/a/b.go:4 +0x1\nmain.main.func1()\n\t/a/b.go:3 +0x4\n"
	var got []string
	for _, r := range parse([]byte(text), whole) {
		for _, f := range r.Stacks[0].Frames {
			got = append(got, f.Function)
		}
	}
	want := []string{"internal/sync.(*Mutex).lockSlow", "main.(*Stack[...]).Push", "main.main.func1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
