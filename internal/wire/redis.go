package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// secret are Redis' commands whose arguments are or may hold passwords.
var secret = map[string]bool{"AUTH": true, "HELLO": true, "ACL": true, "CONFIG": true, "MIGRATE": true}

// redis reads a command, an array of texts, and where the client has sent one, answers.
func (c *Conn) redis(b []byte, _ int64) (m Message, ok bool) {
	line, rest, whole := bytes.Cut(b, []byte("\r\n"))
	if len(line) < 2 {
		return m, false
	}
	if line[0] == '*' && whole && len(rest) > 0 && rest[0] == '$' {
		if n, err := strconv.Atoi(string(line[1:])); err == nil && n > 0 {
			if words := bulks(rest, n); len(words) > 0 && isWord(words[0]) {
				name := strings.ToUpper(words[0])
				if secret[name] && len(words) > 1 {
					words = append(words[:1], "…")
				}
				if c.proto == "redis" || name != "" && c.proto == "" {
					return Message{Proto: "redis", Command: cut(strings.Join(words, " "))}, true
				}
			}
		}
	}
	if c.proto != "redis" {
		return m, false
	}
	switch line[0] {
	case '+', '-', ':', '*', '_', ',', '#', '%', '~', '>', '(':
		return Message{Proto: "redis", Answer: cut(string(line))}, true
	case '$', '=', '!':
		text, _, _ := bytes.Cut(rest, []byte("\r\n"))
		return Message{Proto: "redis", Answer: cut(string(line) + " " + string(text))}, true
	}
	return m, false
}

// bulks reads up to n texts of the form $LENGTH, text, as far as they are there.
func bulks(b []byte, n int) (words []string) {
	for range min(n, 64) {
		line, rest, whole := bytes.Cut(b, []byte("\r\n"))
		if !whole || len(line) < 2 || line[0] != '$' {
			break
		}
		size, err := strconv.Atoi(string(line[1:]))
		if err != nil || size < 0 {
			break
		}
		words = append(words, string(rest[:min(size, len(rest))]))
		if size+2 > len(rest) {
			break
		}
		b = rest[size+2:]
	}
	return words
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && s[i] != '.' && s[i] != '_' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != "" && len(s) < 40
}

// maxNested bounds how deep arrays of answers are gone into.
const maxNested = 8

// redisEnd is the length of the value that b begins with, 0 where it is not all there.
func redisEnd(b []byte, depth int) int {
	line, rest, whole := bytes.Cut(b, []byte("\r\n"))
	if !whole || len(line) < 1 || depth > maxNested {
		return 0
	}
	at := len(line) + 2
	n, err := strconv.Atoi(string(line[1:]))
	switch line[0] {
	case '$', '=', '!':
		if err != nil || n > len(rest)-2 {
			return 0
		}
		if n >= 0 {
			at += n + 2
		}
	case '*', '~', '>', '%':
		if err != nil || n > len(rest) {
			return 0
		}
		if line[0] == '%' {
			n *= 2
		}
		for range n {
			one := redisEnd(b[at:], depth+1)
			if one == 0 {
				return 0
			}
			at += one
		}
	}
	return at
}
