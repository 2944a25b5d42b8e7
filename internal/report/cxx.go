package report

import (
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	cxxThrew   = lazyregexp.MustCompile(`^terminate called after throwing an instance of '(.+)'$`)
	cxxABI     = lazyregexp.MustCompile(`^libc\+\+abi(?:\.dylib)?: (.+)$`)
	cxxABIType = lazyregexp.MustCompile(
		`^terminat(?:ing|e called) (?:due to|with) (?:uncaught|unexpected) exception of type (.+?)(?:: (.*))?$`)
	shellSays = lazyregexp.MustCompile(`(?:^|\s)(?:Aborted|Segmentation fault|Killed|Trace/breakpoint trap)(?:\s|$|\(|")`)
)

// cxxLines are the lines of what() that are waited for. Nothing ends the text, and the process ends
// with it: what follows is the text's rest or comes from other processes.
const cxxLines = 16

var cxxStarts = []string{"terminate called ", "pure virtual method called", "deleted virtual method called",
	"libc++abi"}

// cxxReport is the grammar of how libstdc++ and libc++abi announce std::terminate.
type cxxReport struct {
	what  bool // its first line has come
	lines []string
	pure  bool // a pure virtual call: libstdc++ says in a second line that it terminates
}

func openCxx(_ *Parser, l line) *block {
	if !slices.ContainsFunc(cxxStarts, func(start string) bool { return strings.HasPrefix(l.text, start) }) {
		return nil
	}
	b := &block{patience: 2}
	g := &cxxReport{}
	b.g = g
	b.r.Tool, b.r.Kind, b.r.Message, b.r.Fatal = CxxTerminate, "uncaught-exception", l.text, true
	switch l.text {
	case "terminate called without an active exception":
		b.r.Kind, b.g = "terminate", nil
		return b
	case "terminate called recursively":
		b.r.Kind, b.g = "terminate-recursive", nil
		return b
	case "pure virtual method called", "deleted virtual method called":
		b.r.Kind, g.pure = "pure-virtual-call", true
		return b
	}
	if m := cxxThrew.FindStringSubmatch(l.text); m != nil {
		b.r.Type, b.r.Message = clip(m[1], maxText), ""
		return b
	}
	if m := cxxABI.FindStringSubmatch(l.text); m != nil {
		return openABI(b, g, m[1])
	}
	return nil
}

// openABI reads what stands behind "libc++abi: ".
func openABI(b *block, g *cxxReport, text string) *block {
	b.r.Message = text
	m := cxxABIType.FindStringSubmatch(text)
	switch {
	case m != nil:
		b.r.Type, b.r.Message = clip(m[1], maxText), m[2]
		g.what, g.lines = true, []string{m[2]}
		return b
	case strings.HasPrefix(text, "Pure virtual function called"),
		strings.HasPrefix(text, "Deleted virtual function called"):
		b.r.Kind = "pure-virtual-call"
	case strings.HasPrefix(text, "terminate_handler unexpectedly"),
		strings.HasPrefix(text, "unexpected_handler unexpectedly"):
		b.r.Kind = "terminate-recursive"
	case strings.Contains(text, "foreign exception"):
	case strings.HasPrefix(text, "terminating"):
		b.r.Kind = "terminate"
	default:
		return nil
	}
	b.g = nil
	return b
}

func (g *cxxReport) take(b *block, l line) verdict {
	if g.pure {
		if strings.HasPrefix(l.text, "terminate called ") {
			return last
		}
		return foreign
	}
	if l.text == "terminate called recursively" {
		b.r.Kind = "terminate-recursive" // what() or the handler threw again
		return last
	}
	if l.header || shellSays.MatchString(l.text) {
		return over
	}
	if !g.what {
		rest, ok := strings.CutPrefix(l.text, "  what():  ")
		if !ok {
			return foreign
		}
		g.what, g.lines = true, []string{rest}
		return taken
	}
	if len(g.lines) > cxxLines {
		g.lines = g.lines[:1]
		b.cut(b.whatLines())
		return over
	}
	g.lines = append(g.lines, l.text)
	return taken
}

// whatLines is how many lines lead up to the end of what()'s first.
func (b *block) whatLines() int {
	if strings.HasPrefix(string(b.raw), "libc++abi") {
		return 1
	}
	return 2
}

func (g *cxxReport) finish(b *block) bool {
	if len(g.lines) > 0 {
		b.r.Message = strings.TrimRight(strings.Join(g.lines, "\n"), "\n")
	}
	return true
}
