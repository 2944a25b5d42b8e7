package columns

import "fmt"

// relations that two numbers may be in, by the orders that fulfil them.
var relations = []struct {
	text   string
	holds  [3]bool // less, equal, greater
	weight float64
}{
	{"==", [3]bool{false, true, false}, 1.45},
	{"<", [3]bool{true, false, false}, 1},
	{">", [3]bool{false, false, true}, 1},
	{"<=", [3]bool{true, true, false}, 1},
	{">=", [3]bool{false, true, true}, 1},
}

// pairs: how two columns of a call are to each other.
func (f *finder) pairs() {
	var numbers, names []*Column
	for _, c := range f.t.columns {
		if c.n < MinCalls || c.Place == Took || c.Place == Thrown || c.Inner() {
			continue
		}
		if _, same := c.Same(); same {
			continue
		}
		switch f.most(c) {
		case Int, Uint, Float:
			numbers = append(numbers, c)
		case Address, Text, Name:
			names = append(names, c)
		}
	}
	numbers, names = numbers[:min(len(numbers), maxNumbers)], names[:min(len(names), maxNumbers)]
	copies := map[*Column]bool{} // what holds for the one holds for the other
	for i, a := range numbers {
		for _, b := range numbers[i+1:] {
			if copies[a] || copies[b] {
				continue
			}
			if !f.difference(a, b) {
				copies[b] = f.compare(a, b) && a.n == b.n
			}
			f.apart(a, b)
		}
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			f.alike(a, b)
			f.apart(a, b)
		}
	}
}

// most is the kind that a column has most often, in the sample.
func (f *finder) most(c *Column) Kind {
	var n [Whole + 1]int
	best := Absent
	for _, row := range f.sample {
		if k := c.At(row).Kind; k != Absent {
			if n[k]++; best == Absent || n[k] > n[best] {
				best = k
			}
		}
	}
	return best
}

// orders counts in the sample how a is to b: less, equal, greater; by chance, it compares what is of different calls.
func (f *finder) orders(a, b *Column, chance bool) (n [3]int, all int) {
	for i, row := range f.sample {
		with := row
		if chance {
			with = f.other[i]
		}
		if order, ok := Compare(a.At(row), b.At(with)); ok {
			n[order+1]++
			all++
		}
	}
	return n, all
}

// compare finds the strongest relation that says something; same: they are always equal.
func (f *finder) compare(a, b *Column) (same bool) {
	n, all := f.orders(a, b, false)
	luck, lucky := f.orders(a, b, true)
	if all < MinCalls || lucky == 0 {
		return false
	}
	for _, r := range relations {
		broken, chance := 0, 0
		for i, holds := range r.holds {
			if !holds {
				broken, chance = broken+n[i], chance+luck[i]
			}
		}
		if broken > 2*few(all) || chance*all < baseline*(broken+1)*lucky || chance*20 < lucky {
			continue
		}
		var count counter
		rows := max(len(a.codes), len(a.words))
		for row := range rows {
			if order, ok := Compare(a.At(row), b.At(row)); ok {
				count.tell(row, r.holds[order+1])
			}
		}
		if f.keep(&count, a.Path+" "+r.text+" "+b.Path, r.weight, a, b) {
			return r.text == "==" && count.Broken == 0
		}
	}
	return false
}

// difference: a number that is another one and a constant.
func (f *finder) difference(a, b *Column) bool {
	counts, byChance := map[int64]int{}, map[int64]int{}
	all, best := 0, int64(0)
	for i, row := range f.sample {
		x, y := a.At(row), b.At(row)
		if x.Kind != Int || y.Kind != Int {
			continue
		}
		d := int64(y.Word - x.Word)
		byChance[int64(b.At(f.other[i]).Word-x.Word)]++
		all++
		if counts[d]++; counts[d] > counts[best] {
			best = d
		}
	}
	if all < MinCalls || all-counts[best] > 2*few(all) || best == 0 ||
		all-byChance[best] < baseline*(all-counts[best]+1) {
		return false
	}
	var count counter
	rows := max(len(a.codes), len(a.words))
	for row := range rows {
		if x, y := a.At(row), b.At(row); x.Kind == Int && y.Kind == Int {
			count.tell(row, int64(y.Word-x.Word) == best)
		}
	}
	sign, by := "+", best
	if by < 0 {
		sign, by = "-", -by
	}
	return f.keep(&count, fmt.Sprintf("%s == %s %s %d", b.Path, a.Path, sign, by), 1.3, a, b)
}

// alike: texts or addresses that are the same.
func (f *finder) alike(a, b *Column) {
	var n, luck, all int
	for i, row := range f.sample {
		x, y := a.At(row), b.At(row)
		if x.Kind == Absent || y.Kind == Absent {
			continue
		}
		all++
		if x != y {
			n++
		}
		if x != b.At(f.other[i]) {
			luck++
		}
	}
	if all < MinCalls || n > 2*few(all) || luck < baseline*(n+1) {
		return
	}
	f.equality(a, b, true, 1.2)
}

// apart: values that could be equal by chance, and are in a few calls only.
func (f *finder) apart(a, b *Column) {
	var n, luck, all int
	for i, row := range f.sample {
		x, y := a.At(row), b.At(row)
		if x.Kind != y.Kind || x.Kind == Absent {
			continue
		}
		all++
		if x == y {
			n++
		}
		if x == b.At(f.other[i]) {
			luck++
		}
	}
	if all < 3*MinCalls || n > few(all) || luck < baseline*(n+1) {
		return
	}
	f.equality(a, b, false, 1)
}

func (f *finder) equality(a, b *Column, equal bool, weight float64) {
	var count counter
	rows := max(len(a.codes), len(a.words))
	for row := range rows {
		x, y := a.At(row), b.At(row)
		if x.Kind != Absent && y.Kind != Absent {
			count.tell(row, (x == y) == equal)
		}
	}
	op := " != "
	if equal {
		op = " == "
	}
	f.keep(&count, a.Path+op+b.Path, weight, a, b)
}
