package columns

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/value"
)

// calls makes a table of n calls of f(a, b), of which fill says the values.
func calls(n int, fill func(t *Table, row int)) *Table {
	t := New(&Room{Left: MaxBytes})
	for i := range n {
		row, _ := t.Add(Row{Enter: int64(2*i + 1), Exit: int64(2*i + 2), Thread: uint32(i % 2)})
		fill(t, row)
	}
	return t
}

func num(t *Table, row int, p Place, name string, n int) { t.Put(row, p, name, value.NewInt(int64(n))) }

// TestRules: each kind of rule is found with the call that breaks it, and with nobody else's.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		fill func(t *Table, row int) // row 70 of 100 is odd
	}{
		{"a >= 0", func(t *Table, row int) { num(t, row, Argument, "a", odd(row, -7, 10+row%5)) }},
		{"a in 10..29", func(t *Table, row int) { num(t, row, Argument, "a", odd(row, 4000, 10+(row*7)%20)) }},
		{"a == 3", func(t *Table, row int) { num(t, row, Argument, "a", odd(row, 4, 3)) }},
		{"a never decreases", func(t *Table, row int) { num(t, row, Argument, "a", odd(row, 20, row/2+1)) }},
		{"a never decreases per thread", func(t *Table, row int) {
			num(t, row, Argument, "a", odd(row, 20, row/2+1000*(row%2)))
		}},
		{"result never decreases per lane", func(t *Table, row int) {
			num(t, row, Argument, "lane", row%3)
			num(t, row, Result, "result", odd(row, 101*(row%3), 100*(row%3)+row/3))
		}},
		{"a never repeats", func(t *Table, row int) { num(t, row, Argument, "a", odd(row, 6007%101, (row*6007)%101)) }},
		{"a < b", func(t *Table, row int) {
			num(t, row, Argument, "a", (row*37)%90)
			num(t, row, Argument, "b", odd(row, (row*37)%90-2, (row*37)%90+1+row%7))
		}},
		{"b == a + 1", func(t *Table, row int) {
			num(t, row, Argument, "a", (row*37)%91)
			num(t, row, Argument, "b", odd(row, (row*37)%91+2, (row*37)%91+1))
		}},
		{"a != b", func(t *Table, row int) {
			num(t, row, Argument, "a", row%5)
			num(t, row, Argument, "b", odd(row, row%5, (row+1+row%4)%5))
		}},
		{"kind=0 → size=8, kind=1 → size=16", func(t *Table, row int) {
			num(t, row, Argument, "kind", row%2)
			num(t, row, Argument, "size", odd(row, 16, 8+8*(row%2)))
		}},
		{"equal arguments give equal result", func(t *Table, row int) {
			num(t, row, Argument, "a", (row*7)%10)
			num(t, row, Result, "result", odd(row, 3, (row*7)%10*3))
		}},
		{"p is never null", func(t *Table, row int) {
			if row == oddRow {
				t.Put(row, Argument, "p", value.Value{})
				return
			}
			t.Put(row, Argument, "p", value.NewText(fmt.Sprint("text", row)))
		}},
		{"is never left by an exception", func(t *Table, row int) {
			if row == oddRow {
				t.Put(row, Thrown, "thrown", value.NewText("bad"))
				return
			}
			t.Put(row, Thrown, "thrown", value.Value{})
		}},
		{"p.state is one of \"idle\", \"run\"", func(t *Table, row int) {
			state := []string{"idle", "run"}[row%2]
			if row == oddRow {
				state = "dead"
			}
			t.Put(row, Argument, "p", value.NewObject(value.Object{{Name: "state", Value: value.NewText(state)}}))
		}},
		{"len(v) in 1..4", func(t *Table, row int) {
			t.Put(row, Argument, "v", value.NewArray(make([]value.Value, odd(row, 90, 1+row%4)), 0))
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			rules, _ := calls(100, c.fill).Rules()
			var found []string
			for _, r := range rules {
				if r.Broken == 0 {
					continue
				}
				all := append([]string{r.Text}, r.Also...)
				found = append(found, all...)
				if slices.Contains(all, c.rule) && (r.Broken > 2 || !slices.ContainsFunc(r.Breaks, func(b Break) bool {
					return b.Row == 70
				})) {
					t.Errorf("%s is broken %d times, by %v, want by 70", c.rule, r.Broken, r.Breaks)
				}
			}
			if !slices.Contains(found, c.rule) {
				t.Errorf("%q was not found, only %q", c.rule, found)
			}
			oddRow = -1
			defer func() { oddRow = 70 }()
			even, _ := calls(100, c.fill).Rules()
			for _, r := range even {
				if r.Text == c.rule && r.Broken > 0 {
					t.Errorf("%s is broken %d times where nothing is odd", c.rule, r.Broken)
				}
			}
		})
	}
}

// TestLeftOut: a value that was told briefly, or could not be read, breaks no rule of kinds.
func TestLeftOut(t *testing.T) {
	rules, _ := calls(100, func(t *Table, row int) {
		v := value.NewArray([]value.Value{value.NewInt(int64(row))}, 0)
		if row == 70 {
			v = value.MaxDepth(3)
		}
		t.Put(row, Result, "result", v)
	}).Rules()
	for _, r := range rules {
		if r.Broken > 0 {
			t.Errorf("%q is broken %d times", r.Text, r.Broken)
		}
	}
}

// TestWrap: numbers that went over the end of their type are told, however many; such as stand for nothing, and those
// that are spread over all of it, are not.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		broken     int
		of         func(row int) value.Value
	}{
		{"a byte", "result does not wrap at 128", 25, func(row int) value.Value {
			return value.NewInt(int64(int8([]int{14, 60, 114, 130}[row%4])))
		}},
		{"an int", "result does not wrap at 2147483648", 10, func(row int) value.Value {
			return value.NewInt(int64(int32(uint32(1_500_000_000 + row%10*72_000_000))))
		}},
		{"a size below 0", "result does not wrap below 0", 1, func(row int) value.Value {
			return value.NewUint(uint64(row%50+1) - uint64(odd(row, 30, 0)))
		}},
		{"a size of 32 bits", "result does not wrap below 0", 1, func(row int) value.Value {
			return value.NewUint(uint64(uint32(row%50+1) - uint32(odd(row, 30, 0))))
		}},
		{"no place", "", 0, func(row int) value.Value { return value.NewUint(uint64(row%50) - uint64(row%50+1)*uint64(row%2)) }},
		{"all bytes", "", 0, func(row int) value.Value { return value.NewInt(int64(int8(row * 37))) }},
		{"the least", "", 0, func(row int) value.Value {
			return value.NewInt([]int64{1 << 30, math.MinInt32}[row/90])
		}},
		{"differences", "", 0, func(row int) value.Value { return value.NewInt(int64(row*37%90 - 45)) }},
	} {
		rules, _ := calls(100, func(t *Table, row int) { t.Put(row, Result, "result", c.of(row)) }).Rules()
		i := slices.IndexFunc(rules, func(r Rule) bool { return strings.Contains(r.Text, "wrap") })
		switch {
		case i < 0 && c.rule != "":
			t.Errorf("%s: no rule %q", c.name, c.rule)
		case i >= 0 && (rules[i].Text != c.rule || rules[i].Broken != c.broken):
			t.Errorf("%s: %q broken %d times, want %q and %d", c.name, rules[i].Text, rules[i].Broken, c.rule, c.broken)
		}
	}
}

// oddRow is the call that breaks rules.
var oddRow = 70

func odd(row, then, else_ int) int {
	if row == oddRow {
		return then
	}
	return else_
}

// TestRandomSaysNothing: values that have nothing to do with each other break no rule.
func TestRandomSaysNothing(t *testing.T) {
	state := uint64(7)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	rules, _ := calls(3000, func(t *Table, row int) {
		for i, name := range []string{"a", "b", "c", "d"} {
			num(t, row, Argument, name, next(10*(i+1)))
		}
		num(t, row, Result, "result", next(1000)-500)
		t.Put(row, Argument, "s", value.NewText(strings.Repeat("x", next(5))))
	}).Rules()
	for _, r := range rules {
		if r.Broken > 0 {
			t.Errorf("%s is broken by %d of %d", r.Text, r.Broken, r.Calls)
		}
	}
}

// TestBounds: a table that is full says so, and one argument does not take all columns.
func TestBounds(t *testing.T) {
	room := &Room{Left: 1000}
	small := New(room)
	for {
		row, ok := small.Add(Row{Enter: 1})
		if !ok {
			break
		}
		num(small, row, Argument, "a", row)
	}
	if n := len(small.Rows); n < 20 || n > 60 {
		t.Errorf("%d rows in 1000 bytes", n)
	}
	wide := New(&Room{Left: MaxBytes})
	row, _ := wide.Add(Row{Enter: 1})
	var o value.Object
	for i := range 200 {
		o = append(o, value.Member{Name: fmt.Sprint("m", i), Value: value.NewObject(value.Object{
			{Name: "x", Value: value.NewInt(1)}, {Name: "y", Value: value.NewInt(2)}})})
	}
	wide.Put(row, Argument, "big", value.NewObject(o))
	num(wide, row, Argument, "n", 5)
	if c := wide.Find("n"); c == nil || wide.Show(c.At(row)) != "5" {
		t.Errorf("a large object left the next argument no column")
	}
	if wide.Skipped == 0 && !wide.Cut {
		t.Errorf("200 members in %d columns, and nothing is said", len(wide.Columns()))
	}
}

// TestWidening: more different values than a byte tells stay what they were.
func TestWidening(t *testing.T) {
	table := calls(1000, func(t *Table, row int) {
		if row%3 != 0 {
			num(t, row, Argument, "a", row*11)
		}
	})
	c := table.Find("a")
	for row := range 1000 {
		want := Cell{}
		if row%3 != 0 {
			want = Cell{Int, uint64(row * 11)}
		}
		if got := c.At(row); got != want {
			t.Fatalf("row %d = %v, want %v", row, got, want)
		}
	}
	if c.Len() != 666 {
		t.Errorf("Len = %d, want 666", c.Len())
	}
}

// TestOfValues: which rules another input breaks by itself.
func TestOfValues(t *testing.T) {
	for _, c := range []struct {
		text string
		own  int
		want bool
	}{
		{"result >= 0", 1, true}, {"result is never null", 1, true}, {"len >= result", 2, true},
		{"result in 1..9", 1, false}, {"result is one of 1, 2", 1, false},
		{"kind=0 → size=8, kind=1 → size=16", 2, false}, {"equal arguments give equal result", 1, false},
	} {
		if r := (&Rule{Text: c.text, Own: c.own}); r.OfValues() != c.want {
			t.Errorf("OfValues of %q = %v, want %v", c.text, !c.want, c.want)
		}
	}
}
