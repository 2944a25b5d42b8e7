package expr

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Untold says why an expression has no value over what was recorded: a name that is not there, or a value that is not
// known.
type Untold struct {
	Name   string // that nothing is recorded of; "": the value is not known
	Reason string
}

// Error returns the reason.
func (e *Untold) Error() string { return e.Reason }

// Lookup returns what was recorded at a path such as "p.next.id" or "v[2]".
type Lookup func(path string) (value.Value, bool)

// ParseRecorded is Parse for values of a function whose language is written as sessions have it: "rust", "python".
func ParseRecorded(src, language string) (*Syntax, error) {
	return Parse(src, symbol.Language(language))
}

// Recorded evaluates an expression over values that were recorded, when their types and memory are gone: integers are
// exact within 64 bits and floats beyond, text compares by all of it, an enumerator is its name. A pointer is what it
// led to. The error is an *Untold, or an *Error for what has no meaning there.
func (s *Syntax) Recorded(lookup Lookup) (value.Value, error) {
	r := recorded{lookup: lookup, real: s.Language == "python" || s.Language == "javascript" || s.Language == "typescript"}
	v, err := r.eval(s.root)
	if err == nil && v.Kind() == value.Marker {
		return v, untold(s.root, v)
	}
	return v, err
}

// Paths returns the paths that Recorded will look up first, each once.
func (s *Syntax) Paths() (out []string) {
	seen := map[string]bool{}
	var walk func(n *ast)
	walk = func(n *ast) {
		if n == nil {
			return
		}
		if p, ok := n.path(); ok {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
			return
		}
		walk(n.a)
		walk(n.b)
		walk(n.c)
	}
	walk(s.root)
	return out
}

// path writes names, members and constant elements as one path.
func (n *ast) path() (string, bool) {
	switch n.kind {
	case astName:
		return n.text, true
	case astMember:
		p, ok := n.a.path()
		return p + "." + n.text, ok
	case astIndex:
		if p, ok := n.a.path(); ok && n.b.kind == astInt {
			return p + "[" + strconv.FormatUint(n.b.num, 10) + "]", true
		}
	case astUnary:
		if n.text == "*" || n.text == "&" {
			return n.a.path()
		}
	}
	return "", false
}

type recorded struct {
	lookup Lookup
	real   bool // dividing integers gives a fraction
}

func untold(n *ast, v value.Value) error {
	p, ok := n.path()
	if !ok {
		p = "a value"
	}
	return &Untold{Reason: p + " is " + v.Text()}
}

func (r *recorded) eval(n *ast) (value.Value, error) {
	switch n.kind {
	case astInt, astChar:
		return value.NewUint(n.num), nil
	case astFloat:
		return value.NewFloat(n.float), nil
	case astText:
		return value.NewText(n.text), nil
	case astBool:
		return value.NewBool(n.num != 0), nil
	case astNull:
		return value.Value{}, nil
	case astName, astMember, astIndex:
		return r.place(n)
	case astLen:
		return r.length(n.a)
	case astUnary:
		return r.unary(n)
	case astBinary:
		return r.binary(n)
	case astCond:
		yes, err := r.truth(n.a)
		if err != nil {
			return value.Value{}, err
		}
		if yes {
			return r.eval(n.b)
		}
		return r.eval(n.c)
	}
	return value.Value{}, unsupported(n.pos, "Compare the value as it was recorded.",
		"casts and sizes are of types, and of recorded calls there are values only")
}

// place looks a name or a part of a value up.
func (r *recorded) place(n *ast) (value.Value, error) {
	if p, ok := n.path(); ok {
		if v, ok := r.lookup(p); ok {
			return v, nil
		}
	}
	switch n.kind {
	case astName:
		if n.text == "None" || n.text == "undefined" {
			return value.Value{}, nil
		}
		return value.Value{}, &Untold{Name: n.text, Reason: fmt.Sprintf("%s was not recorded", n.text)}
	case astUnary:
		return r.eval(n.a)
	}
	in, err := r.place(n.a)
	if err != nil {
		if u, ok := err.(*Untold); ok && u.Name != "" {
			if p, ok := n.path(); ok {
				u.Name, u.Reason = p, p+" was not recorded"
			}
		}
		return in, err
	}
	p, _ := n.path()
	switch in.Kind() {
	case value.Null:
		return in, &Untold{Reason: fmt.Sprintf("%s is null", pathOf(n.a))}
	case value.Marker:
		return in, untold(n.a, in)
	}
	if n.kind == astMember {
		if v, ok := in.Object().Get(n.text); ok {
			return v, nil
		}
		return in, &Untold{Name: p, Reason: p + " was not recorded"}
	}
	at, err := r.eval(n.b)
	if err != nil {
		return at, err
	}
	if i, ok := at.Int64(); ok {
		if v, ok := in.Path("[" + strconv.FormatInt(i, 10) + "]"); ok {
			return v, nil
		}
	} else if v, ok := in.Object().Get(at.Text()); ok {
		return v, nil
	}
	return in, &Untold{Reason: fmt.Sprintf("%s has no element %s", pathOf(n.a), at.Short(20))}
}

func pathOf(n *ast) string {
	if p, ok := n.path(); ok {
		return p
	}
	return "the value"
}

func (r *recorded) length(n *ast) (value.Value, error) {
	v, err := r.eval(n)
	if err != nil {
		return v, err
	}
	switch v.Kind() {
	case value.Text:
		return value.NewInt(int64(utf8.RuneCountInString(v.Text()))), nil
	case value.Array:
		elems, more := v.Elems()
		return value.NewInt(int64(len(elems) + more)), nil
	case value.Obj:
		return value.NewInt(int64(len(v.Object()))), nil
	case value.Marker:
		return v, untold(n, v)
	}
	return v, &Untold{Reason: pathOf(n) + " has no length"}
}

// truth is whether a value counts as true.
func (r *recorded) truth(n *ast) (bool, error) {
	v, err := r.eval(n)
	if err != nil {
		return false, err
	}
	switch v.Kind() {
	case value.Marker:
		return false, untold(n, v)
	case value.Bool:
		return v.Bool(), nil
	case value.Null:
		return false, nil
	case value.Int, value.Float:
		f, _ := v.Float64()
		return f != 0, nil
	}
	return true, nil
}

func (r *recorded) unary(n *ast) (value.Value, error) {
	switch n.text {
	case "!", "not":
		yes, err := r.truth(n.a)
		return value.NewBool(!yes), err
	case "*":
		return r.place(n)
	case "+":
		return r.eval(n.a)
	}
	v, err := r.eval(n.a)
	if err != nil {
		return v, err
	}
	if n.text == "-" && v.Kind() == value.Float {
		f, _ := v.Float64()
		return value.NewFloat(-f), nil
	}
	i, ok := v.Int64()
	switch {
	case !ok:
		return v, &Untold{Reason: fmt.Sprintf("%s is no number", pathOf(n.a))}
	case n.text == "-" && i != math.MinInt64:
		return value.NewInt(-i), nil
	case n.text == "~":
		return value.NewInt(^i), nil
	}
	return v, unsupported(n.pos, "", "%s is not for recorded values", n.text)
}

func (r *recorded) binary(n *ast) (value.Value, error) {
	if n.text == "&&" || n.text == "||" {
		return r.logic(n)
	}
	a, errA := r.eval(n.a)
	b, errB := r.eval(n.b)
	if isEquality(n.text) {
		a, errA = enumerator(n.a, a, errA, b, errB)
		b, errB = enumerator(n.b, b, errB, a, errA)
	}
	for _, err := range []error{errA, errB} {
		if err != nil {
			return a, err
		}
	}
	for _, side := range []struct {
		n *ast
		v value.Value
	}{{n.a, a}, {n.b, b}} {
		if side.v.Kind() == value.Marker {
			return side.v, untold(side.n, side.v)
		}
	}
	if isComparison(n.text) {
		return compareRecorded(n, a, b)
	}
	return r.arithmetic(n, a, b)
}

// enumerator takes a name that nothing was recorded of for the name of what it is compared with.
func enumerator(n *ast, v value.Value, err error, other value.Value, otherErr error) (value.Value, error) {
	u, ok := err.(*Untold)
	if !ok || u.Name == "" || n.kind != astName || otherErr != nil || other.Kind() != value.Text {
		return v, err
	}
	if _, named := other.Int64(); !named {
		return v, err
	}
	if last := n.text[strings.LastIndexByte(n.text, ':')+1:]; last == other.Text() || strings.HasSuffix(other.Text(),
		"::"+last) {
		return other, nil
	}
	return value.NewText(n.text), nil
}

// logic is false where one side is, whatever the other may be, and true likewise.
func (r *recorded) logic(n *ast) (value.Value, error) {
	and := n.text == "&&"
	a, errA := r.truth(n.a)
	if errA == nil && a != and {
		return value.NewBool(a), nil
	}
	b, errB := r.truth(n.b)
	switch {
	case errB == nil && b != and:
		return value.NewBool(b), nil
	case errA != nil:
		return value.Value{}, errA
	}
	return value.NewBool(b), errB
}

func compareRecorded(n *ast, a, b value.Value) (value.Value, error) {
	// what is 0 or 1 in one language is a truth value in another
	if a.Kind() == value.Bool && b.Kind() == value.Int {
		a = number(a)
	} else if b.Kind() == value.Bool && a.Kind() == value.Int {
		b = number(b)
	}
	if isEquality(n.text) {
		return value.NewBool(a.Equal(b) == (n.text == "==")), nil
	}
	order, ok := a.Compare(b)
	if !ok {
		return a, &Untold{Reason: fmt.Sprintf("%s %s %s has no order", a.Short(20), n.text, b.Short(20))}
	}
	yes := false
	switch n.text {
	case "<":
		yes = order < 0
	case "<=":
		yes = order <= 0
	case ">":
		yes = order > 0
	default:
		yes = order >= 0
	}
	return value.NewBool(yes), nil
}

func number(v value.Value) value.Value {
	if v.Bool() {
		return value.NewInt(1)
	}
	return value.NewInt(0)
}

func (r *recorded) arithmetic(n *ast, a, b value.Value) (value.Value, error) {
	x, intA := a.Int64()
	y, intB := b.Int64()
	if intA && intB {
		if v, ok, err := r.integers(n, x, y); ok || err != nil {
			return v, err
		}
	}
	f, okA := float(a)
	g, okB := float(b)
	if !okA || !okB {
		if n.text == "+" && a.Kind() == value.Text && b.Kind() == value.Text {
			return value.NewText(a.Text() + b.Text()), nil
		}
		return a, &Untold{Reason: fmt.Sprintf("%s %s %s is no number", a.Short(20), n.text, b.Short(20))}
	}
	switch n.text {
	case "+":
		return value.NewFloat(f + g), nil
	case "-":
		return value.NewFloat(f - g), nil
	case "*":
		return value.NewFloat(f * g), nil
	case "/":
		if g == 0 {
			return a, &Untold{Reason: "it divides by zero"}
		}
		return value.NewFloat(f / g), nil
	case "%":
		return value.NewFloat(math.Mod(f, g)), nil
	}
	return a, &Untold{Reason: n.text + " is for integers"}
}

func float(v value.Value) (float64, bool) {
	if v.Kind() == value.Bool {
		v = number(v)
	}
	if i, ok := v.Int64(); ok {
		return float64(i), true
	}
	return v.Float64()
}

// integers computes within 64 bits; ok is false where floats have to.
func (r *recorded) integers(n *ast, x, y int64) (v value.Value, ok bool, err error) {
	var z int64
	switch n.text {
	case "+":
		z, ok = x+y, (x+y > x) == (y > 0)
	case "-":
		z, ok = x-y, (x-y < x) == (y > 0)
	case "*":
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		z, ok = x*y, hi == 0 && lo <= math.MaxInt64
	case "/", "%":
		if y == 0 {
			return v, false, &Untold{Reason: "it divides by zero"}
		}
		if y == -1 || n.text == "/" && r.real && x%y != 0 {
			return v, false, nil
		}
		if z, ok = x/y, true; n.text == "%" {
			if z = x % y; z != 0 && r.real && (z < 0) != (y < 0) {
				z += y
			}
		}
	case "&":
		z, ok = x&y, true
	case "|":
		z, ok = x|y, true
	case "^":
		z, ok = x^y, true
	case "<<":
		z, ok = x<<(uint(y)&63), true
	case ">>":
		z, ok = x>>(uint(y)&63), true
	}
	return value.NewInt(z), ok, nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}
