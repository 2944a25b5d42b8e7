package columns

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Rule is a sentence about a function's calls that holds in all of them, or in all but a few.
type Rule struct {
	Text     string
	Columns  []*Column // that it is about
	Calls    int       // that could tell
	Broken   int       // of these
	Breaks   []Break   // the first maxBreaks of them
	Surprise float64   // how much it says that the others hold
	Own      int       // of Columns: those that Text is about, the rest being of Also
	Also     []string  // rules that the same calls break
}

// Break is a call that broke a rule.
type Break struct {
	Row    int
	Before int // the row that it does not go with, -1: none
}

// MinCalls is how many calls show a rule at least.
const MinCalls = 8

// Bounds of what is looked for.
const (
	fewShare    = 25   // of so many calls one may break a rule
	maxBreaks   = 8    // that a rule names
	maxTold     = 3    // columns of a call that broke rules
	sampleRows  = 2000 // of which rules are tried before they are counted
	maxNumbers  = 16   // columns that are compared with each other
	maxGuards   = 12   // columns that others may follow from
	maxValues   = 12   // different values of such a column
	maxGroups   = 1 << 17
	maxFrequent = 8   // values of a column that are told as the usual ones; of numbers half as many
	farther     = 1.5 // an outlier is so many spans away
	baseline    = 5   // a rule that chance would break less than so many times as often says nothing
)

// OfValues reports a rule that another input does not break by itself: of signs, nulls, and values to each other, but
// not of which values there are, nor of what equal arguments give, which input that is read breaks.
func (r *Rule) OfValues() bool {
	if r.Own == 1 {
		return strings.HasSuffix(r.Text, " >= 0") || strings.HasSuffix(r.Text, "null")
	}
	return !strings.Contains(r.Text, "→") && !strings.HasPrefix(r.Text, "equal arguments")
}

// few is how many of n calls may break a rule.
func few(n int) int {
	if n < 2*MinCalls {
		return 0
	}
	return max(n/fewShare, 1)
}

// finder collects rules of one table.
type finder struct {
	t      *Table
	rules  []Rule
	sample []int // rows, spread over all
	other  []int // the sample in another order: what has nothing to do with each other
}

// Rules returns what holds in all calls but a few, the broken ones first, by what is surprising about them. notes says
// what was not looked at.
func (t *Table) Rules() (rules []Rule, notes []string) {
	f := &finder{t: t}
	f.pick()
	for _, c := range t.columns {
		if c.Inner() {
			continue
		}
		f.kinds(c)
		f.range_(c)
		f.wrap(c)
		f.usual(c)
		f.order(c)
		f.distinct(c)
	}
	f.pairs()
	f.follows()
	notes = f.repeatable()
	return f.sorted(), notes
}

// pick chooses the sample.
func (f *finder) pick() {
	n := len(f.t.Rows)
	step := max(n/sampleRows, 1)
	for i := 0; i < n; i += step {
		f.sample = append(f.sample, i)
	}
	f.other = slices.Clone(f.sample)
	state := uint64(len(f.other))*2654435761 + 1
	for i := len(f.other) - 1; i > 0; i-- { // the same at every question
		state = state*6364136223846793005 + 1442695040888963407
		j := int((state >> 33) % uint64(i+1))
		f.other[i], f.other[j] = f.other[j], f.other[i]
	}
}

// counter counts a rule's calls.
type counter struct{ Rule }

func (c *counter) tell(row int, holds bool) { c.against(row, -1, holds) }

func (c *counter) against(row, before int, holds bool) {
	if c.Calls++; holds {
		return
	}
	if c.Broken++; len(c.Breaks) < maxBreaks {
		c.Breaks = append(c.Breaks, Break{row, before})
	}
}

// made returns the rule if it holds in all but a few, else nil.
func (c *counter) made(text string, weight float64, columns ...*Column) *Rule {
	if c.Calls < MinCalls || c.Broken > few(c.Calls) {
		return nil
	}
	c.Text, c.Columns, c.Own = text, columns, len(columns)
	c.Surprise = weight * math.Log2(float64(c.Calls)/float64(c.Broken+1))
	return &c.Rule
}

// keep takes a rule that holds in all but a few.
func (f *finder) keep(c *counter, text string, weight float64, columns ...*Column) bool {
	r := c.made(text, weight, columns...)
	if r != nil {
		f.rules = append(f.rules, *r)
	}
	return r != nil
}

// sorted puts broken rules first, and those that the same calls break together.
func (f *finder) sorted() []Rule {
	sorting.By(f.rules, func(x, y Rule) int {
		if (x.Broken > 0) != (y.Broken > 0) {
			return cmp.Compare(min(y.Broken, 1), min(x.Broken, 1))
		}
		return cmp.Compare(y.Surprise, x.Surprise)
	})
	var out []Rule
	for _, r := range f.rules {
		i := -1
		if r.Broken > 0 {
			i = slices.IndexFunc(out, func(have Rule) bool { return sameBreaks(&have, &r) })
		}
		if i >= 0 {
			out[i].Also = append(out[i].Also, r.Text)
			for _, c := range r.Columns {
				if len(out[i].Columns) < maxTold && !slices.Contains(out[i].Columns, c) {
					out[i].Columns = append(slices.Clip(out[i].Columns), c)
				}
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

func sameBreaks(x, y *Rule) bool {
	return x.Broken == y.Broken && len(x.Breaks) == len(y.Breaks) && slices.EqualFunc(x.Breaks, y.Breaks,
		func(a, b Break) bool { return a.Row == b.Row })
}

// each calls fn for every cell of a column.
func (f *finder) each(c *Column, fn func(row int, v Cell)) {
	n := max(len(c.codes), len(c.words))
	for i := range n {
		if v := c.At(i); v.Kind != Absent {
			fn(i, v)
		}
	}
}

// class is what a value is, roughly.
func (k Kind) class() Kind {
	switch k {
	case Uint, Float, Name:
		return Int
	}
	return k
}

var classNames = map[Kind]string{Null: "null", Bool: "a bool", Int: "a number", Address: "an address", Text: "text",
	Whole: "an array or object"}

// kinds: what is null, or of another kind, in a few calls.
func (f *finder) kinds(c *Column) {
	var n [Whole + 1]int
	f.each(c, func(_ int, v Cell) { n[v.Kind.class()]++ })
	most := Null
	for k := range n {
		if n[k] > n[most] {
			most = Kind(k)
		}
	}
	// What was not read, or was left out of a value that was told briefly, is of any kind.
	told := c.n - n[Marker]
	if n[most] == told || n[most] == 0 || most == Marker {
		return
	}
	var count counter
	f.each(c, func(row int, v Cell) {
		if v.Kind != Marker {
			count.tell(row, v.Kind.class() == most)
		}
	})
	switch {
	case c.Place == Thrown:
		f.keep(&count, "is never left by an exception", 1.5, c)
	case n[most]+n[Null] == told && most != Null:
		f.keep(&count, c.Path+" is never null", 1.3, c)
	default:
		f.keep(&count, c.Path+" is always "+classNames[most], 1.3, c)
	}
}

// range_: numbers that are far from all others, or on the other side of zero.
func (f *finder) range_(c *Column) {
	var s []float64
	for _, row := range f.sample {
		if v := c.At(row); v.Number() && !math.IsNaN(v.Float()) {
			s = append(s, v.Float())
		}
	}
	if len(s) < MinCalls || c.Place == Took {
		return
	}
	slices.Sort(s)
	lo, hi := s[few(len(s))], s[len(s)-1-few(len(s))]
	span := max(hi-lo, math.Abs(hi)/100, 1)
	var far, sign counter
	least, most := math.Inf(1), math.Inf(-1) // of the others
	var first, last Cell
	f.each(c, func(row int, v Cell) {
		if !v.Number() {
			return
		}
		x := v.Float()
		inside := x >= lo-farther*span && x <= hi+farther*span
		far.tell(row, inside)
		sign.tell(row, x >= 0)
		if inside && x < least {
			least, first = x, v
		}
		if inside && x > most {
			most, last = x, v
		}
	})
	if sign.Broken > 0 && lo >= 0 {
		f.keep(&sign, c.Path+" >= 0", 1.4, c)
	}
	if far.Broken > 0 {
		f.keep(&far, c.Path+" in "+f.t.Show(first)+".."+f.t.Show(last), 0.9, c)
	}
}

// usual: one value, or a few, that a column has in all calls but a few.
func (f *finder) usual(c *Column) {
	if c.words != nil || len(c.dict) < 2 || c.n < MinCalls || c.Place == Thrown || c.Place == Took {
		return
	}
	bound := few(c.n)
	usual := make([]bool, len(c.dict))
	var texts []string
	var least, most Cell
	numbers, rest := true, 0
	for i, n := range c.count {
		if n <= bound {
			rest += n
			continue
		}
		usual[i] = true
		v := c.dict[i]
		texts = append(texts, f.t.Show(v))
		if numbers = numbers && v.Number(); numbers {
			if order, _ := Compare(v, least); len(texts) == 1 || order < 0 {
				least = v
			}
			if order, _ := Compare(v, most); len(texts) == 1 || order > 0 {
				most = v
			}
		}
	}
	if rest == 0 || rest > bound || len(texts) == 0 || len(texts) > maxFrequent || numbers && len(texts) > maxFrequent/2 {
		return
	}
	var count counter
	f.each(c, func(row int, v Cell) {
		i := c.index[v] - 1
		holds := usual[i] || v.Kind == Null || v.Kind == Whole // what is null is told by itself
		if !holds && numbers && len(texts) > 2 {               // between its neighbours it is one more of them
			low, _ := Compare(v, least)
			high, _ := Compare(v, most)
			holds = v.Number() && low > 0 && high < 0
		}
		count.tell(row, holds)
	})
	if count.Broken == 0 {
		return
	}
	text, weight := c.Path+" == "+texts[0], 1.0
	if len(texts) > 1 {
		slices.Sort(texts)
		text, weight = c.Path+" is one of "+joined(texts), 0.7
	}
	f.keep(&count, text, weight, c)
}

func joined(texts []string) string {
	out := texts[0]
	for _, t := range texts[1:] {
		out += ", " + t
	}
	return out
}
