package testadapter

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// v8Frame is a line of a stack as V8 and JavaScriptCore (in Bun) write it: "at [async] [new] name [as x]
// (place:line:column)", or the place alone.
var v8Frame = lazyregexp.MustCompile(
	`^\s*at (?:async )?(?:new )?(?:(.*?) (?:\[as [^\]]*\] )?\()?((?:[a-z]+:)?[^\s()](?:[^()]` +
		`|\([^()]*\))*?):(\d+)(?::(\d+))?\)?\s*$`)

// v8Stack reads a stack's frames, innermost first, and the column of each.
func v8Stack(stack string) ([]Frame, map[Frame]int) {
	const most = 200
	var frames []Frame
	columns := map[Frame]int{}
	for line := range strings.Lines(clean(stack)) {
		m := v8Frame.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[3])
		if err != nil {
			continue
		}
		f := Frame{Function: m[1], File: m[2], Line: n}
		if f.Function == "<anonymous>" || f.Function == "Object.<anonymous>" {
			f.Function = ""
		}
		if column, err := strconv.Atoi(m[4]); err == nil {
			if _, have := columns[f]; !have {
				columns[f] = column
			}
		}
		if frames = append(frames, f); len(frames) == most {
			break
		}
	}
	return frames, columns
}

// jestSide is a line of an assertion's message as Jest's expect words it, which Bun, Deno and Playwright follow.
var jestSide = lazyregexp.MustCompile(`^(Expected|Received)[^:\n]*:[ \t]*(.*)$`)

// jestSides are what an assertion's message says was expected and what came; a value may go on in lines that are
// indented.
func jestSides(text string) (expected, actual string) {
	var side *string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := jestSide.FindStringSubmatch(line)
		switch {
		case m != nil && m[1] == "Expected" && expected == "":
			expected, side = m[2], &expected
		case m != nil && m[1] == "Received" && actual == "":
			actual, side = m[2], &actual
		case side != nil && strings.HasPrefix(line, "  "):
			*side = strings.TrimPrefix(*side+"\n"+strings.TrimPrefix(line, "  "), "\n")
		default:
			side = nil
		}
	}
	if expected+actual == "" {
		return jestDiff(text)
	}
	return expected, actual
}

var jestDiffHead = lazyregexp.MustCompile(`(?m)^- Expected  ?- \d+\n\+ Received  ?\+ \d+\n*`)

// jestDiff takes both sides out of a difference, where it shows all of them. Jest writes the legend before it, Bun
// behind.
func jestDiff(text string) (expected, actual string) {
	at := jestDiffHead.FindStringIndex(text)
	if at == nil {
		return "", ""
	}
	shown := text[at[1]:]
	if strings.TrimSpace(shown) == "" {
		_, shown, _ = strings.Cut(text[:at[0]], "\n\n")
	}
	if strings.Contains("\n"+shown, "\n@@") {
		return "", ""
	}
	var sides [2]strings.Builder
	for line := range strings.Lines(shown) {
		if len(line) < 2 || line[1] != ' ' {
			break
		}
		if line[0] != '+' {
			sides[0].WriteString(line[2:])
		}
		if line[0] != '-' {
			sides[1].WriteString(line[2:])
		}
	}
	return strings.TrimSpace(sides[0].String()), strings.TrimSpace(sides[1].String())
}
