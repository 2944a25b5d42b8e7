package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// namedCall is the beginning of a call that an answer names: a tool, and its arguments in JSON.
var namedCall = regexp.MustCompile(`\bdebug_[a-z_]+ \{`)

// callsInCommands says the calls that a text names as the commands that do the same.
func callsInCommands(s string) string {
	var out strings.Builder
	for {
		at := namedCall.FindStringIndex(s)
		if at == nil {
			return out.String() + s
		}
		out.WriteString(s[:at[0]])
		tool, d := s[at[0]:at[1]-2], json.NewDecoder(strings.NewReader(s[at[1]-1:]))
		line, err := commandOf(tool, d)
		if err != nil {
			out.WriteString(s[at[0]:at[1]])
			s = s[at[1]:]
			continue
		}
		out.WriteString(line)
		s = s[at[1]-1+int(d.InputOffset()):]
	}
}

// commandOf reads a call's arguments, in their order, and returns the command.
func commandOf(tool string, d *json.Decoder) (string, error) {
	if _, err := d.Token(); err != nil {
		return "", err
	}
	id := "ID"
	var flags, rest []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return "", err
		}
		values, err := plainValues(raw)
		if err != nil {
			return "", err
		}
		for _, v := range values {
			switch {
			case name == "sessionId":
				id = v
			case tool == "debug_launch" && (name == "command" || name == "args"):
				rest = append(rest, quotedWord(v))
			case tool == "debug_session" && name == "action" && v == "stop":
				return "strobe stop " + id, endOf(d)
			case tool == "debug_launch" && name == "cwd":
				flags = append(flags, "--directory", quotedWord(v))
			case tool == "debug_query":
				flags = append(flags, "--"+kebab([]string{name.(string)}), quotedWord(v))
			default:
				flags = append(flags, flagOf(name.(string)), quotedWord(v))
			}
		}
	}
	words := []string{"strobe " + strings.TrimPrefix(tool, "debug_"), id}
	if tool == "debug_launch" {
		words = []string{"strobe run"}
		rest = append([]string{"--"}, rest...)
	}
	return strings.Join(append(append(words, flags...), rest...), " "), endOf(d)
}

// endOf reads the rest of an object.
func endOf(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('}'), json.Delim(']'):
			depth--
		case json.Delim('{'), json.Delim('['):
			depth++
		}
	}
	return nil
}

// flagOf is a parameter's flag.
func flagOf(param string) string {
	if f, ok := paramFlags[param]; ok {
		return f
	}
	return "--" + kebab([]string{param})
}

// plainValues are a text, a number or a list of some, as they are written on a line.
func plainValues(raw json.RawMessage) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []string
	for _, e := range list {
		var s string
		switch {
		case json.Unmarshal(e, &s) == nil:
			out = append(out, s)
		case bytes.ContainsAny(e, "{["):
			return nil, io.ErrUnexpectedEOF
		default:
			out = append(out, string(e))
		}
	}
	return out, nil
}

// quotedWord is a word for a shell.
func quotedWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&|;<>()*?[]{}#~`!") {
		return s
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", `'\''`))
}
