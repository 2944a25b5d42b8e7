// Package secret owns which names say that a value is a secret: of parameters, fields, keys, environment variables and
// headers. Whoever captures values asks it before a value is read; agents in other languages are given its patterns.
//
// It looks at names, never at values: what a value is called is known before it is read.
package secret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Redacted is what stands for a secret value.
const Redacted = "<redacted>"

// builtin are the words by which a name is known, "_" between two that may be written together. A key alone is none: it
// is what maps are asked by.
var builtin = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "creds", "authorization",
	"cookie", "jwt", "api_key", "access_key",
	"private_key", "encryption_key", "decryption_key", "signing_key", "session_key",
	"master_key", "auth_key", "account_key", "mysql_pwd"}

// Words lists them.
func Words() string { return strings.Join(builtin, ", ") }

// What is said of a secret, and is none itself: its length, its file; a number of them; which of a parser's tokens.
const (
	measures = `len|length|size|count|type|kind|name|url|uri|file|path|dir|policy|regex|pattern|line|column|offset|` +
		`start|end|pos|position|index|limit|class|ttl|expiry|expires|expiration|expires[_-]?(?:at|in)|callback|handler|` +
		`provider`
	amounts = `max|min|num|total|count|n`
	parsers = `last|next|prev|previous|cur|peek|lookahead|first|eof|op|operator|keyword|unexpected`
	getters = `get|read|load|fetch|create|generate|issue|decrypt`
)

// credentials are what beside the word says that a token is not what parsers call so.
var credentials = lazyregexp.MustCompile(`(?i)access|api|auth|bearer|bot|client|csrf|git|hub|(?:^|[_-])id[_-]?token|` +
	`jwt|login|npm|private|refresh|registry|sas|secret|security|session|slack|sso|user|xsrf`)

// environment are the functions that give variables.
var environment = lazyregexp.MustCompile(`(?i)(?:^|[.:/_])(?:getenv|lookup_?env)$|\benv::_?var(?:_os)?$`)

// Names tells secrets by their names. A nil one knows none. Safe for concurrent use.
type Names struct {
	spec    string
	yes, no *regexp.Regexp
	in      *scanner // yes without its anchors
	result  *regexp.Regexp
	secrets memo // which names are those of secrets
	doubts  memo // which of those are doubtful
}

// memo keeps what was found of names. Keys of a program's maps are without end, but not all of them are names: long
// ones are not kept, and no more than maxNames.
type memo struct {
	known sync.Map // name to bool
	n     atomic.Int32
}

const maxNames = 1 << 16

// of is what is true of a name, which is found once.
func (m *memo) of(name string, find func() bool) bool {
	if is, ok := m.known.Load(name); ok {
		return is.(bool)
	}
	is := find()
	if len(name) <= 64 && m.n.Load() < maxNames {
		m.n.Add(1)
		m.known.Store(name, is)
	}
	return is
}

// New returns the built-in names with a user's changes: words that commas separate, each to be added, or with a "-"
// before it to be taken out. With a "=" before it a word is one only where it is the whole name: "=key".
func New(spec string) (*Names, error) {
	words := slices.Clone(builtin)
	for part := range strings.SplitSeq(spec, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		word, out := strings.CutPrefix(part, "-")
		word, whole := strings.CutPrefix(word, "=")
		word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(word))
		switch {
		case strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || strings.Trim(word, "_") == "":
			return nil, fmt.Errorf("%q is no word of letters and digits", part)
		case whole:
			words = append(words, "^_*"+word+"$")
		case out && !slices.Contains(words, word):
			return nil, fmt.Errorf("%q is not among the names: %s", word, strings.Join(words, ", "))
		case out:
			words = slices.DeleteFunc(words, func(w string) bool { return w == word })
		case !slices.Contains(words, word):
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return nil, nil
	}
	n := &Names{spec: spec, in: newScanner(bare(words))}
	for i, w := range words {
		if w[0] != '^' {
			words[i] = strings.ReplaceAll(w, "_", "[^a-z0-9]?")
		}
	}
	all := "(?:" + strings.Join(words, "|") + ")"
	n.yes = regexp.MustCompile("(?i)" + all)
	n.no = regexp.MustCompile(`(?i)^_*(?:` + amounts + `)[_-]?` + all + `s?$|` + all + `s?[_-]?(?:` + measures + `)$|` +
		`tokeni[sz]|secretar|^(?:m?_*)(?:` + parsers + `)[_-]?tokens?_*$`)
	n.result = regexp.MustCompile(`(?i)^_*(?:(?:` + getters + `)[a-z0-9_]*)?` + all + `s?$`)
	return n, nil
}

// bare are the words without what says where in a name they stand.
func bare(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.Trim(w, "^_*$")
	}
	return out
}

// Secret reports whether what has this name is a secret.
func (n *Names) Secret(name string) bool {
	if n == nil || name == "" {
		return false
	}
	return n.secrets.of(name, func() bool { return n.yes.MatchString(name) && !n.no.MatchString(name) })
}

// Doubtful reports, of the name of a secret, that it may be what parsers call a part of what they read: only texts of
// such a name are secrets, numbers and objects are looked into.
func (n *Names) Doubtful(name string) bool {
	if n == nil {
		return false
	}
	return n.doubts.of(name, func() bool {
		name := lastPart(name)
		rest := strings.ReplaceAll(strings.ToLower(name), "token", "")
		return len(rest) < len(name) && !credentials.MatchString(name) && !n.yes.MatchString(rest)
	})
}

// In reports whether bytes have a word of a secret's name in them.
func (n *Names) In(b []byte) bool { return n != nil && n.in.in(b) }

// Result reports whether a function of this name, with or without what it is in, returns a secret: it is called as one,
// after what it does to get one, or it is one of those that give a variable of the environment, whichever that is.
func (n *Names) Result(function string) bool {
	if n == nil {
		return false
	}
	if environment.MatchString(function) {
		return true
	}
	last := lastPart(function)
	return n.result.MatchString(last) && n.Secret(last)
}

// Headers returns a text of lines as HTTP's headers are without the values of those that are secrets.
func (n *Names) Headers(text string) string {
	if !n.In([]byte(text)) {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		if name, v, ok := strings.Cut(l, ":"); ok && !strings.Contains(name, " ") && n.Secret(name) {
			lines[i] = name + ": " + Redacted + v[len(strings.TrimRight(v, "\r\n")):]
		}
	}
	return strings.Join(lines, "")
}

// lastPart is a function's own name, without what it is in.
func lastPart(name string) string { return name[strings.LastIndexAny(name, ".:/")+1:] }

// Spec is what New made it of.
func (n *Names) Spec() string {
	if n == nil {
		return ""
	}
	return n.spec
}
