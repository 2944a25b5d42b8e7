package report

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	sanitizerHeader = lazyregexp.MustCompile(
		`^(?:==(\d+)== ?)?(ERROR|WARNING|FATAL): (AddressSanitizer|HWAddressSanitizer|ThreadSanitizer|LeakSanitizer` +
			`|MemorySanitizer|UndefinedBehaviorSanitizer|libFuzzer): ([A-Za-z].*)$`)
	headerPID    = lazyregexp.MustCompile(`\(pid=(\d+)\)`)
	headerThread = lazyregexp.MustCompile(`(?: (T\d+)\)| in thread (T\d+)(?:$|[ :(]))`)
	accessLine   = lazyregexp.MustCompile(
		`^\s*(?i:(previous )?(atomic )?(read|write|access)) of size (\d+) (?:at|to) (0x[0-9a-f]+) (?:by |(?:in )?thread ` +
			`|tags:)?(.*?):?$`)
	pidPrefix   = lazyregexp.MustCompile(`^==(\d+)== ?`)
	leakSummary = lazyregexp.MustCompile(`(\d+) byte\(s\) leaked in (\d+) allocation\(s\)`)
	regionLine  = lazyregexp.MustCompile(`^(?:Address )?0x[0-9a-f]+ is (located |a wild pointer)`)
	shadowLine  = lazyregexp.MustCompile(`^(?:=>|  )0x[0-9a-f]{8,16}: ?[0-9a-f\[ ]`)
	legendLine  = lazyregexp.MustCompile(`^  [A-Z][A-Za-z ]+: +[0-9a-f]{2}(?: |$)`)
)

var sanitizerTools = map[string]string{
	"AddressSanitizer": ASan, "HWAddressSanitizer": HWASan, "ThreadSanitizer": TSan, "LeakSanitizer": LSan,
	"MemorySanitizer": MSan, "UndefinedBehaviorSanitizer": UBSan, "libFuzzer": LibFuzzer,
}

// stackTitles begin the lines that announce a stack. Any other line before a frame is another thread's.
var stackTitles = []string{
	"freed by thread", "previously allocated by thread", "allocated by thread", "freed here", "previously allocated here",
	"allocated here",
	"Thread T", "Mutex M", "As if synchronized", "Location is", "Direct leak of", "Indirect leak of",
	"Uninitialized value was", "Memory was marked as", "Cause: ", "Previous ", "Hint: use", "And previous ", "Signal",
	"Associated ",
	"This is a data race", "The stack", "Mutex acquired", "Access of size", "The signal was", "Goroutine ", "Block was",
}

// sanitizerReport is the grammar of the reports of Address-, Thread-, Memory- and LeakSanitizer.
type sanitizerReport struct {
	summary bool   // has come: what follows is the map of shadow memory, and whether it goes on
	primary string // title of the first stack
	name    string // of the sanitizer
}

func openSanitizer(_ *Parser, l line) *block {
	if !strings.HasPrefix(l.text, "==") && !strings.HasPrefix(l.text, "WARNING: ") &&
		!strings.HasPrefix(l.text, "FATAL: ") {
		return nil
	}
	m := sanitizerHeader.FindStringSubmatch(l.text)
	if m == nil || m[1] == "" && (m[3] != "ThreadSanitizer" || !headerPID.MatchString(m[4])) {
		return nil
	}
	b := &block{patience: 16}
	b.g = &sanitizerReport{primary: clip(m[4], maxText), name: m[3]}
	b.r.Tool, b.r.PID, b.r.Message = sanitizerTools[m[3]], number(m[1]), m[4]
	if pid := headerPID.FindStringSubmatch(m[4]); pid != nil {
		b.r.PID = number(pid[1])
		b.r.Message = strings.TrimSpace(strings.Replace(m[4], pid[0], "", 1))
	}
	if t := headerThread.FindStringSubmatch(m[4]); t != nil {
		b.r.Thread = clip(t[1]+t[2], maxText)
	}
	b.r.Kind = sanitizerKind(m[4])
	if b.r.Kind == "leak" {
		b.r.Tool = LSan // built into AddressSanitizer as well
	} else {
		b.r.Address = headerAddress(m[4])
	}
	return b
}

func headerAddress(message string) uint64 {
	for _, before := range []string{"address ", "double-free on ", "malloc()-ed: ", "memory ranges ["} {
		if i := strings.LastIndex(message, before+"0x"); i >= 0 {
			return firstHex(message[i:])
		}
	}
	return 0
}

// sanitizerKind makes the kind from a header's text: "data race (pid=1)" is data-race.
func sanitizerKind(message string) string {
	switch {
	case strings.HasPrefix(message, "detected memory leaks"):
		return "leak"
	case strings.HasPrefix(message, "attempting free on address which was not malloc()-ed"):
		return "bad-free"
	case strings.HasPrefix(message, "attempting double-free"):
		return "double-free"
	case strings.HasPrefix(message, "requested allocation size"):
		return "allocation-size-too-big"
	}
	for _, end := range []string{" (", " on address", " on unknown address", " on 0x", ":", " in thread"} {
		message, _, _ = strings.Cut(message, end)
	}
	if message == "" {
		return "error"
	}
	return kebab(message)
}

// kebab makes a kind of a few words.
func kebab(words string) string {
	return clip(strings.Join(strings.Fields(strings.ToLower(words)), "-"), 64)
}

func (g *sanitizerReport) take(b *block, l line) verdict {
	text := strings.TrimSpace(l.text)
	if g.summary {
		return g.tail(b, l.text, text)
	}
	if n, f, ok := sanitizerFrame(l.text); ok {
		return g.frame(b, n, f)
	}
	if m := pidPrefix.FindStringSubmatch(l.text); m != nil {
		if number(m[1]) != b.r.PID {
			return foreign
		}
		return g.remark(b, l.text[len(m[0]):])
	}
	switch {
	case text == "":
		return taken
	case strings.HasPrefix(l.text, "SUMMARY: "):
		if b.r.Kind != "leak" && !strings.HasPrefix(l.text[len("SUMMARY: "):], g.name) {
			return foreign
		}
		g.summary = true
		g.summarise(b, l.text)
		return taken
	case regionLine.MatchString(text):
		_, where, _ := strings.Cut(text, " is ")
		b.locate(where)
		b.title = text
		return taken
	case strings.HasPrefix(text, "Location is "):
		b.locate(strings.TrimSuffix(strings.TrimPrefix(text, "Location is "), ":"))
		b.title = title(text)
		return taken
	case strings.Contains(text, "<== "):
		b.locate(text)
		return taken
	case strings.HasPrefix(text, "This frame has "), strings.HasPrefix(text, "HINT: "),
		strings.HasPrefix(text, "(longjmp and"),
		strings.HasPrefix(text, "Cycle in lock order graph"), strings.HasPrefix(text, "Hint: use TSAN_OPTIONS"),
		strings.HasSuffix(text, "can not provide additional info."):
		return taken
	case accessLine.MatchString(text):
		g.access(b, text)
		return taken
	}
	for _, t := range stackTitles {
		if strings.HasPrefix(text, t) {
			b.title = title(text)
			return taken
		}
	}
	return foreign
}

func (g *sanitizerReport) frame(b *block, n int, f Frame) verdict {
	switch {
	case n == 0:
		t := b.title
		if t == "" && len(b.r.Stacks) == 0 {
			t = g.primary
		}
		b.push(t)
		b.next = 0
	case !b.inStack || n != b.next:
		return foreign // of another process's report
	}
	b.next = n + 1
	b.frame(f)
	return taken
}

// access reads "READ of size 4 at 0x… thread T0" and "Previous write of size 4 at 0x… by thread T1:".
func (g *sanitizerReport) access(b *block, text string) {
	m := accessLine.FindStringSubmatch(text)
	b.title = title(text)
	if b.r.Size != 0 || len(b.r.Stacks) > 0 {
		return
	}
	if a := strings.ToLower(m[3]); a != "access" {
		b.r.Access = a
	}
	b.r.Size, b.r.Address = number(m[4]), firstHex(m[5])
	who := m[6]
	if i := strings.LastIndex(who, "in thread "); i >= 0 {
		who = who[i+len("in thread "):] // behind the tags of memory
	}
	who, _, _ = strings.Cut(who, " (")
	b.r.Thread = clip(strings.TrimPrefix(who, "thread "), maxText)
}

// remark reads what stands behind ==PID==.
func (g *sanitizerReport) remark(b *block, text string) verdict {
	switch {
	case strings.HasPrefix(text, "The signal is caused by a READ"):
		b.r.Access = "read"
	case strings.HasPrefix(text, "The signal is caused by a WRITE"):
		b.r.Access = "write"
	case strings.HasPrefix(text, "The signal is caused by a"):
	case strings.HasPrefix(text, "Hint: "):
		b.locate(strings.TrimPrefix(text, "Hint: "))
	case strings.HasPrefix(text, "HINT: "):
	case text == "ABORTING":
		b.r.Fatal = true
		return last
	default:
		return foreign
	}
	return taken
}

func (g *sanitizerReport) summarise(b *block, text string) {
	if m := leakSummary.FindStringSubmatch(text); m != nil {
		b.r.Size, b.r.Count = number(m[1]), number(m[2])
		if b.r.Kind == "leak" {
			b.r.Message = clip(m[0], maxMessage)
		}
	}
}

// tail reads what comes behind the summary.
func (g *sanitizerReport) tail(b *block, whole, text string) verdict {
	switch {
	case text == "==================" && b.r.Tool == TSan:
		return last
	case text == "Exiting" && b.r.Tool == MSan, strings.HasPrefix(text, "==") && strings.HasSuffix(text, "==ABORTING"):
		b.r.Fatal = true
		return last
	case shadowLine.MatchString(whole), legendLine.MatchString(whole),
		strings.HasPrefix(text, "Shadow byte"), strings.HasPrefix(text, "Memory tags around"):
		return taken
	case b.r.Tool == LSan:
		return over
	}
	return foreign
}

// finish drops what has no stack, unless it was seen to the end.
func (g *sanitizerReport) finish(b *block) bool {
	return len(b.r.Stacks) > 0 || g.summary && b.r.Fatal
}

// title drops what only leads to the next line.
func title(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ":")
	for _, end := range []string{" here", " at", " allocated from"} {
		text = strings.TrimSuffix(text, end)
	}
	return clip(text, maxText)
}
