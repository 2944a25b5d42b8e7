package value

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A payload of an interpreter's call is not bytes of its memory but a tree: JSON, in which objects that have a member
// "$" tell what JSON has no form for (docs/agentlink.md, Values). The layout then has the names of the parameters
// alone.

// classMember is the first member of an object that is an instance: its class.
const classMember = "$class"

// treeVersion begins a marshalled layout of payloads that are trees.
const treeVersion = 128

// NewTree returns the layout of a function whose payloads are trees: an object of its arguments at the enter, its
// result or what left it at the exit. depth is how deep its values were followed.
func NewTree(params []string, depth int) *Layout {
	l := &Layout{tree: true, Args: make([]Field, len(params)), Ret: &Field{Type: -1}, Depth: depth}
	for i, name := range params {
		l.Args[i] = Field{Name: name, Type: -1}
	}
	return l
}

func (l *Layout) marshalTree() []byte {
	w := writer{b: []byte{treeVersion}}
	w.num(l.Depth)
	w.num(len(l.Args))
	for i := range l.Args {
		w.str(l.Args[i].Name)
	}
	return w.b
}

func unmarshalTree(b []byte) (*Layout, error) {
	r := reader{b: b}
	depth := int(r.u32() & 255)
	params := make([]string, r.count(maxItems))
	for i := range params {
		params[i] = r.str()
	}
	if r.err != nil || len(r.b) != 0 {
		return nil, errLayout
	}
	return NewTree(params, depth), nil
}

// IsTree reports whether the payloads are trees: of calls of an interpreter.
func (l *Layout) IsTree() bool { return l.tree }

// Thrown returns what left a call, of one that an exception left: false where the payload does not tell.
func (l *Layout) Thrown(payload []byte) (Value, bool) {
	if len(payload) == 0 {
		return Value{}, false
	}
	return l.readTree(payload), true
}

// onOneLine keeps a message of several lines from breaking the row that it stands in.
var onOneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Exception returns an exception in short, in one line: Type: message.
func (v Value) Exception() string {
	class, ok := v.obj.class()
	if !ok {
		return v.Short(shortLimit)
	}
	for _, path := range []string{"message", "args[0]", "msg"} {
		if m, ok := v.Path(path); ok && m.kind == Text {
			return class + ": " + onOneLine.Replace(m.text)
		} else if ok && path == "message" {
			return class + ": " + m.Short(shortLimit)
		}
	}
	if rest := v.obj[1:]; len(rest) == 1 && rest[0].Value.kind == Text {
		return class + ": " + onOneLine.Replace(rest[0].Value.text)
	} else if len(rest) > 0 {
		return class + ": " + rest.Short(shortLimit)
	}
	return class
}

// enterTree returns the arguments, those that the layout knows first and in its order, as they came else.
func (l *Layout) enterTree(payload []byte) Object {
	if len(payload) == 0 {
		return nil
	}
	return l.readTree(payload).obj
}

func (l *Layout) treeArg(payload []byte, i int) (Value, bool) {
	if i < 0 || i >= len(l.Args) {
		return Value{}, false
	}
	return l.enterTree(payload).Get(l.Args[i].Name)
}

// readTree reads a payload. What is wrong in it shows as a marker.
func (l *Layout) readTree(payload []byte) Value {
	p := treeParser{s: payload, depth: l.Depth}
	v, err := p.value(0)
	if err == nil {
		p.space()
		if len(p.s) != 0 {
			err = errTree
		}
	}
	if err != nil {
		return Unreadable
	}
	return v
}

var errTree = errors.New("not a value's tree")

// treeParser reads JSON. s is what is left.
type treeParser struct {
	s     []byte
	depth int // of the layout, for what lies deeper
	nodes int
}

func (p *treeParser) space() {
	for len(p.s) > 0 && (p.s[0] == ' ' || p.s[0] == '\n' || p.s[0] == '\t' || p.s[0] == '\r') {
		p.s = p.s[1:]
	}
}

// next takes c, if it comes.
func (p *treeParser) next(c byte) bool {
	p.space()
	if len(p.s) == 0 || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *treeParser) word(w string) bool {
	if len(p.s) < len(w) || string(p.s[:len(w)]) != w {
		return false
	}
	p.s = p.s[len(w):]
	return true
}

func (p *treeParser) value(nested int) (Value, error) {
	p.space()
	if p.nodes++; nested > maxNesting || p.nodes > maxNodes || len(p.s) == 0 {
		return Value{}, errTree
	}
	switch c := p.s[0]; {
	case c == '"':
		s, err := p.text()
		return NewText(s), err
	case c == '{':
		return p.object(nested)
	case c == '[':
		elems, err := p.elems(nested)
		return NewArray(elems, 0), err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.word("null"):
		return Value{}, nil
	case p.word("true"):
		return NewBool(true), nil
	case p.word("false"):
		return NewBool(false), nil
	}
	return Value{}, errTree
}

func (p *treeParser) elems(nested int) ([]Value, error) {
	p.s = p.s[1:]
	if p.next(']') {
		return nil, nil
	}
	var elems []Value
	for {
		e, err := p.value(nested + 1)
		if err != nil {
			return nil, err
		}
		elems = append(elems, e)
		if p.next(']') {
			return elems, nil
		}
		if !p.next(',') {
			return nil, errTree
		}
	}
}

func (p *treeParser) object(nested int) (Value, error) {
	p.s = p.s[1:]
	if p.next('}') {
		return NewObject(nil), nil
	}
	var o Object
	for {
		p.space()
		if len(p.s) == 0 || p.s[0] != '"' {
			return Value{}, errTree
		}
		name, err := p.text()
		if err != nil || !p.next(':') {
			return Value{}, errTree
		}
		v, err := p.value(nested + 1)
		if err != nil {
			return Value{}, err
		}
		o = append(o, Member{name, v})
		if p.next('}') {
			break
		}
		if !p.next(',') {
			return Value{}, errTree
		}
	}
	if o[0].Name == "$" && o[0].Value.kind == Text {
		return p.tagged(o[0].Value.text, o[1:]), nil
	}
	return NewObject(o), nil
}

func (p *treeParser) number() (Value, error) {
	n := 1
	for n < len(p.s) && strings.IndexByte("0123456789+-.eE", p.s[n]) >= 0 {
		n++
	}
	s := string(p.s[:n])
	p.s = p.s[n:]
	if len(s) < 19 {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return NewInt(i), nil
		}
	}
	v, err := parseNumber(s)
	if err != nil {
		return Value{}, errTree
	}
	if v.kind == Float && !strings.ContainsAny(s, ".eE") { // an integer of more than 128 bits: its digits are what it is
		return Value{kind: Text, text: s, bare: true}, nil
	}
	if v.kind == Float && !math.IsInf(v.f, 0) {
		v = NewFloat(v.f)
		if strings.HasSuffix(s, ".0") { // of languages in which 3.0 is no 3
			v.text = s
		}
	}
	return v, nil
}

// text reads a JSON string. A lone surrogate becomes U+FFFD.
func (p *treeParser) text() (string, error) {
	s := p.s[1:]
	n := 0
	for n < len(s) && s[n] != '"' && s[n] != '\\' {
		n++
	}
	if n < len(s) && s[n] == '"' {
		p.s = s[n+1:]
		return strings.ToValidUTF8(string(s[:n]), "\uFFFD"), nil
	}
	out := append([]byte(nil), s[:n]...)
	s = s[n:]
	for len(s) > 0 && s[0] != '"' {
		if s[0] != '\\' {
			out, s = append(out, s[0]), s[1:]
			continue
		}
		var r rune
		var ok bool
		if r, s, ok = unescape(s); !ok {
			return "", errTree
		}
		out = utf8.AppendRune(out, r)
	}
	if len(s) == 0 {
		return "", errTree
	}
	p.s = s[1:]
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

// unescape reads the escape that s begins with.
func unescape(s []byte) (r rune, rest []byte, ok bool) {
	if len(s) < 2 {
		return 0, s, false
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), s[2:], true
	}
	if r, ok = hex4(s); !ok {
		return 0, s, false
	}
	s = s[6:]
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(s); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, s[6:], true
			}
		}
		r = utf8.RuneError
	}
	return r, s, true
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	return rune(n), err == nil
}

// tagged returns what an object with the member "$" stands for. A tag that is not known shows as the object's members.
func (p *treeParser) tagged(tag string, o Object) Value {
	v, _ := o.Get("v")
	more := 0
	if n, ok := o.Get("more"); ok {
		if i, ok := n.Int64(); ok && i > 0 && i < math.MaxInt32 {
			more = int(i)
		}
	}
	switch tag {
	case "float":
		f, _ := strconv.ParseFloat(v.text, 64)
		return NewFloat(f)
	case "text":
		return NewText(cutText(v.text, more))
	case "bytes":
		return bytesOf(v.text, more)
	case "list":
		return NewArray(v.elems, more)
	case "dict":
		if v.kind == Obj {
			return NewObject(withMore(v.obj, more))
		}
		return mapOf(Value{kind: Array, elems: v.elems, more: more})
	case "obj":
		class, _ := o.Get("t")
		members := append(Object{{classMember, Value{kind: Text, text: class.text, bare: true}}}, v.obj...)
		return NewObject(withMore(members, more))
	case "name", "repr":
		return Value{kind: Text, text: cutText(v.text, more), bare: true}
	case "shape":
		class, _ := o.Get("t")
		return Value{kind: Text, text: class.text + v.text, bare: true}
	case "undefined":
		return Value{kind: Text, text: "undefined", bare: true}
	case "depth":
		if n, ok := o.Get("n"); ok {
			if i, ok := n.Int64(); ok {
				return MaxDepth(int(i))
			}
		}
		return MaxDepth(p.depth)
	case "cycle":
		at, _ := o.Get("a")
		return newMarker("<circular ref to " + at.text + ">")
	case "redacted":
		return Redacted
	case "unreadable":
		return Unreadable
	}
	return NewObject(o)
}

// bytesOf shows bytes as text where they are text, with escapes else.
func bytesOf(base string, more int) Value {
	b, err := base64.StdEncoding.DecodeString(base)
	if err != nil {
		return Unreadable
	}
	return Value{kind: Text, text: cutText("b"+strconv.Quote(string(b)), more), bare: true}
}

func cutText(s string, more int) string {
	if more > 0 {
		s += "…(+" + strconv.Itoa(more) + " bytes)"
	}
	return s
}

func withMore(o Object, more int) Object {
	if more > 0 {
		o = append(o, Member{"…", NewText("+" + strconv.Itoa(more) + " elements")})
	}
	return o
}
