package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// commandLine tells the cure where a whole command line was given as command and there is no program of that name.
func (p *LaunchParams) commandLine(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.LaunchFailed || !strings.ContainsAny(p.Command, " \t") {
		return err
	}
	var cure []string
	words := shellWords(p.Command)
	if strings.ContainsAny(p.Command, "|<>&;$`*\n") {
		cure = append(cure, `command: "/bin/sh"`,
			"args: "+quoted([]string{"-c", strings.Join(append([]string{p.Command}, p.Args...), " ")}))
	} else {
		env := map[string]string{}
		for len(words) > 0 && strings.Contains(words[0], "=") &&
			!strings.ContainsAny(words[0][:strings.IndexByte(words[0], '=')], "/.") {
			name, v, _ := strings.Cut(words[0], "=")
			env[name] = v
			words = words[1:]
		}
		if len(words) == 0 {
			return err
		}
		cure = append(cure, "command: "+quoted(words[0]), "args: "+quoted(slices.Concat(words[1:], p.Args)))
		if len(env) > 0 {
			cure = append(cure, "env: "+quoted(env))
		}
	}
	return fault.New(f.Code, "Send "+strings.Join(cure, ", ")+".",
		"there is no program %q: command is the program alone, its arguments belong into args", p.Command)
}

// quoted is v as a client writes it.
func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// shellWords splits a command line as a shell does, without substitutions.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open, escaped := false, false
	for _, c := range s {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
