package install

import "strings"

// field is a member of our entry: a text, or a list of texts.
type field struct {
	name string
	text string
	list []string
}

func (f field) json() string {
	if f.list == nil {
		return quote(f.text)
	}
	var b strings.Builder
	for i, s := range f.list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	return "[" + b.String() + "]"
}

// toml writes the value for TOML, whose basic strings have JSON's escapes but for DEL.
func (f field) toml() string { return strings.ReplaceAll(f.json(), "\x7f", `\u007F`) }

// plain is the value as parsers give it.
func (f field) plain() any {
	if f.list == nil {
		return f.text
	}
	list := make([]any, len(f.list))
	for i, s := range f.list {
		list[i] = s
	}
	return list
}
