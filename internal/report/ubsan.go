package report

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	ubsanHeader = lazyregexp.MustCompile(`^(<unknown>|[^\s:][^:]*:\d+(?::\d+)?): runtime error: (\S.*)$`)
	ubsanNote   = lazyregexp.MustCompile(`^0x[0-9a-f]+: note: `)
	ubsanDump   = lazyregexp.MustCompile(`^ +[0-9a-f]{2}(?: +[0-9a-f]{2}| \?\?)*[ ?]*$`)
	ubsanMark   = lazyregexp.MustCompile(`^ *\^[~ ]*$`)
	ubsanSource = lazyregexp.MustCompile(`^\S+:\d+(?::\d+)?: note: `)
)

// ubsanKinds maps what a message says to a kind; the first that fits holds.
var ubsanKinds = []struct{ part, kind string }{
	{"signed integer overflow", "signed-integer-overflow"},
	{"unsigned integer overflow", "unsigned-integer-overflow"},
	{"negation of", "negation-overflow"},
	{"shift exponent", "shift-out-of-bounds"},
	{"left shift of", "shift-out-of-bounds"},
	{"right shift of", "shift-out-of-bounds"},
	{"division by zero", "division-by-zero"},
	{"divided by zero", "division-by-zero"},
	{"division of", "division-overflow"},
	{"out of bounds for type", "index-out-of-bounds"},
	{"misaligned address", "misaligned-pointer"},
	{"with insufficient space", "object-too-small"},
	{"does not point to an object of type", "wrong-object-type"},
	{"which is not a valid value for type", "invalid-value"},
	{"outside the range of representable values", "float-cast-overflow"},
	{"implicit conversion from", "implicit-conversion"},
	{"null pointer returned from", "null-returned"},
	{"null pointer passed as argument", "null-argument"},
	{"pointer expression with base", "pointer-overflow"},
	{"to null pointer", "pointer-overflow"},
	{"pointer index expression", "pointer-overflow"},
	{"addition of unsigned offset", "pointer-overflow"},
	{"subtraction of unsigned offset", "pointer-overflow"},
	{"null pointer", "null-pointer"},
	{"execution reached an unreachable program point", "unreachable"},
	{"execution reached the end of a value-returning function", "missing-return"},
	{"variable length array bound", "vla-bound"},
	{"through pointer to incorrect function type", "wrong-function-type"},
	{"control flow integrity check", "control-flow-integrity"},
	{"passing zero to", "invalid-builtin"},
	{"assumption is violated", "assumption-violated"},
	{"alignment assumption", "alignment-assumption"},
}

// ubsanReport is the grammar of UndefinedBehaviorSanitizer's reports, which are one line, notes
// with a piece of memory, and if asked for a stack and a summary.
type ubsanReport struct{}

func openUBSan(_ *Parser, l line) *block {
	if !strings.Contains(l.text, ": runtime error: ") {
		return nil
	}
	m := ubsanHeader.FindStringSubmatch(l.text)
	if m == nil {
		return nil
	}
	b := &block{g: ubsanReport{}, patience: 3}
	b.r.Tool, b.r.Message, b.r.Kind = UBSan, m[2], "undefined-behavior"
	for _, k := range ubsanKinds {
		if strings.Contains(m[2], k.part) {
			b.r.Kind = k.kind
			break
		}
	}
	file, ln, column := place(m[1])
	b.r.File, b.r.Line, b.r.Column = clip(known(file), maxText), ln, column
	switch {
	case strings.HasPrefix(m[2], "load of"):
		b.r.Access = "read"
	case strings.HasPrefix(m[2], "store to"):
		b.r.Access = "write"
	}
	if _, after, ok := strings.Cut(m[2], "address 0x"); ok {
		b.r.Address = firstHex("0x" + after)
	}
	return b
}

func (ubsanReport) take(b *block, l line) verdict {
	if n, f, ok := sanitizerFrame(l.text); ok && (n == 0 && !b.inStack || b.inStack && n == b.next) {
		if n == 0 {
			b.push("")
			b.r.Function = clip(f.Function, maxText)
			if f.Line == b.r.Line && strings.HasSuffix(f.File, "/"+b.r.File) {
				b.r.File = clip(f.File, maxText) // the report itself names it as the compiler was told
			}
		}
		b.next = n + 1
		b.frame(f)
		return taken
	}
	switch {
	case strings.HasPrefix(l.text, "SUMMARY: UndefinedBehaviorSanitizer: "):
		return last
	case l.header:
		return over
	case ubsanNote.MatchString(l.text), ubsanSource.MatchString(l.text):
		if _, note, _ := strings.Cut(l.text, ": note: "); note != "pointer points here" {
			b.locate(note)
		}
		return taken
	case ubsanDump.MatchString(l.text), ubsanMark.MatchString(l.text),
		strings.HasPrefix(strings.TrimSpace(l.text), "vptr for '"):
		return taken
	case l.text == "" && b.inStack:
		return taken // ends the stack, before the summary
	}
	return foreign
}

func (ubsanReport) finish(*block) bool { return true }
