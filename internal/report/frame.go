package report

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	moduleAt = lazyregexp.MustCompile(`^\(([^()]*(?:\([^()]*\)[^()]*)*)\+0x([0-9a-f]+)\)$`)
	fileLine = lazyregexp.MustCompile(`^(.*?):(\d+)(?::(\d+))?$`)
)

// sanitizerFrame reads a line of a sanitizer's stack:
//
//	#0 0x55d in name(int) /dir/file.c:14:3
//	#0 0x55d in name (/dir/program+0x21c0) (BuildId: 2c7c)
//	#0 0x55d  (/dir/program+0x21c0)
//	#0 name file.cpp:11 (program+0x22e1)
//	#6 <null> <null> (libstdc++.so.6+0xd44a2)
func sanitizerFrame(text string) (number int, f Frame, ok bool) {
	text = strings.TrimLeft(text, " ")
	if len(text) < 4 || text[0] != '#' {
		return 0, f, false
	}
	digits, text, _ := strings.Cut(text[1:], " ")
	number, err := strconv.Atoi(digits)
	if err != nil || number < 0 {
		return 0, f, false
	}
	text = strings.TrimSpace(text)
	pc, rest, _ := strings.Cut(text, " ")
	if v, is := hex(pc); is {
		f.PC, text = v, strings.TrimSpace(rest)
		text = strings.TrimPrefix(text, "in ")
	}
	if i := strings.LastIndex(text, "(BuildId: "); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	text = f.module(text)
	f.Function, f.File, f.Line, f.Column = functionAndFile(text)
	return number, f, f.PC != 0 || f.File != "" || f.Module != ""
}

// module takes "(/dir/program+0x21c0)" off the end of text. The path may have parentheses, too.
func (f *Frame) module(text string) string {
	for _, at := range []int{strings.LastIndex(text, " ("), strings.Index(text, " (/"), 0} {
		if at < 0 || at == 0 && !strings.HasPrefix(text, "(") {
			continue
		}
		if m := moduleAt.FindStringSubmatch(strings.TrimPrefix(text[at:], " ")); m != nil {
			f.Module = m[1]
			f.Offset, _ = strconv.ParseUint(m[2], 16, 64)
			return strings.TrimSpace(text[:at])
		}
	}
	return text
}

// functionAndFile splits "name(int, char) /dir/file.c:14:3". Both parts may have spaces.
func functionAndFile(text string) (function, file string, ln, column int) {
	at := strings.Index(text, " /")
	if at < 0 {
		at = strings.LastIndexByte(text, ' ')
	}
	if at < 0 {
		return known(text), "", 0, 0
	}
	function, where := text[:at], text[at+1:]
	file, ln, column = place(where)
	if ln == 0 && !strings.ContainsAny(where, "/<") {
		return known(text), "", 0, 0 // a space in the name, and no file
	}
	return known(function), known(file), ln, column
}

// place splits "file:line" and "file:line:column".
func place(text string) (file string, ln, column int) {
	m := fileLine.FindStringSubmatch(text)
	if m == nil {
		return text, 0, 0
	}
	return m[1], number(m[2]), number(m[3])
}

func known(name string) string {
	name = strings.TrimSpace(name)
	if name == "<null>" || name == "<unknown>" || name == "??" || name == "???" {
		return ""
	}
	return name
}

// number returns the value of decimal digits, 0 where they are none or too many.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// hex returns the value of a number written as 0x….
func hex(text string) (uint64, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}

// firstHex returns the first address in text, 0 if there is none.
func firstHex(text string) uint64 {
	for {
		i := strings.Index(text, "0x")
		if i < 0 {
			return 0
		}
		end := i + 2
		for end < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[end]) >= 0 {
			end++
		}
		if v, err := strconv.ParseUint(text[i+2:end], 16, 64); err == nil {
			return v
		}
		text = text[i+2:]
	}
}

var (
	runtimeFiles = []string{
		"libsanitizer/", "compiler-rt/", "/rustc/", "/sysdeps/", "csu/libc-start.c",
		"runtime/panic.go", "runtime/map", "runtime/signal", "runtime/error.go",
		"vg_replace_malloc.c", "vg_replace_strmem.c", "malloc/malloc.c", "internal/runtime/",
	}
	runtimeNames = []string{"__interceptor_", "___interceptor_", "__asan_", "__ubsan_", "__tsan_", "__msan_",
		"operator new", "operator delete", "runtime.", "internal/", "sync.", "panic", "std::panicking::", "core::panicking::",
		"core::option::", "core::result::"}
)

// runtimeFrame reports whether a frame is the runtime's rather than the program's.
func runtimeFrame(f Frame) bool {
	if strings.Contains(f.File, "/c++/") && strings.Contains(f.File, "include/") {
		return true
	}
	for _, part := range runtimeFiles {
		if strings.Contains(f.File, part) {
			return true
		}
	}
	for _, prefix := range runtimeNames {
		if rest, ok := strings.CutPrefix(f.Function, prefix); ok && (prefix != "panic" || rest == "") {
			return true
		}
	}
	return false
}
