// Package report reads what language runtimes and checkers write to standard error when a program
// goes wrong, and says it as structure: sanitizers, valgrind, glibc, libstdc++ and libc++, Rust, Go,
// Python and the JVM.
//
// It stands beside the timeline: the session passes the bytes of a target's standard error on, and
// puts the reports into crash events. The package does no I/O and imports nothing of ours.
//
// Invariants: how the stream is cut into writes changes nothing; memory is bounded by the constants
// below whatever the bytes are; no bytes make it panic. A report needs evidence beyond one
// phrase in a text: a header stands at the beginning of a line, and where prose could
// look the same, frames or a summary must follow.
//
// A report that a program writes after text without a newline is not seen: what stands inside a
// line is more often a quotation.
package report

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tools: who wrote the report.
const (
	ASan           = "asan"
	HWASan         = "hwasan"
	UBSan          = "ubsan"
	TSan           = "tsan"
	LSan           = "lsan"
	MSan           = "msan"
	LibFuzzer      = "libfuzzer"
	Valgrind       = "valgrind"
	Glibc          = "glibc"
	Assert         = "assert"
	StackSmashing  = "stack-smashing"
	Fortify        = "fortify"
	CxxTerminate   = "cxx-terminate"
	LibstdcxxCheck = "libstdcxx-assert"
	LibcxxCheck    = "libcxx-assert"
	RustPanic      = "rust-panic"
	GoPanic        = "go-panic"
	Python         = "python"
	JVM            = "jvm"
)

// Report is one thing that a runtime said went wrong.
type Report struct {
	Tool    string `json:"tool"`
	Kind    string `json:"kind"`              // lower case with hyphens: heap-use-after-free, data-race, leak, …
	Message string `json:"message,omitempty"` // as written, without the tool's prefix; may have several lines
	Type    string `json:"type,omitempty"`    // of an exception: its type

	Access  string `json:"access,omitempty"`  // read or write; empty where the report does not tell
	Size    int    `json:"size,omitempty"`    // bytes accessed, or leaked
	Address uint64 `json:"address,omitempty"` // that was accessed or freed
	PID     int    `json:"pid,omitempty"`     // where the report tells
	Signal  string `json:"signal,omitempty"`  // that the runtime handled, before it ended the process in another way
	Code    string `json:"code,omitempty"`    // of that signal: SEGV_MAPERR
	Log     string `json:"log,omitempty"`     // a file with more, in the target's eyes
	Thread  string `json:"thread,omitempty"`  // as the runtime names it: T1, main thread, worker-1, goroutine 7

	// The place in the program's source: the one that the report names, or the first frame that is
	// not the runtime's own.
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`

	Location string  `json:"location,omitempty"` // what lies at the address, in the tool's words
	Stacks   []Stack `json:"stacks,omitempty"`
	Omitted  int     `json:"omitted,omitempty"` // frames that are not in Stacks because there were too many

	Count int `json:"count"` // leaked blocks; 1 of everything else

	// Fatal means that the report itself says that the process ends, or that this runtime always ends
	// it so. A Rust panic may be caught and a sanitizer may go on: those are fatal only if the text says so.
	Fatal bool `json:"fatal,omitempty"`

	Start int64  `json:"start"` // byte offset in the stream of the first line
	End   int64  `json:"end"`   // and behind the last; other output may lie in between
	Raw   string `json:"raw"`   // the report's own lines, cut at 4 KiB
}

// Stack is one of a report's stacks, innermost frame first.
type Stack struct {
	Title  string  `json:"title,omitempty"` // "freed by thread T1", "goroutine 1 [running]", …
	Frames []Frame `json:"frames"`
}

// Frame is one line of a stack. What the line does not tell is empty or 0.
type Frame struct {
	PC       uint64 `json:"pc,omitempty"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Module   string `json:"module,omitempty"`
	Offset   uint64 `json:"offset,omitempty"` // in Module, of Go frames in the function
}

const (
	maxLine    = 16 << 10 // bytes of a line that are looked at; C++ names with templates run to kilobytes
	maxRaw     = 4 << 10  // bytes of Report.Raw: a sanitizer's report without its map of shadow memory
	maxMessage = 4 << 10  // bytes of Report.Message
	maxText    = 1 << 10  // bytes of every other text in a report
	maxFrames  = 64       // of one stack: more only says how deep a recursion was
	maxTotal   = 512      // frames of one report: a leak check writes one stack for each place
	maxStacks  = 64       // of one report
	maxOpen    = 8        // reports that are being written at the same time, by threads and processes
)

// Parser finds reports in one stream. The zero value is ready. It is not safe for concurrent use.
type Parser struct {
	rest    []byte // of the line that is not yet complete, at most maxLine bytes
	start   int64  // where that line begins
	offset  int64  // bytes seen
	open    []*block
	reports []Report
	// Only is the one tool whose reports are looked for; "": all. Of a stream that runtimes seldom write to, text is not
	// taken for more.
	Only  string
	noted bool // a Rust runtime has said how to get backtraces, so it will not end further messages
}

// Write takes the next bytes of the stream, cut anywhere, and returns the reports that are complete.
// A report without an end of its own is complete when other text follows, or at Close.
func (p *Parser) Write(b []byte) []Report {
	for len(b) > 0 {
		n := bytes.IndexAny(b, "\n\r")
		if n < 0 {
			p.keep(b)
			p.offset += int64(len(b))
			break
		}
		p.keep(b[:n])
		p.offset += int64(n) + 1
		p.endLine()
		b = b[n+1:]
	}
	return p.taken()
}

// Close returns the reports that are still being written, as far as they have come. The stream may
// go on after it: offsets count on, and Close can be called whenever the target stops.
func (p *Parser) Close() []Report {
	if len(p.rest) > 0 {
		p.endLine()
	}
	for len(p.open) > 0 {
		p.close(p.open[0])
	}
	p.start = p.offset
	return p.taken()
}

// Open reports whether a report, or a line that may begin one, is not complete.
func (p *Parser) Open() bool { return len(p.open) > 0 || len(p.rest) > 0 }

func (p *Parser) taken() []Report {
	r := p.reports
	p.reports = nil
	return r
}

func (p *Parser) keep(b []byte) {
	if room := maxLine - len(p.rest); len(b) > room {
		b = b[:room]
	}
	p.rest = append(p.rest, b...)
}

func (p *Parser) endLine() {
	l := line{text: plain(p.rest), start: p.start, end: p.offset}
	p.rest = p.rest[:0]
	p.start = p.offset
	p.line(l)
}

// line is one line of the stream without its end and without colours.
type line struct {
	text       string
	start, end int64
	header     bool // a report begins with it
	weak       bool // perhaps does: the same words are common in messages
}

// plain drops terminal control sequences, which sanitizers use for colours.
func plain(b []byte) string {
	if bytes.IndexByte(b, 0x1b) < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b || i+1 >= len(b) || b[i+1] != '[' {
			out = append(out, b[i])
			continue
		}
		for i += 2; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
		}
	}
	return string(out)
}

// verdict is what a report that is being written says of a line.
type verdict uint8

const (
	foreign verdict = iota // not its line; it may go on afterwards
	taken                  // its line
	last                   // its last line
	over                   // not its line, and it is complete
)

// grammar is how one tool's reports go on after their first line.
type grammar interface {
	take(b *block, l line) verdict
	// finish completes the report and says whether it is one.
	finish(b *block) bool
}

// block is a report that is being written.
type block struct {
	r         Report
	raw       []byte
	marks     []mark // after each of the first lines
	g         grammar
	patience  int    // lines of others that may come in between
	strangers int    // that have come since its last line
	title     string // of the next stack
	inStack   bool
	next      int // number of the stack's next frame, where frames have numbers
	frames    int
}

// openers recognise first lines.
var openers = []func(p *Parser, l line) *block{
	openSanitizer, openUBSan, openValgrind, openRust, openGo, openCxx, openLibc, openPython, openJVM,
}

func (p *Parser) line(l line) {
	begun := p.begin(l)
	l.weak = begun != nil && (begun.r.Tool == GoPanic || begun.r.Tool == Python)
	l.header = begun != nil && !l.weak
	for i := len(p.open) - 1; i >= 0; i-- {
		b := p.open[i]
		switch b.g.take(b, l) {
		case taken:
			b.add(l)
			return
		case last:
			b.add(l)
			p.close(b)
			return
		case over:
			p.close(b)
		case foreign:
			if b.strangers++; b.strangers > b.patience {
				p.close(b)
			}
		}
	}
	if begun == nil {
		return
	}
	begun.r.Start = l.start
	begun.add(l)
	if begun.g == nil {
		p.emit(begun)
		return
	}
	for _, b := range slices.Clone(p.open) {
		if b.r.Tool == begun.r.Tool && (b.r.PID == begun.r.PID || begun.r.Tool != Valgrind) {
			p.close(b)
		}
	}
	if len(p.open) == maxOpen {
		p.close(p.open[0])
	}
	p.open = append(p.open, begun)
}

func (p *Parser) begin(l line) *block {
	if len(l.text) < 8 {
		return nil // no header is that short
	}
	for _, open := range openers {
		if b := open(p, l); b != nil && (p.Only == "" || p.Only == b.r.Tool) {
			return b
		}
	}
	return nil
}

func (p *Parser) close(b *block) {
	p.open = slices.DeleteFunc(p.open, func(o *block) bool { return o == b })
	if b.g.finish(b) {
		p.emit(b)
	}
}

func (p *Parser) emit(b *block) {
	b.r.Raw = string(b.raw)
	b.r.Message = clip(b.r.Message, maxMessage)
	if b.r.Count == 0 {
		b.r.Count = 1
	}
	b.place()
	p.reports = append(p.reports, b.r)
}

func (b *block) add(l line) {
	b.strangers = 0
	b.r.End = l.end
	if room := maxRaw - len(b.raw); room > 0 {
		b.raw = append(append(b.raw, clip(l.text, room-1)...), '\n')
	}
	if len(b.marks) < maxMarks {
		b.marks = append(b.marks, mark{raw: len(b.raw), end: l.end})
	}
}

// mark is how far a report had come after one of its lines.
type mark struct {
	raw int
	end int64
}

const maxMarks = 80 // more than any message has lines

// cut gives back all lines but the first n.
func (b *block) cut(n int) {
	if n <= len(b.marks) {
		b.raw, b.r.End = b.raw[:b.marks[n-1].raw], b.marks[n-1].end
	}
}

// push begins a stack, titled with the line that announced it.
func (b *block) push(title string) {
	b.title, b.inStack = "", true
	if len(b.r.Stacks) == maxStacks {
		return
	}
	b.r.Stacks = append(b.r.Stacks, Stack{Title: clip(title, maxText)})
}

// frame adds a frame to the stack begun last, or counts it where there are too many.
func (b *block) frame(f Frame) {
	s := b.top()
	if s == nil || len(s.Frames) >= maxFrames || b.frames >= maxTotal {
		b.r.Omitted++
		return
	}
	b.frames++
	f.Function, f.File, f.Module = clip(f.Function, maxText), clip(f.File, maxText), clip(f.Module, maxText)
	s.Frames = append(s.Frames, f)
}

func (b *block) top() *Stack {
	if len(b.r.Stacks) == 0 {
		return nil
	}
	return &b.r.Stacks[len(b.r.Stacks)-1]
}

// lastFrame returns the frame added last, to which a second line belongs, or nil.
func (b *block) lastFrame() *Frame {
	if s := b.top(); s != nil && len(s.Frames) > 0 {
		return &s.Frames[len(s.Frames)-1]
	}
	return nil
}

// locate adds to what the report says of the address.
func (b *block) locate(text string) {
	if b.r.Location != "" {
		text = b.r.Location + "; " + text
	}
	b.r.Location = clip(text, maxText)
}

// place finds the source place where the report itself names none, or only the runtime's own. Of
// several stacks the first tells it; Go writes that of its scheduler before.
func (b *block) place() {
	if b.r.File != "" && !runtimeFrame(Frame{File: b.r.File}) {
		return
	}
	for _, s := range b.r.Stacks {
		for _, f := range s.Frames {
			if f.File != "" && f.Line > 0 && !runtimeFrame(f) {
				b.r.Function, b.r.File, b.r.Line, b.r.Column = f.Function, f.File, f.Line, f.Column
				return
			}
		}
		if s.Title != "runtime stack" {
			return
		}
	}
}

// clip copies text, so that a report does not hold on to whole lines, makes it valid UTF-8, and cuts
// it between characters.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), max(limit, 0)+utf8.UTFMax)], "\uFFFD")
	if len(text) > limit {
		end := max(limit, 0)
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return strings.Clone(text)
}
