package report

import (
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	valgrindLine  = lazyregexp.MustCompile(`^==(\d+)==(?: (.*))?$`)
	valgrindFrame = lazyregexp.MustCompile(`^   (?:at|by) 0x([0-9A-Fa-f]+): (.*)$`)
	valgrindPlace = lazyregexp.MustCompile(`^(.*) \((?:in (.*)|(.*):(\d+))\)$`)
	lostBlocks    = lazyregexp.MustCompile(
		`^([\d,]+) (?:\(.*\) )?bytes in ([\d,]+) blocks are (definitely|indirectly|possibly) lost in loss record`)
	threadError = lazyregexp.MustCompile(`^Thread #(\d+)(?:: | unlocked )(.+)$`)
	byThread    = lazyregexp.MustCompile(` at (0x[0-9A-Fa-f]+) by thread #(\d+)`)
	sizeOf      = lazyregexp.MustCompile(` of size (\d+)`)
)

// valgrindKinds maps how an error's first line begins to its kind.
var valgrindKinds = []struct{ start, kind, access string }{
	{"Invalid read of size", "invalid-read", "read"},
	{"Invalid write of size", "invalid-write", "write"},
	{"Invalid free() / delete", "invalid-free", ""},
	{"Mismatched free() / delete", "mismatched-free", ""},
	{"Mismatched new/delete", "mismatched-free", ""},
	{"Conditional jump or move depends on uninitialised", "uninitialised-value", ""},
	{"Use of uninitialised value", "uninitialised-value", "read"},
	{"Syscall param ", "invalid-syscall-argument", ""},
	{"Source and destination overlap in ", "overlap", ""},
	{"Jump to the invalid address", "invalid-jump", ""},
	{"Process terminating with default action of signal", "signal", ""},
	{"Possible data race during read", "data-race", "read"},
	{"Possible data race during write", "data-race", "write"},
	{"Conflicting load by thread", "data-race", "read"},
	{"Conflicting store by thread", "data-race", "write"},
	{"Illegal memory pool address", "invalid-pool", ""},
	{"Unaddressable byte(s) found during client check", "client-check", ""},
	{"Uninitialised byte(s) found during client check", "client-check", ""},
}

// valgrindReport is the grammar of one error of memcheck, helgrind or DRD: ==PID== before each
// line, up to an empty one.
// Those of the thread checkers have several parts with empty lines between.
type valgrindReport struct {
	parts bool
	pause bool // an empty line has come: perhaps its last
}

// valgrindParts begin the further parts of a thread checker's error.
var valgrindParts = []string{"This conflicts with", "Observed (incorrect) order", "Required order was", " followed by",
	" Lock at ", "Locks held", "Other segment"}

func openValgrind(_ *Parser, l line) *block {
	if !strings.HasPrefix(l.text, "==") {
		return nil
	}
	m := valgrindLine.FindStringSubmatch(l.text)
	if m == nil || m[2] == "" || m[2][0] == ' ' {
		return nil
	}
	g := &valgrindReport{}
	b := &block{g: g, patience: 64}
	b.r.Tool, b.r.PID, b.r.Message = Valgrind, number(m[1]), m[2]
	if size := sizeOf.FindStringSubmatch(m[2]); size != nil {
		b.r.Size = number(size[1])
	}
	for _, k := range valgrindKinds {
		if strings.HasPrefix(m[2], k.start) {
			b.r.Kind, b.r.Access, b.r.Fatal = k.kind, k.access, k.kind == "signal"
			g.parts = k.kind == "data-race"
			if by := byThread.FindStringSubmatch(m[2]); by != nil {
				b.r.Address, b.r.Thread = firstHex(by[1]), "#"+clip(by[2], 20)
			}
			return b
		}
	}
	if thread := threadError.FindStringSubmatch(m[2]); thread != nil {
		b.r.Thread, b.r.Kind, g.parts = "#"+clip(thread[1], 20), threadKind(thread[2]), true
		return b
	}
	if lost := lostBlocks.FindStringSubmatch(m[2]); lost != nil {
		b.r.Kind, b.r.Size, b.r.Count = "leak", number(strings.ReplaceAll(lost[1], ",", "")),
			number(strings.ReplaceAll(lost[2], ",", ""))
		return b
	}
	return nil
}

func threadKind(text string) string {
	switch {
	case strings.HasPrefix(text, "lock order "):
		return "lock-order-inversion"
	case strings.HasPrefix(text, "a not-locked lock"), strings.HasPrefix(text, "lock at "),
		strings.HasPrefix(text, "an invalid lock"):
		return "bad-unlock"
	case strings.HasPrefix(text, "Exiting thread still holds"):
		return "thread-holds-lock"
	}
	return "thread-error"
}

func (g *valgrindReport) take(b *block, l line) verdict {
	m := valgrindLine.FindStringSubmatch(l.text)
	if m == nil || number(m[1]) != b.r.PID {
		return foreign
	}
	text := m[2]
	if strings.TrimSpace(text) == "" {
		g.pause = true
		if g.parts {
			b.inStack = false
			return taken
		}
		return last
	}
	if l.header || g.pause && !slices.ContainsFunc(valgrindParts,
		func(part string) bool { return strings.HasPrefix(text, part) }) {
		return over
	}
	g.pause = false
	if f := valgrindFrame.FindStringSubmatch(text); f != nil {
		if !b.inStack {
			b.push(b.stackTitle())
		}
		b.frame(valgrindFrameOf(f))
		return taken
	}
	b.inStack = false
	if !strings.HasPrefix(text, "Locks held: none") {
		b.title = title(text)
	}
	switch {
	case strings.HasPrefix(text, " Address 0x"), strings.HasPrefix(text, " Access not within mapped region"),
		strings.HasPrefix(text, " Bad permissions"):
		if b.r.Address == 0 {
			b.r.Address = firstHex(strings.ToLower(text))
		}
		_, what, _ := strings.Cut(text, " is ")
		if what != "" {
			b.locate(what)
		} else {
			b.locate(strings.TrimSpace(text))
		}
	}
	return taken
}

// stackTitle names the next stack: what the error is for the first one.
func (b *block) stackTitle() string {
	if b.title == "" && len(b.r.Stacks) == 0 {
		return b.r.Message
	}
	return b.title
}

// valgrindFrameOf reads "name (file.c:14)" and "name (in /lib/libc.so.6)" behind an address.
func valgrindFrameOf(m []string) Frame {
	var f Frame
	f.PC, _ = hex("0x" + strings.ToLower(m[1]))
	p := valgrindPlace.FindStringSubmatch(m[2])
	if p == nil {
		f.Function = known(m[2])
		return f
	}
	f.Function, f.Module, f.File, f.Line = known(p[1]), p[2], p[3], number(p[4])
	return f
}

// finish drops a sentence without a stack, unless no stack is to be expected.
func (*valgrindReport) finish(b *block) bool {
	return len(b.r.Stacks) > 0 || b.r.Kind == "signal"
}
