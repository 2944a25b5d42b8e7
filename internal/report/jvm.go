package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// A JVM that crashes in native code handles the signal, writes what follows to standard output (with
// -XX:+DisplayVMOutputToStderr to standard error), more of it to a file, and then aborts. The format is HotSpot's,
// src/hotspot/share/utilities/vmError.cpp, since JDK 6.
//
//	# A fatal error has been detected by the Java Runtime Environment:
//	#
//	#  SIGSEGV (0xb) at pc=0x00007ff38d572128, pid=29333, tid=29352
//	…
//	# Problematic frame:
//	# C  [libhurt.so+0x1128]  deref+0xf
//	…
//	# An error report file with more information is saved as:
//	# /srv/app/hs_err_pid29333.log

const jvmHeader = "# A fatal error has been detected by the Java Runtime Environment:"

// JVMLogBytes is how much of a JVM's error file is worth reading: its summary and the thread that crashed.
const JVMLogBytes = 256 << 10

var (
	jvmSignal = lazyregexp.MustCompile(
		`^#\s+(SIG[A-Z0-9]+) \((0x[0-9a-f]+)\) at pc=(0x[0-9a-f]+)(?: \([^)]*\))?, pid=(\d+), tid=(\S+)`)
	jvmInternal = lazyregexp.MustCompile(`^#\s+(Internal Error|Error) \(([^():]+):(\d+)\), pid=(\d+), tid=(\S+)`)
	jvmMemory   = lazyregexp.MustCompile(`^#\s+Out of Memory Error \(([^():]+):(\d+)\), pid=(\d+), tid=(\S+)`)
	// "C [libx.so+0x1128] name+0xf", "j Crash.main([Ljava/lang/String;)V+0", "J 12 c2 a.B.c(I)I (5 bytes) @ 0x…
	// [0x…+0x3]", "V [libjvm.so+0x1] JavaMain(void*)+0x2"
	jvmFrame  = lazyregexp.MustCompile(`^([CVvjJA])\s+(?:\[([^\]+]+)\+(0x[0-9a-f]+)\]\s*)?(.*)$`)
	jvmThread = lazyregexp.MustCompile(`^Current thread \((0x[0-9a-f]+)\):\s+(\w+)(?: "([^"]*)")?.*?\bid=(\d+)`)
	jvmInfo   = lazyregexp.MustCompile(
		`^siginfo: si_signo: \d+ \((SIG\w+)\), si_code: -?\w+ \((\w+)\)(?:, si_addr: (0x[0-9a-f]+))?`)
	jvmKinds = map[string]string{"SIGSEGV": "segv", "SIGBUS": "bus", "SIGFPE": "fpe", "SIGILL": "ill", "SIGTRAP": "trap"}
)

// jvmReport is the grammar of a JVM's last words: lines that begin with #.
type jvmReport struct{ frame, file bool }

func openJVM(_ *Parser, l line) *block {
	if l.text != jvmHeader {
		return nil
	}
	return &block{r: Report{Tool: JVM, Kind: "fatal-error", Fatal: true}, g: &jvmReport{}, patience: 20}
}

func (g *jvmReport) take(b *block, l line) verdict {
	if l.text == jvmHeader || !strings.HasPrefix(l.text, "#") && !strings.HasPrefix(l.text, "[") {
		return foreign
	}
	text := strings.TrimSpace(strings.TrimPrefix(l.text, "#"))
	switch {
	case g.frame:
		g.frame = false
		if f, ok := jvmFrameOf(text); ok {
			b.push("problematic frame")
			b.frame(f)
			b.r.Function = f.Function
		}
	case g.file:
		g.file = false
		b.r.Log = clip(text, maxText)
	case text == "Problematic frame:":
		g.frame = true
	case strings.HasPrefix(text, "An error report file with more information is saved as:"):
		g.file = true
	case strings.HasPrefix(text, "See problematic frame for where to report the bug"),
		strings.HasPrefix(text, "If you would like to submit a bug report") && b.r.Log != "":
		return taken
	default:
		b.jvmCause(l.text)
	}
	return taken
}

// jvmCause reads the line that says what happened.
func (b *block) jvmCause(text string) {
	if m := jvmSignal.FindStringSubmatch(text); m != nil {
		b.r.Signal, b.r.Message = m[1], strings.TrimSpace(strings.TrimPrefix(text, "#"))
		b.r.Kind = jvmKinds[m[1]]
		if b.r.Kind == "" {
			b.r.Kind = strings.ToLower(strings.TrimPrefix(m[1], "SIG"))
		}
		b.r.PID = decimal(m[4])
		return
	}
	for kind, form := range map[string]*regexp.Regexp{"internal-error": jvmInternal.Get(),
		"out-of-memory": jvmMemory.Get()} {
		if m := form.FindStringSubmatch(text); m != nil {
			b.r.Kind, b.r.Message = kind, strings.TrimSpace(strings.TrimPrefix(text, "#"))
			b.r.PID = decimal(m[len(m)-2])
			return
		}
	}
	if detail := strings.TrimSpace(strings.TrimPrefix(text, "#")); (b.r.Kind == "internal-error" ||
		b.r.Kind == "out-of-memory") && b.r.Location == "" && detail != "" && !strings.HasPrefix(detail, "JRE version") {
		b.locate(detail)
	}
}

func (g *jvmReport) finish(b *block) bool { return b.r.PID > 0 }

func decimal(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// jvmFrameOf reads a frame as HotSpot writes them: a letter for what kind of code it is, then a library with an offset,
// or a method.
func jvmFrameOf(text string) (Frame, bool) {
	m := jvmFrame.FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[4] == "" {
		return Frame{}, false
	}
	f := Frame{Module: m[2], Function: strings.TrimSpace(m[4])}
	f.Offset, _ = strconv.ParseUint(strings.TrimPrefix(m[3], "0x"), 16, 64)
	switch m[1] {
	case "j", "J":
		words := strings.Fields(f.Function) // J 12 c2 a.B.c(I)I (5 bytes) @ …; j  a.B.c(I)I+4 java.base@17
		i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "(") && strings.Contains(w, ".") })
		if i < 0 {
			return f, f.Function != ""
		}
		f.Function, _, _ = strings.Cut(words[i], "(")
		f.Module = "java"
	default:
		if i := strings.LastIndex(f.Function, "+0x"); i > 0 {
			f.Function = f.Function[:i]
		}
		f.Function = strings.TrimPrefix(f.Function, "~")
	}
	return f, true
}

// JVMLog adds to a JVM's report what its error file says: the Java thread, the native and the Java frames, the address.
// It reports whether the text is such a file, of the same process.
func (r *Report) JVMLog(text string) bool {
	if !strings.HasPrefix(text, "#\n"+jvmHeader) {
		return false
	}
	var stacks []Stack
	title, same := "", false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if m := jvmSignal.FindStringSubmatch(l); m != nil {
			same = same || decimal(m[4]) == r.PID
		} else if m := jvmInternal.FindStringSubmatch(l); m != nil {
			same = same || decimal(m[4]) == r.PID
		} else if m := jvmMemory.FindStringSubmatch(l); m != nil {
			same = same || decimal(m[3]) == r.PID
		}
		if m := jvmThread.FindStringSubmatch(l); m != nil && r.Thread == "" {
			r.Thread = clip(orText(m[3], m[2]), maxText)
		}
		if m := jvmInfo.FindStringSubmatch(l); m != nil && r.Code == "" {
			r.Code = clip(m[2], maxText)
			r.Address, _ = strconv.ParseUint(strings.TrimPrefix(m[3], "0x"), 16, 64)
		}
		switch f, ok := jvmFrameOf(l); {
		case strings.HasPrefix(l, "Native frames:"):
			title = "native frames"
		case strings.HasPrefix(l, "Java frames:"):
			title = "Java frames"
		case l == "" || title == "":
			title = ""
		case ok && (len(stacks) == 0 || stacks[len(stacks)-1].Title != title):
			stacks = append(stacks, Stack{Title: title, Frames: []Frame{f}})
		case ok && len(stacks[len(stacks)-1].Frames) < maxFrames:
			s := &stacks[len(stacks)-1]
			f.Function, f.Module = clip(f.Function, maxText), clip(f.Module, maxText)
			s.Frames = append(s.Frames, f)
		case ok:
			r.Omitted++
		}
		if strings.HasPrefix(l, "---------------  P R O C E S S") {
			break
		}
	}
	if same && len(stacks) > 0 && len(stacks) <= maxStacks {
		r.Stacks = stacks
	}
	return same
}

func orText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
