package symbol

import "strings"

// compile turns a name pattern into tokens. On error it returns the position and what is wrong.
func (p *Pattern) compile(body string) (int, string) {
	skip := 0
	if strings.HasPrefix(body, "::") { // C++'s global scope
		skip = 2
	}
	s := body[skip:]
	if s == "" {
		return 0, "it has no name"
	}
	if pos, msg := checkSegments(s); msg != "" {
		return skip + pos, msg
	}
	name := s
	if i := paramStart(s); i >= 0 {
		if from := behindResult(s, i); !strings.HasSuffix(s[:from], "thunk to ") { // of which the list is in the name
			name, p.params = s[from:i], squeeze(nil, s[i:])
		}
	}
	marked, pos, msg := markWildcards(name)
	if msg != "" {
		return skip + pos, msg
	}
	p.native = joinMid(normalize(nil, marked, false))
	for _, c := range p.native {
		p.hasArgs = p.hasArgs || c == tokOpen
	}
	goMarked, _, _ := markWildcards(s)
	p.golang = joinMid(normalizeGo(nil, strings.ReplaceAll(goMarked, "(\x04", "(*"), false))
	if root, ok := strings.CutSuffix(goMarked, "/\x05"); ok {
		p.goRoot = joinMid(normalizeGo(nil, root+".\x05", false))
	}
	for _, c := range p.golang {
		p.hasArgs = p.hasArgs || c == tokOpen
	}
	p.exact = !strings.ContainsAny(marked, "\x04\x05\x06")
	p.literal = longestWord(marked)
	return 0, ""
}

// checkSegments looks for empty segments and brackets that do not close.
func checkSegments(s string) (int, string) {
	segStart := true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case strings.HasPrefix(s[i:], ":::"):
			return i + 2, "a third colon"
		case strings.HasPrefix(s[i:], "::"):
			if segStart {
				return i, "an empty segment between separators"
			}
			i += 2
			segStart = true
			if i == len(s) {
				return i - 2, "it ends in a separator; add a name, * or **"
			}
			continue
		case segStart && c == 'o' && isOperator(s[i:]):
			n, _ := operatorLen(s[i:])
			i += n
		case c == '<' || c == '(' || c == '{' || c == '[':
			n := closing(s[i:])
			if last := s[i+n-1]; n < 2 || last != matching(c) {
				return i, "the " + string(c) + " is not closed"
			}
			i += n
		case c == ')' || c == '}' || c == ']' || c == '>':
			return i, "a " + string(c) + " without its opening bracket"
		case strings.HasPrefix(s[i:], "***"):
			return i, "more than two stars in a row"
		default:
			i++
		}
		segStart = false
	}
	return 0, ""
}

func matching(open byte) byte {
	switch open {
	case '<':
		return '>'
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// paramStart returns where a parameter list begins, or -1. A Go receiver such as (*T) is none.
func paramStart(s string) int {
	segStart := true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case strings.HasPrefix(s[i:], "::"):
			i += 2
			segStart = true
			continue
		case segStart && c == 'o' && isOperator(s[i:]):
			n, whole := operatorLen(s[i:])
			if whole {
				return conversionList(s, i+len("operator"))
			}
			i += n
		case c == '(':
			n := closing(s[i:])
			// The list of a function that something is in, as in f(int)::local::g, is part of the name.
			if strings.HasPrefix(s[i:], anonymous) || strings.HasPrefix(strings.TrimPrefix(s[i+n:], " const"), "::") ||
				(i == 0 || strings.IndexByte(".*?", s[i-1]) >= 0) && i+n < len(s) && s[i+n] == '.' {
				i += n
				break
			}
			return i
		case c == '<' || c == '{' || c == '[':
			i += closing(s[i:])
		default:
			i++
		}
		segStart = false
	}
	return -1
}

// conversionList returns where the parameter list of a conversion is in s, whose type begins at i; -1 without one. The
// parentheses of a type, as of void (*)(int), are none.
func conversionList(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == '(':
			n := closing(s[i:])
			if n < 3 || s[i+n-2] != '*' && s[i+n-2] != '&' {
				return i
			}
			if i += n; i < len(s) && s[i] == '(' {
				i += closing(s[i:])
			}
		case c == '<' || c == '{' || c == '[':
			i += closing(s[i:])
		default:
			i++
		}
	}
	return -1
}

// behindResult returns where the name begins in a name with parameters, behind the type of its result, which demanglers
// put in front of what comes from a template. list is where its parameters begin.
func behindResult(s string, list int) int {
	start := 0
	for i := 0; i < list; {
		switch c := s[i]; {
		case c == '<' || c == '(' || c == '{' || c == '[':
			i += closing(s[i:])
		case strings.HasPrefix(s[i:], "operator") && (i == 0 || s[i-1] == ':' || s[i-1] == ' ') && isOperator(s[i:]):
			return start
		case strings.HasPrefix(s[i:], " const::"):
			i += len(" const")
		case c == ' ':
			i++
			start = i
		default:
			i++
		}
	}
	return start
}

// markWildcards replaces the wildcards outside parentheses by their tokens.
func markWildcards(s string) (marked string, pos int, msg string) {
	b := []byte(s)
	out := make([]byte, 0, len(b))
	parens := 0
	segStart := true
	for i := 0; i < len(b); {
		c := b[i]
		if segStart && isOperator(s[i:]) && !strings.HasPrefix(s[i:], "operator**") {
			n, whole := operatorLen(s[i:])
			// operator<*> is the less-than operator with arguments only when a > follows.
			if n == len("operator") {
				whole = false
			}
			if end := i + n; !whole && (end == len(s) || s[end] != '*') {
				out = append(out, s[i:end]...)
				i, segStart = end, false
				continue
			}
		}
		segStart = false
		switch {
		case c == '(':
			parens++
			out = append(out, c)
		case c == ')':
			parens--
			out = append(out, c)
		case c == '*' && parens <= 0 && i+1 < len(b) && b[i+1] == '*':
			if i+2 < len(b) && b[i+2] == '*' {
				return "", i, "more than two stars in a row"
			}
			out = append(out, tokAll)
			i++
		case c == '*' && parens <= 0:
			out = append(out, tokStar)
		case c == '?' && parens <= 0:
			out = append(out, tokAny)
		case c == '*' && len(out) > 0 && out[len(out)-1] == '(':
			out = append(out, c)
		default:
			out = append(out, c)
			segStart = c == ':'
		}
		i++
	}
	return string(out), 0, ""
}

// longestWord returns the longest identifier at the top level of a pattern: a cheap test that most names fail.
func longestWord(marked string) string {
	best := ""
	for i := 0; i < len(marked); {
		switch c := marked[i]; {
		case c == '<' || c == '(' || c == '{' || c == '[':
			i += closing(marked[i:])
		case identByte(c):
			j := i
			for j < len(marked) && identByte(marked[j]) {
				j++
			}
			if j-i > len(best) {
				best = marked[i:j]
			}
			i = j
		default:
			i++
		}
	}
	return best
}

// compilePath turns a path glob into tokens, one part per directory. A part ** is any number of them.
func compilePath(s string) [][]byte {
	var out [][]byte
	for part := range strings.SplitSeq(strings.Trim(s, "/"), "/") {
		if part == "**" {
			out = append(out, []byte{tokAll})
			continue
		}
		var b []byte
		for i := 0; i < len(part); i++ {
			switch part[i] {
			case '*':
				b = append(b, tokStar)
			case '?':
				b = append(b, tokAny)
			default:
				b = append(b, part[i])
			}
		}
		out = append(out, b)
	}
	return out
}

// globPath matches a path against compilePath's parts. As in glob, only the last ** is retried.
func globPath(parts [][]byte, path string) bool {
	dirs := strings.Split(strings.Trim(path, "/"), "/")
	i, j, allP, allN := 0, 0, -1, 0
	for {
		switch {
		case j < len(parts) && len(parts[j]) == 1 && parts[j][0] == tokAll:
			allP, allN = j+1, i
			j++
			continue
		case j < len(parts) && i < len(dirs) && glob(parts[j], []byte(dirs[i])):
			i, j = i+1, j+1
			continue
		case j == len(parts) && i == len(dirs):
			return true
		}
		if allP < 0 || allN >= len(dirs) {
			return false
		}
		allN++
		i, j = allN, allP
	}
}
