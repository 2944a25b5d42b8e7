package report

import (
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// heapMessages are what glibc's allocator writes before it aborts, each a whole line, and their kinds.
var heapMessages = map[string]string{
	"double free or corruption (!prev)":                          "double-free",
	"double free or corruption (fasttop)":                        "double-free",
	"double free or corruption (out)":                            "double-free",
	"double free or corruption (top)":                            "double-free",
	"free(): double free detected in tcache 2":                   "double-free",
	"free(): double free detected in tcache":                     "double-free",
	"free(): invalid pointer":                                    "invalid-pointer",
	"munmap_chunk(): invalid pointer":                            "invalid-pointer",
	"mremap_chunk(): invalid pointer":                            "invalid-pointer",
	"realloc(): invalid pointer":                                 "invalid-pointer",
	"free(): too many chunks detected in tcache":                 "heap-corruption",
	"free(): unaligned chunk detected in tcache 2":               "heap-corruption",
	"free(): invalid size":                                       "heap-corruption",
	"free(): invalid next size (fast)":                           "heap-corruption",
	"free(): invalid next size (normal)":                         "heap-corruption",
	"free(): corrupted unsorted chunks":                          "heap-corruption",
	"malloc(): corrupted top size":                               "heap-corruption",
	"malloc(): corrupted unsorted chunks":                        "heap-corruption",
	"malloc(): corrupted unsorted chunks 2":                      "heap-corruption",
	"malloc(): corrupted unsorted chunks 3":                      "heap-corruption",
	"malloc(): invalid size (unsorted)":                          "heap-corruption",
	"malloc(): invalid next size (unsorted)":                     "heap-corruption",
	"malloc(): invalid next->prev_inuse (unsorted)":              "heap-corruption",
	"malloc(): mismatching next->prev_size (unsorted)":           "heap-corruption",
	"malloc(): unsorted double linked list corrupted":            "heap-corruption",
	"malloc(): largebin double linked list corrupted (nextsize)": "heap-corruption",
	"malloc(): largebin double linked list corrupted (bk)":       "heap-corruption",
	"malloc(): smallbin double linked list corrupted":            "heap-corruption",
	"malloc(): memory corruption":                                "heap-corruption",
	"malloc(): memory corruption (fast)":                         "heap-corruption",
	"malloc(): unaligned tcache chunk detected":                  "heap-corruption",
	"malloc(): unaligned fastbin chunk detected":                 "heap-corruption",
	"malloc(): unaligned fastbin chunk detected 2":               "heap-corruption",
	"malloc(): unaligned fastbin chunk detected 3":               "heap-corruption",
	"malloc_consolidate(): invalid chunk size":                   "heap-corruption",
	"malloc_consolidate(): unaligned fastbin chunk detected":     "heap-corruption",
	"tcache_thread_shutdown(): unaligned tcache chunk detected":  "heap-corruption",
	"corrupted size vs. prev_size":                               "heap-corruption",
	"corrupted size vs. prev_size in fastbins":                   "heap-corruption",
	"corrupted size vs. prev_size while consolidating":           "heap-corruption",
	"corrupted double-linked list":                               "heap-corruption",
	"corrupted double-linked list (not small)":                   "heap-corruption",
	"corrupted double-linked list 2 (not small)":                 "heap-corruption",
	"invalid fastbin entry (free)":                               "heap-corruption",
	"break adjusted to free malloc space":                        "heap-corruption",
	"realloc(): invalid old size":                                "heap-corruption",
	"realloc(): invalid next size":                               "heap-corruption",
	"The futex facility returned an unexpected error code.":      "futex",
	"pthread_mutex_lock: destroyed or corrupt":                   "mutex",
	"longjmp causes uninitialized stack frame":                   "longjmp",
}

var (
	stars       = lazyregexp.MustCompile(`^\*\*\* (.+?) \*\*\*(?:: (?:.+ )?terminated)?$`)
	oldHeap     = lazyregexp.MustCompile("^\\*\\*\\* Error in [`'](.+)': (.+): (0x[0-9a-f]+) \\*\\*\\*$")
	glibcFatal  = lazyregexp.MustCompile(`^Fatal glibc error: (?:(\S+\.[ch]):(\d+) \((\w+)\): )?(.+)$`)
	glibcAssert = lazyregexp.MustCompile("^(?:[^:]+: )?([^\\s:][^:]*):(\\d+): (.+): Assertion `(.*)' failed\\.$")
	assertErrno = lazyregexp.MustCompile(`^[^:]+: ([^\s:][^:]*):(\d+): (\w+): Unexpected error: (.+)\.$`)
	otherAssert = lazyregexp.MustCompile(`^Assertion failed: (.+) \(([^():]+): (\S+): (\d+)\)$`)
	appleAssert = lazyregexp.MustCompile(`^Assertion failed: \((.+)\), function (\S+), file (\S+), line (\d+)\.$`)
	stdcxxCheck = lazyregexp.MustCompile(`^(/[^:]+):(\d+): (.+): Assertion '(.*)' failed\.$`)
	libcxxCheck = lazyregexp.MustCompile(
		`^(/[^:]+):(\d+): (?:_LIBCPP_ASSERT '(.*)' failed\. ?|(?:libc\+\+ Hardening )?assertion (.*) failed(?:: |$))(.*)$`)
)

// starMessages are what stands between stars, and tool and kind.
var starMessages = map[string][2]string{
	"stack smashing detected":                                  {StackSmashing, "stack-smashing"},
	"buffer overflow detected":                                 {Fortify, "buffer-overflow"},
	"bit out of range 0 - FD_SETSIZE on fd_set":                {Fortify, "buffer-overflow"},
	"%n in writable segment detected":                          {Fortify, "format-string"},
	"invalid %N$ use detected":                                 {Fortify, "format-string"},
	"longjmp causes uninitialized stack frame":                 {Fortify, "longjmp"},
	"invalid open call: O_CREAT or O_TMPFILE without mode":     {Fortify, "open-without-mode"},
	"invalid open64 call: O_CREAT or O_TMPFILE without mode":   {Fortify, "open-without-mode"},
	"invalid openat call: O_CREAT or O_TMPFILE without mode":   {Fortify, "open-without-mode"},
	"invalid openat64 call: O_CREAT or O_TMPFILE without mode": {Fortify, "open-without-mode"},
}

// openLibc recognises the reports that are one line: glibc's aborts, assertions, library checks.
func openLibc(_ *Parser, l line) *block {
	if kind, ok := heapMessages[l.text]; ok {
		return &block{r: Report{Tool: Glibc, Kind: kind, Message: l.text, Fatal: true}}
	}
	var read func(b *block, text string) bool
	switch {
	case strings.HasPrefix(l.text, "*** "):
		read = (*block).starred
	case strings.HasPrefix(l.text, "Fatal glibc error: "):
		read = (*block).fatal
	case strings.Contains(l.text, "ssert"), strings.Contains(l.text, "_LIBCPP_ASSERT"):
		read = (*block).assertion
	case strings.Contains(l.text, ": Unexpected error: "):
		read = (*block).errno
	default:
		return nil
	}
	if b := (&block{r: Report{Fatal: true}}); read(b, l.text) {
		return b
	}
	return nil
}

func (b *block) fatal(text string) bool {
	m := glibcFatal.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	b.r.Tool, b.r.Kind, b.r.Message = Glibc, "fatal", m[4]
	b.at(m[1], m[2], m[3])
	if strings.HasPrefix(m[1], "malloc") || strings.HasPrefix(m[1], "arena") {
		b.r.Kind = "heap-corruption"
	}
	return true
}

func (b *block) starred(text string) bool {
	if m := oldHeap.FindStringSubmatch(text); m != nil {
		kind, ok := heapMessages[m[2]]
		b.r.Tool, b.r.Kind, b.r.Message = Glibc, kind, m[2]
		b.r.Address, _ = hex(m[3])
		return ok
	}
	m := stars.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	known, ok := starMessages[m[1]]
	b.r.Tool, b.r.Kind, b.r.Message = known[0], known[1], m[1]
	return ok
}

// at sets the place in the source.
func (b *block) at(file, ln, function string) {
	b.r.File, b.r.Line, b.r.Function = clip(file, maxText), number(ln), clip(function, maxText)
}

func (b *block) assertion(text string) bool {
	b.r.Tool, b.r.Kind = Assert, "assertion"
	if m := stdcxxCheck.FindStringSubmatch(text); m != nil && strings.Contains(m[3], "(") {
		b.r.Tool, b.r.Kind, b.r.Message = LibstdcxxCheck, checkKind(m[3], m[4]), m[4]
		b.at(m[1], m[2], m[3])
		return true
	}
	if m := libcxxCheck.FindStringSubmatch(text); m != nil {
		b.r.Tool, b.r.Message = LibcxxCheck, m[3]+m[4]
		b.r.Kind = checkKind(m[5], b.r.Message)
		if m[5] != "" {
			b.r.Message += ": " + m[5]
		}
		b.at(m[1], m[2], "")
		return true
	}
	if m := glibcAssert.FindStringSubmatch(text); m != nil {
		b.r.Message = m[4]
		b.at(m[1], m[2], m[3])
		if m[1] == "malloc.c" { // the allocator's own
			b.r.Tool, b.r.Kind = Glibc, "heap-corruption"
		}
		return true
	}
	if m := otherAssert.FindStringSubmatch(text); m != nil {
		b.r.Message = m[1]
		b.at(m[2], m[4], m[3])
		return true
	}
	if m := appleAssert.FindStringSubmatch(text); m != nil {
		b.r.Message = m[1]
		b.at(m[3], m[4], m[2])
		return true
	}
	return false
}

func (b *block) errno(text string) bool {
	m := assertErrno.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	b.r.Tool, b.r.Kind, b.r.Message = Assert, "unexpected-error", m[4]
	b.at(m[1], m[2], m[3])
	return true
}

// checkKind says what a library's check was about.
func checkKind(where, condition string) string {
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool {
			return strings.Contains(condition, p) || strings.Contains(where, p)
		})
	}
	switch {
	case contains("out of bounds", "__n < size()", "__n < this->size()", "__pos < size()", "__pos <= size()",
		"__idx < size()"):
		return "index-out-of-bounds"
	case contains("empty()", "empty vector", "empty container"):
		return "empty-container"
	case contains("_M_is_engaged", "has_value()", "disengaged"):
		return "empty-optional"
	case contains("get() != pointer()", "_M_get() != nullptr", "!= nullptr", "null pointer"):
		return "null-pointer"
	case contains("_M_locked", "owns_lock"):
		return "mutex"
	}
	return "assertion"
}
