package service

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// testCommand is a command line that runs tests.
type testCommand struct {
	argv []string
	env  map[string]string // assignments before it
}

// commandOf reads a command line. A plain program with arguments is run as such, so that its framework can be told by
// the program; what has a meaning only to a shell (a pipe, &&, a variable, cd) is run by one.
func commandOf(line, root string) (testCommand, error) {
	var c testCommand
	words, shell, err := splitWords(line)
	if err != nil {
		return c, err
	}
	first := 0
	for first < len(words) && assignment.MatchString(words[first].text) &&
		words[first].quoted > strings.IndexByte(words[first].text, '=') {
		first++
	}
	if shell || first < len(words) && slices.Contains(shellOnly, words[first].text) {
		return testCommand{argv: []string{shellName(), "-c", line}}, nil
	}
	if first == len(words) {
		return c, invalid("Leave it out, or name a program.", "command is empty")
	}
	for _, w := range words[:first] {
		if c.env == nil {
			c.env = map[string]string{}
		}
		name, value, _ := strings.Cut(w.text, "=")
		c.env[name] = value
	}
	for _, w := range words[first:] {
		c.argv = append(c.argv, w.expand(root)...)
	}
	return c, nil
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// shellOnly are words that begin commands of a shell's own, or of which no program goes by the name everywhere.
var shellOnly = []string{"!", "{", "if", "for", "while", "until", "case", "function", "[[", "((", ".", ":", "cd",
	"exit", "set", "export", "source", "eval", "exec",
	"trap", "ulimit", "umask", "unset", "command", "builtin", "wait", "read", "shift", "return", "alias", "local",
	"declare", "shopt", "time", "pushd", "popd", "type"}

// shellName is the shell for such lines: bash where it is, since people try them in one, else sh.
func shellName() string {
	if _, err := exec.LookPath("bash"); err == nil {
		return "bash"
	}
	return "sh"
}

// shellWord is a word of a command line.
type shellWord struct {
	text    string
	pattern string // for file names; "": it is none
	quoted  int    // where its first quote stood in text; the length of text and more: nowhere
}

// expand is the names that a pattern stands for; where there are none, the word itself, as in a shell.
func (w shellWord) expand(root string) []string {
	if w.pattern == "" {
		return []string{w.text}
	}
	pattern := w.pattern
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(regexpLike.Replace(root), pattern)
	}
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return []string{w.text}
	}
	slices.Sort(names)
	if filepath.IsAbs(w.pattern) {
		return names
	}
	for i, name := range names {
		if rel, err := filepath.Rel(root, name); err == nil {
			names[i] = rel
			if strings.HasPrefix(w.text, "./") {
				names[i] = "./" + rel
			}
		}
	}
	return names
}

var regexpLike = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// splitWords splits a command into words, and says whether it has anything that only a shell understands.
func splitWords(line string) (words []shellWord, shell bool, err error) {
	const nowhere = 1 << 30
	w, pattern, magic, in, quote := shellWord{quoted: nowhere}, "", false, false, byte(0)
	add := func(c byte, literal bool) {
		w.text += string([]byte{c})
		if literal && strings.IndexByte(`*?[\`, c) >= 0 {
			pattern += `\`
		}
		pattern += string([]byte{c})
		in = true
	}
	end := func() {
		if magic {
			w.pattern = pattern
		}
		if in {
			words = append(words, w)
		}
		w, pattern, magic, in = shellWord{quoted: nowhere}, "", false, false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line) && (quote == 0 || strings.IndexByte("\"\\$`", line[i+1]) >= 0):
			i++
			add(line[i], true)
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in, w.quoted = c, true, min(w.quoted, len(w.text))
		case quote != '\'' && (c == '`' || c == '$' && i+1 < len(line) &&
			(strings.IndexByte("({_?$!#@*", line[i+1]) >= 0 || isLetter(line[i+1]))):
			shell = true
			add(c, true)
		case quote != 0:
			add(c, true)
		case c == ' ' || c == '\t':
			end()
		case strings.IndexByte(";|&<>()\n", c) >= 0 || c == '#' && !in:
			shell = true
			end()
		default:
			magic = magic || strings.IndexByte("*?[", c) >= 0
			add(c, false)
		}
	}
	if quote != 0 {
		return nil, false, invalid("Close it.", "command %q has an open quote", line)
	}
	end()
	if len(words) == 0 {
		return nil, false, invalid("Leave it out, or name a program.", "command is empty")
	}
	return words, shell, nil
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
