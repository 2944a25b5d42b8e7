package report

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	// Since Rust 1.73 the message is on the lines after the first; before, it stood in quotes in the first.
	rustPanic    = lazyregexp.MustCompile(`^thread '(.*)' (?:\(\d+\) )?panicked at (.+):(\d+):(\d+):$`)
	rustOldPanic = lazyregexp.MustCompile(`^thread '(.*)' panicked at '(.*)', (.+):(\d+):(\d+)$`)
	rustOldOpen  = lazyregexp.MustCompile(`^thread '(.*)' panicked at '(.*)$`)
	rustOldEnd   = lazyregexp.MustCompile(`^(.*)', (.+\.rs):(\d+):(\d+)$`)
	rustOverflow = lazyregexp.MustCompile(`^thread '(.*)' (?:\(\d+\) )?has overflowed its stack$`)
	rustOOM      = lazyregexp.MustCompile(`^memory allocation of (\d+) bytes failed$`)
	rustFrame    = lazyregexp.MustCompile(`^ *(\d+): +(?:(0x[0-9a-f]+) - )?(\S.*)$`)
	rustAt       = lazyregexp.MustCompile(`^ +at (.+?):(\d+)(?::(\d+))?$`)
)

// rustKinds maps how a panic's message begins to its kind.
var rustKinds = []struct{ start, kind string }{
	{"index out of bounds: ", "index-out-of-bounds"},
	{"range start index ", "slice-out-of-bounds"},
	{"range end index ", "slice-out-of-bounds"},
	{"slice index starts at ", "slice-out-of-bounds"},
	{"byte index ", "string-index"},
	{"start byte index ", "string-index"},
	{"end byte index ", "string-index"},
	{"begin <= end ", "string-index"},
	{"attempt to divide by zero", "division-by-zero"},
	{"attempt to calculate the remainder with a divisor of zero", "division-by-zero"},
	{"called `Option::unwrap()` on a `None` value", "unwrap-none"},
	{"called `Result::unwrap()` on an `Err` value", "unwrap-err"},
	{"called `Result::unwrap_err()` on an `Ok` value", "unwrap-ok"},
	{"already borrowed", "already-borrowed"},
	{"already mutably borrowed", "already-borrowed"},
	{"RefCell already ", "already-borrowed"},
	{"assertion ", "assertion"},
	{"internal error: entered unreachable code", "unreachable"},
	{"not implemented", "not-implemented"},
	{"not yet implemented", "not-implemented"},
	{"panic in a function that cannot unwind", "panic-cannot-unwind"},
	{"panic in a destructor during cleanup", "panic-in-drop"},
	{"misaligned pointer dereference", "misaligned-pointer"},
	{"null pointer dereference occurred", "null-pointer"},
	{"unsafe precondition(s) violated", "unsafe-precondition"},
}

// Lines of a message that nothing ends: with the first panic comes a note, and with every one where
// backtraces are on; otherwise the text just stops.
const (
	rustFirstLines = 64
	rustLaterLines = 8
)

// rustReport is the grammar of a panic: message, then perhaps a backtrace or a note.
type rustReport struct {
	p       *Parser
	lines   []string // of the message
	size    int
	limit   int  // of lines
	message bool // is complete
	trace   bool
	noted   bool // the note has come: only the word that the process aborts may follow
	old     bool // the message ends with quote and place
}

func openRust(p *Parser, l line) *block {
	threads := strings.HasPrefix(l.text, "thread '")
	if !threads && !strings.HasPrefix(l.text, "memory allocation of ") {
		return nil
	}
	b := &block{patience: 4}
	b.r.Tool, b.r.Kind = RustPanic, "panic"
	if m := rustOOM.FindStringSubmatch(l.text); m != nil {
		b.r.Kind, b.r.Message, b.r.Fatal, b.r.Size = "out-of-memory", l.text, true, number(m[1])
		b.g = &rustReport{p: p, message: true}
		return b
	}
	if !threads {
		return nil
	}
	g := &rustReport{p: p, limit: rustFirstLines}
	b.g = g
	if p.noted {
		g.limit = rustLaterLines
	}
	if m := rustPanic.FindStringSubmatch(l.text); m != nil {
		b.r.Thread = clip(m[1], maxText)
		b.r.File, b.r.Line, b.r.Column = clip(m[2], maxText), number(m[3]), number(m[4])
		return b
	}
	if m := rustOldPanic.FindStringSubmatch(l.text); m != nil {
		g.message, b.r.Message, b.r.Thread = true, m[2], clip(m[1], maxText)
		b.r.File, b.r.Line, b.r.Column = clip(m[3], maxText), number(m[4]), number(m[5])
		return b
	}
	if m := rustOldOpen.FindStringSubmatch(l.text); m != nil {
		b.r.Thread = clip(m[1], maxText)
		g.old, g.lines = true, []string{m[2]}
		return b
	}
	if m := rustOverflow.FindStringSubmatch(l.text); m != nil {
		g.message, b.r.Kind, b.r.Message, b.r.Fatal = true, "stack-overflow", l.text, true
		b.r.Thread = clip(m[1], maxText)
		return b
	}
	return nil
}

func (g *rustReport) take(b *block, l line) verdict {
	switch {
	case rustAborts(l.text):
		b.r.Fatal = true
		g.message = true
		return last
	case l.header:
		return over
	case g.noted:
		if l.text == "" {
			return foreign
		}
		return over
	case strings.HasPrefix(l.text, "note: run with `RUST_BACKTRACE="),
		strings.HasPrefix(l.text, "note: Some details are omitted, run with `RUST_BACKTRACE="):
		g.p.noted = g.p.noted || strings.HasPrefix(l.text, "note: run with")
		g.message, g.noted = true, true
		return taken
	case l.text == "stack backtrace:":
		g.message, g.trace = true, true
		b.push("stack backtrace")
		return taken
	case g.trace:
		return g.frame(b, l.text)
	case g.message:
		return foreign
	}
	return g.say(b, l)
}

func rustAborts(text string) bool {
	return text == "thread caused non-unwinding panic. aborting." || strings.HasPrefix(text, "fatal runtime error: ") ||
		strings.HasPrefix(text, "thread panicked while p") && strings.HasSuffix(text, "aborting.")
}

// say adds a line to the message.
func (g *rustReport) say(b *block, l line) verdict {
	if m := rustOldEnd.FindStringSubmatch(l.text); m != nil && g.old {
		g.lines = append(g.lines, m[1])
		b.r.File, b.r.Line, b.r.Column = clip(m[2], maxText), number(m[3]), number(m[4])
		g.message = true
		return taken
	}
	if len(g.lines) == g.limit || g.size > maxMessage {
		return over
	}
	g.lines = append(g.lines, l.text)
	g.size += len(l.text)
	return taken
}

func (g *rustReport) frame(b *block, text string) verdict {
	if m := rustAt.FindStringSubmatch(text); m != nil {
		if f := b.lastFrame(); f != nil && f.File == "" && b.r.Omitted == 0 {
			f.File, f.Line, f.Column = clip(m[1], maxText), number(m[2]), number(m[3])
		}
		return taken
	}
	m := rustFrame.FindStringSubmatch(text)
	if m == nil || number(m[1]) != b.next {
		return foreign
	}
	b.next++
	f := Frame{Function: known(m[3])}
	f.PC, _ = hex(m[2])
	b.frame(f)
	return taken
}

// finish puts the message together. Where nothing ended it, it is the first line and what clearly
// goes on from it: the rest may be the program's further output.
func (g *rustReport) finish(b *block) bool {
	if !g.message && len(g.lines) > 1 {
		n := 1
		for n < len(g.lines) && continues(g.lines[n]) {
			n++
		}
		g.lines = g.lines[:n]
		b.cut(1 + n)
	}
	if b.r.Message == "" {
		b.r.Message = strings.Join(g.lines, "\n")
	}
	for _, k := range rustKinds {
		if b.r.Kind == "panic" && strings.HasPrefix(b.r.Message, k.start) {
			b.r.Kind = k.kind
		}
	}
	if b.r.Kind == "panic" && strings.HasPrefix(b.r.Message, "attempt to ") &&
		strings.HasSuffix(b.r.Message, " with overflow") {
		b.r.Kind = "arithmetic-overflow"
	}
	return !g.old || b.r.File != ""
}

// continues reports whether a line is the rest of a printed value or of a comparison.
func continues(text string) bool {
	return text != "" && strings.IndexByte(" \t}])", text[0]) >= 0
}
