package tracediff

import (
	"regexp"
	"strings"
)

// testAlias stands for the test itself in names, so that two tests' own functions are each other's counterpart.
const testAlias = "(test)"

// anonymousTests are the functions that frameworks make for a test with a text for a name.
var anonymousTests = regexp.MustCompile(
	`\b_?(?:CATCH2_INTERNAL_TEST|C_A_T_C_H_T_E_S_T|DOCTEST_ANON_FUNC|DOCTEST_ANON_CLASS)_\d+`)

// testsOf finds in a test program's arguments the one test that they select, as a part of function names.
func testsOf(args []string) (tests []string) {
	exact := false
	for _, a := range args {
		if f, ok := strings.CutPrefix(a, "--gtest_filter="); ok && !strings.ContainsAny(f, "*?:") {
			tests = append(tests, f)
		}
		exact = exact || a == "--exact"
	}
	for _, a := range args {
		if exact && !strings.HasPrefix(a, "-") && strings.Contains(a, "::") {
			tests = append(tests, a)
		}
	}
	return tests
}

// spellings are how a test's ID may stand in function names: Suite_Name for GoogleTest's Suite.Name and
// Prefix/Suite.Name/0, the path behind the binary for cargo's.
func spellings(test string) []string {
	if i := strings.LastIndexByte(test, ' '); i >= 0 {
		test = test[i+1:]
	}
	out := []string{test}
	for _, part := range strings.Split(test, "/") {
		if suite, name, ok := strings.Cut(part, "."); ok {
			out = append(out, suite+"_"+name)
		}
	}
	return out
}

// ofTest reports whether a thread is the test's own: a harness names it after it, as far as the kernel's 15 bytes go.
func (s *side) ofTest(thread string) bool {
	for _, t := range s.Tests {
		for _, sp := range spellings(t) {
			if len(thread) >= 3 && strings.HasPrefix(sp, thread) {
				return true
			}
		}
	}
	return false
}

// alias is a function's name with the test's own part replaced.
func (s *side) alias(name string) string {
	name = anonymousTests.ReplaceAllString(name, testAlias)
	for _, t := range s.Tests {
		for _, sp := range spellings(t) {
			name = replaceWord(name, sp, testAlias)
		}
	}
	return name
}

// replaceWord replaces a part of a name that is not part of a longer word.
func replaceWord(name, word, with string) string {
	if len(word) < 3 {
		return name
	}
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return name
		}
		i += from
		end := i + len(word)
		rest := strings.TrimPrefix(name[end:], "_Test")
		if (i == 0 || !wordByte(name[i-1])) && (rest == "" || !wordByte(rest[0])) {
			name = name[:i] + with + rest
			end = i + len(with)
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// short is a function's name without template arguments where it is long, and its end where it still is.
func short(name string, width int) string {
	if len(name) <= width {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := range len(name) {
		c := name[i]
		if c == '<' && i > 0 && wordByte(name[i-1]) && !strings.HasSuffix(name[:i], "operator") {
			depth++
		}
		if depth == 0 {
			b.WriteByte(c)
		}
		if c == '>' && depth > 0 && name[i-1] != '-' {
			depth--
		}
	}
	out := b.String()
	if len(out) > width {
		at := len(out) - width
		for at < len(out) && out[at]&0xc0 == 0x80 {
			at++
		}
		out = "…" + out[at:]
	}
	return out
}
