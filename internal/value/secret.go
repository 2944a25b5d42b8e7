package value

import (
	"bytes"
	"slices"

	"github.com/strobe-debug/strobe/internal/secret"
)

// redactedTree is a secret in a tree.
const redactedTree = `{"$":"redacted"}`

// RedactedTree is what stands for a payload that is a secret, where it is not only yes, no or nothing; one that is
// doubtful (secret.Names.Doubtful) is one only if it is a text.
func RedactedTree(payload []byte, doubtful bool) []byte {
	if tellsNothing(payload) {
		return payload
	}
	if doubtful && !isText(payload) {
		return payload
	}
	return []byte(redactedTree)
}

// tellsNothing reports a value that is only yes, no or nothing: a text without characters, too.
func tellsNothing(payload []byte) bool {
	switch string(payload) {
	case "null", "true", "false", `""`:
		return true
	}
	return false
}

// IsRedacted reports a payload that is a secret's.
func IsRedacted(payload []byte) bool { return string(payload) == redactedTree }

// RedactTree returns a tree's payload with what stands under the name of a secret taken out, and how many values that
// were. A member that says no more than yes, no or nothing stays. What is no tree comes back as it was: nothing of it
// is shown. A payload without secrets is the one that was given.
func RedactTree(payload []byte, names *secret.Names) (out []byte, n int) {
	return redact(payload, names, redactedTree)
}

// RedactJSON is RedactTree of what is no tree but JSON as it is shown.
func RedactJSON(payload []byte, names *secret.Names) (out []byte, n int) {
	return redact(payload, names, `"`+secret.Redacted+`"`)
}

func redact(payload []byte, names *secret.Names, instead string) (out []byte, n int) {
	if names == nil || len(payload) == 0 || !names.In(payload) && !bytes.Contains(payload, []byte(`\u`)) {
		return payload, 0 // most have no such word, and none can be hidden in an escape
	}
	r := treeRedactor{p: treeParser{s: payload}, all: payload, names: names, instead: instead}
	for more := true; more; more = len(r.p.s) > 0 { // bodies have one value for each line
		if !r.value(0) {
			return nil, 0
		}
		r.p.space()
	}
	if r.n == 0 {
		return payload, 0
	}
	return append(r.out, r.all[r.from:]...), r.n
}

// treeRedactor copies a tree but for secrets. from is where in all what was not copied yet begins.
type treeRedactor struct {
	p     treeParser
	all   []byte
	out   []byte
	from  int
	n     int
	names *secret.Names

	instead string
}

func (r *treeRedactor) at() int { return len(r.all) - len(r.p.s) }

// replace puts what stands for a secret in place of what lies between two offsets.
func (r *treeRedactor) replace(lo, hi int) {
	if tellsNothing(r.all[lo:hi]) {
		return
	}
	r.out = append(append(r.out, r.all[r.from:lo]...), r.instead...)
	r.from = hi
	r.n++
}

// value passes over one value. False: it is none.
func (r *treeRedactor) value(nested int) bool {
	r.p.space()
	if len(r.p.s) == 0 || nested > 2*maxNesting {
		return false
	}
	switch r.p.s[0] {
	case '{':
		return r.members(nested)
	case '[':
		return r.elems(nested)
	case '"':
		_, ok := r.name()
		return ok
	}
	i := 0
	for i < len(r.p.s) && r.p.s[i] != ',' && r.p.s[i] != ']' && r.p.s[i] != '}' && r.p.s[i] > ' ' {
		i++
	}
	r.p.s = r.p.s[i:]
	return i > 0
}

// name passes over a text and returns it, as it is written where nothing is escaped in it.
func (r *treeRedactor) name() ([]byte, bool) {
	s := r.p.s
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			r.p.s = s[i+1:]
			return s[1:i], true
		case '\\':
			t, err := r.p.text()
			return []byte(t), err == nil
		}
	}
	return nil, false
}

func (r *treeRedactor) members(nested int) bool {
	r.p.s = r.p.s[1:]
	for first := true; ; first = false {
		switch {
		case r.p.next('}'):
			return true
		case !first && !r.p.next(','):
			return false
		}
		if r.p.space(); len(r.p.s) == 0 || r.p.s[0] != '"' {
			return false
		}
		name, ok := r.name()
		if !ok || !r.p.next(':') || !r.under(name, nested) {
			return false
		}
	}
}

// under passes over a value that has a name.
func (r *treeRedactor) under(name []byte, nested int) bool {
	if !r.names.In(name) || !r.names.Secret(string(name)) {
		return r.value(nested + 1)
	}
	r.p.space()
	if r.names.Doubtful(string(name)) && !isText(r.p.s) {
		return r.value(nested + 1)
	}
	lo, was := r.at(), *r
	if !r.value(nested + 1) {
		return false
	}
	r.out, r.from, r.n = was.out, was.from, was.n
	r.replace(lo, r.at())
	return true
}

// isText reports whether a text, or a list of some, comes next.
func isText(s []byte) bool {
	for _, before := range []string{`{"$":"list","v":`, "["} {
		s = bytes.TrimPrefix(s, []byte(before))
	}
	return slices.ContainsFunc(texts, func(begins []byte) bool { return bytes.HasPrefix(s, begins) })
}

var texts = [][]byte{[]byte(`"`), []byte(`{"$":"text"`), []byte(`{"$":"bytes"`)}

// elems passes over a list; one of a name and a value is of a mapping.
func (r *treeRedactor) elems(nested int) bool {
	r.p.s = r.p.s[1:]
	var name []byte
	for i := 0; ; i++ {
		switch {
		case r.p.next(']'):
			return true
		case i > 0 && !r.p.next(','):
			return false
		}
		r.p.space()
		if i == 0 && len(r.p.s) > 0 && r.p.s[0] == '"' {
			n, ok := r.name()
			if name = n; !ok {
				return false
			}
			continue
		}
		var pair []byte
		if i == 1 {
			pair = name
		}
		if !r.under(pair, nested) {
			return false
		}
	}
}

// RedactKeys is RedactTree of a payload of copied bytes, of which only keys of maps are names that are known now: all
// others never were in it; n is how many keys had a secret. What a secret key leads to is zeros in what it returns.
func (l *Layout) RedactKeys(payload []byte, exit bool) (out []byte, n int) {
	if l.Secrets == nil || !l.Secrets.In(payload) {
		return payload, 0
	}
	shape := &l.OnEnter
	out = append([]byte(nil), payload...)
	fields := [][]Field{l.Args, l.EnterWatches}
	if exit {
		shape, fields = &l.OnExit, [][]Field{l.Out, l.ExitWatches}
		if l.Ret != nil {
			fields = append(fields, []Field{*l.Ret})
		}
	}
	r := l.renderer(shape, out)
	r.wiped = &wiped{}
	for _, fs := range fields {
		for i := range fs {
			r.field(&fs[i])
		}
	}
	if r.nodes > maxFollow { // not all of it was looked at
		fixed := shape.GPRs * 8
		for i := range shape.Parts {
			fixed += int(pad8(uint64(shape.Parts[i].Size)))
			if shape.Parts[i].Eval {
				fixed += 8
			}
		}
		return out[:min(fixed, len(out))], 1
	}
	for _, b := range r.wiped.bytes {
		clear(b)
	}
	return out, r.wiped.keys
}

// Redacted returns how many secrets a call leaves out by its layout at its enter, or at its exit: in each object that
// is captured once, whatever lists and null pointers make of that.
func (l *Layout) Redacted(exit bool) (n int) {
	if !slices.ContainsFunc(l.Types, func(t Type) bool { return t.Class == ClassRedacted }) {
		return 0
	}
	fields := [][]Field{l.Args, l.EnterWatches}
	if exit {
		fields = [][]Field{l.Out, l.ExitWatches}
		if l.Ret != nil {
			fields = append(fields, []Field{*l.Ret})
		}
	}
	counts := make([]int, len(l.Types)) // one more than is in a type
	var count func(t int32) int
	count = func(t int32) (n int) {
		if t < 0 || int(t) >= len(l.Types) {
			return 0
		}
		of := &l.Types[t]
		switch {
		case of.Class == ClassRedacted:
			return 1
		case counts[t] > 0:
			return counts[t] - 1
		}
		counts[t] = 1 // for those that lead back here
		n = count(of.Elem)
		for i := range of.Fields {
			n += count(of.Fields[i].Type)
		}
		for i := range of.Variants {
			n += count(of.Variants[i].Type)
		}
		counts[t] = min(n, maxFollow) + 1
		return min(n, maxFollow)
	}
	for _, fs := range fields {
		for i := range fs {
			n += count(fs[i].Type)
		}
	}
	return n
}

// wiped is what a renderer found below secret keys. within counts those around the value at hand.
type wiped struct {
	within int
	keys   int // with a value that is left out
	bytes  [][]byte
}

func (w *wiped) add(b []byte) {
	if w != nil && w.within > 0 {
		w.bytes = append(w.bytes, b)
	}
}

// keyed shows the value of a key.
func (r *renderer) keyed(key Value, show func() Value) Value {
	if key.kind != Text || !r.l.Secrets.Secret(key.text) {
		return show()
	}
	if r.wiped != nil {
		r.wiped.within++
		r.wiped.keys++
		show()
		r.wiped.within--
	}
	return Redacted
}

// hasMaps reports whether values of a layout may have keys.
func (l *Layout) hasMaps() bool {
	for i := range l.Types {
		switch l.Types[i].Class {
		case ClassMap, ClassPairs:
			return true
		}
	}
	return false
}

// HideKeys has keys of maps taken as names, if values of the layout have some.
func (l *Layout) HideKeys(names *secret.Names) {
	if l.hasMaps() {
		l.Secrets = names
	}
}
