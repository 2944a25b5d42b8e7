package testadapter

import "strings"

// What follows is asked of every line before a regular expression is, since programs write a hundred megabytes of lines
// that tell nothing, and wait for whoever reads them.

// mayBeTAP reports whether a line may be one of a TAP stream.
func mayBeTAP(line string) bool { return line != "" && strings.IndexByte("T1onB #", line[0]) >= 0 }

// beginsIn reports whether a line's first byte is one of these.
func beginsIn(first string) func(string) bool {
	return func(line string) bool { return line != "" && strings.IndexByte(first, line[0]) >= 0 }
}

// has reports whether a line contains a text.
func has(text string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, text) }
}

// summed are the words behind the numbers of sums, as far as four letters go.
var summed = []string{"test", "pass", "fail", "erro", "skip", "pend", "igno", "succ"}

func beginsSummed(s string) bool {
	if len(s) < 4 || strings.IndexByte("tpfesiTPFESI", s[0]) < 0 {
		return false
	}
	for _, word := range summed {
		if strings.EqualFold(s[:4], word) {
			return true
		}
	}
	return false
}

// mayBeSum reports whether sumLines may match: a digit, a space and such a word, or how the other forms begin.
func mayBeSum(line string) bool {
	if line == "" {
		return false
	}
	if line[0] == '#' || beginsSummed(line) {
		return true
	}
	for at := 0; ; {
		n := strings.IndexByte(line[at:], ' ')
		if n < 0 {
			break
		}
		at += n + 1
		if n > 0 && line[at-2] >= '0' && line[at-2] <= '9' && beginsSummed(line[at:]) {
			return true
		}
	}
	i := strings.IndexByte(line, '(')
	return i >= 0 && strings.Contains(strings.ToLower(line[i:]), "(failures=")
}
