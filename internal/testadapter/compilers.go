package testadapter

import (
	"path"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Compilers' messages, each as its own documentation or source has it: file:line:column: error: text of GCC, Clang and
// their kin; file:line:column: text of Go; error[code]: text and an arrow below of rustc; file(line,column): error of
// tsc and MSVC; CMake's, Meson's and linkers'.
var (
	ccError = lazyregexp.MustCompile(
		`^([^\s:][^:]*|[A-Za-z]:[^:]*):(\d+)(?::(\d+))?: (?:fatal )?(?:internal compiler )?(?i:error): ?(.*)$`)
	goError     = lazyregexp.MustCompile(`^(?:vet: )?([^\s:][^:]*\.go):(\d+)(?::(\d+))?: (.+)$`)
	rustError   = lazyregexp.MustCompile(`^error(?:\[(E\d+)\])?: (.+)$`)
	rustArrow   = lazyregexp.MustCompile(`^\s*--> (.+?):(\d+):(\d+)$`)
	tscError    = lazyregexp.MustCompile(`^(\S.*?)(?:\((\d+),(\d+)\)|:(\d+):(\d+)) ?[:-] (?:fatal )?error (\w+): (.+)$`)
	cmakeError  = lazyregexp.MustCompile(`^CMake Error(?: at ([^:]+):(\d+) \((.*)\))?:(.*)$`)
	mesonError  = lazyregexp.MustCompile(`^([^\s:]+meson[^:]*):(\d+):(\d+): ERROR: (.+)$`)
	linkMissing = lazyregexp.MustCompile(
		`(?:^|[ :])(undefined reference to .*|undefined symbol: .*|multiple definition of .*|cannot find -l\S+.*)$`)
	linkPlace = lazyregexp.MustCompile(`([^\s:(]+\.(?:c|cc|cpp|cxx|C|h|hpp|rs|m|mm)):(\d+): undefined`)
	linkEnd   = lazyregexp.MustCompile(
		`^(?:collect2: error|clang(?:\+\+)?(?:-\d+)?: error|error: linking with|(?:\S*/)?ld(?:\.\w+)?: error:? ?)`)
)

// maxErrors bounds the compile errors of one package: the first ones are the cause of the others.
const maxErrors = 20

// compileErrors finds what compilers reported. dir is the folder below Root that relative paths are of.
func (n *native) compileErrors(text, dir string) []Failure {
	var all []Failure
	var pending *Failure // has its text, and its place comes below
	seen := map[string]bool{}
	add := func(f Failure) {
		key := f.File + ":" + strconv.Itoa(f.Line) + ":" + f.Message
		if len(all) < maxErrors && !seen[key] {
			seen[key] = true
			all = append(all, f)
		}
	}
	flush := func() {
		if pending != nil {
			add(*pending)
			pending = nil
		}
	}
	for line := range strings.Lines(clean(text)) {
		line = strings.TrimRight(line, "\n")
		if pending != nil {
			if m := rustArrow.FindStringSubmatch(line); m != nil && pending.File == "" && pending.Kind == "compile" {
				pending.File, pending.Line, pending.Column = n.source(dir, m[1]), number(m[2]), number(m[3])
				flush()
				continue
			}
			if (strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")) && strings.TrimSpace(line) != "" &&
				len(pending.Message) < 1000 {
				if pending.Message = strings.TrimSpace(pending.Message + "\n" + strings.TrimSpace(line)); pending.Line == 0 {
					continue
				}
				continue
			}
			if line == "" && pending.Message == "" {
				continue
			}
			flush()
		}
		f, more, ok := n.compilerLine(line, dir)
		switch {
		case !ok:
		case more:
			pending = &f
		default:
			add(f)
		}
	}
	flush()
	if len(all) == 0 {
		for line := range strings.Lines(clean(text)) {
			if line = strings.TrimSpace(line); linkEnd.MatchString(line) {
				add(Failure{Kind: "compile", Message: line})
			}
		}
	}
	return all
}

// compilerLine reads one line; more says that lines below belong to it.
func (n *native) compilerLine(line, dir string) (f Failure, more, ok bool) {
	f.Kind = "compile"
	at := func(file, line, column string) {
		f.File, f.Line, f.Column = n.source(dir, file), number(line), number(column)
	}
	if m := ccError.FindStringSubmatch(line); m != nil {
		at(m[1], m[2], m[3])
		f.Message = m[4]
		return f, false, true
	}
	if m := mesonError.FindStringSubmatch(line); m != nil {
		at(m[1], m[2], m[3])
		f.Message = m[4]
		return f, false, true
	}
	if m := goError.FindStringSubmatch(line); m != nil {
		at(m[1], m[2], m[3])
		f.Message = m[4]
		return f, true, true
	}
	if m := tscError.FindStringSubmatch(line); m != nil {
		at(m[1], m[2]+m[4], m[3]+m[5])
		f.Message = m[6] + ": " + m[7]
		return f, false, true
	}
	if m := cmakeError.FindStringSubmatch(line); m != nil {
		at(m[1], m[2], "")
		f.Message = strings.TrimSpace(m[4])
		return f, true, true
	}
	if m := rustError.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], "could not compile") &&
		!strings.HasPrefix(m[2], "aborting due to") {
		f.Message = m[2]
		if m[1] != "" {
			f.Message = m[1] + ": " + m[2]
		}
		return f, true, true
	}
	if m := linkMissing.FindStringSubmatch(line); m != nil {
		f.Message = m[1]
		if p := linkPlace.FindStringSubmatch(line); p != nil {
			at(p[1], p[2], "")
		}
		return f, false, true
	}
	return f, false, false
}

// source is a path in a compiler's message. Build systems run compilers in their build folder, so that paths go up from
// there.
func (n *native) source(dir, name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return n.rel(name)
	}
	if joined := path.Join(dir, name); n.exists(joined) {
		return joined
	}
	trimmed := name
	for strings.HasPrefix(trimmed, "../") {
		trimmed = trimmed[3:]
	}
	if trimmed = strings.TrimPrefix(trimmed, "./"); n.exists(trimmed) {
		return trimmed
	}
	return path.Join(dir, name)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
