package report

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	pythonFile  = lazyregexp.MustCompile(`^  File "(.+)", line (\d+)(?:, in (.+))?$`)
	pythonError = lazyregexp.MustCompile(`^([A-Za-z_][\w.]*)(?:: (.*))?$`)
)

// pythonReport is the grammar of a traceback: outermost frame first, each with its source line,
// then the exception. It may have been printed on purpose and says nothing of the process's end.
type pythonReport struct{ named bool }

func openPython(_ *Parser, l line) *block {
	if l.text != "Traceback (most recent call last):" {
		return nil
	}
	b := &block{g: &pythonReport{}, patience: 4}
	b.r.Tool, b.r.Kind = Python, "exception"
	b.push("Traceback (most recent call last)")
	return b
}

func (g *pythonReport) take(b *block, l line) verdict {
	if l.header || l.weak {
		return over
	}
	if m := pythonFile.FindStringSubmatch(l.text); m != nil {
		if s := b.top(); len(s.Frames) == maxFrames { // the innermost come last
			s.Frames = append(s.Frames[:0], s.Frames[1:]...)
			b.r.Omitted++
			b.frames--
		}
		b.frame(Frame{File: m[1], Line: number(m[2]), Function: m[3]})
		return taken
	}
	if strings.HasPrefix(l.text, "    ") || strings.HasPrefix(l.text, "  [Previous line repeated ") {
		return taken // the line's text, or where in it
	}
	m := pythonError.FindStringSubmatch(l.text)
	if m == nil || len(b.r.Stacks[0].Frames) == 0 {
		return foreign
	}
	g.named = true
	b.r.Type, b.r.Message = clip(m[1], maxText), m[2]
	return last
}

func (g *pythonReport) finish(b *block) bool {
	frames := b.r.Stacks[0].Frames
	for i, j := 0, len(frames)-1; i < j; i, j = i+1, j-1 {
		frames[i], frames[j] = frames[j], frames[i]
	}
	return g.named && len(frames) > 0
}
