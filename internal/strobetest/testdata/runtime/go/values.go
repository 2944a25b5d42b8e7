// One function for each kind of value, which gives it back: values.py and values.js are the same.
package main

import (
	"math"
	integers "math/big"
	"os"
	"strings"
)

// Item is a struct.
type Item struct {
	id   int
	name string
}

// Node is a list's.
type Node struct {
	id   int
	next *Node
}

// Box holds one of its own kind.
type Box struct {
	id    int
	inner *Box
}

// Hostile ends the program where one of its methods runs.
type Hostile struct{ id int }

func (h Hostile) String() string   { os.Exit(9); return "" }
func (h Hostile) Error() string    { os.Exit(9); return "" }
func (h Hostile) GoString() string { os.Exit(9); return "" }

//go:noinline
func small(x int) int { return x }

//go:noinline
func negative(x int) int { return x }

//go:noinline
func large(x int64) int64 { return x }

//go:noinline
func huge(x *integers.Int) *integers.Int { return x }

//go:noinline
func fraction(x float64) float64 { return x }

//go:noinline
func notNumber(x float64) float64 { return x }

//go:noinline
func infinite(x float64) float64 { return x }

//go:noinline
func text(x string) string { return x }

//go:noinline
func nulText(x string) string { return x }

//go:noinline
func surrogate(x string) string { return x }

//go:noinline
func longText(x string) string { return x }

//go:noinline
func hugeText(x string) string { return x }

//go:noinline
func binary(x []byte) []byte { return x }

//go:noinline
func truth(x bool) bool { return x }

//go:noinline
func missing(x *Item) *Item { return x }

//go:noinline
func listed(x ...any) []any { return x }

//go:noinline
func mapped(x map[string]any) map[string]any { return x }

//go:noinline
func mixed(x map[string][]map[string]map[string]int) map[string][]map[string]map[string]int { return x }

//go:noinline
func instance(x *Item) *Item { return x }

//go:noinline
func cycle(x *Node) *Node { return x }

//go:noinline
func nested(x *Box) *Box { return x }

//go:noinline
func many(x []int) []int { return x }

//go:noinline
func big(x []map[string]string) []map[string]string { return x }

//go:noinline
func function(x func(int) int) func(int) int { return x }

//go:noinline
func hostile(x any) any { return x }

//go:noinline
func changed(x *Item) *Item {
	x.id = 99
	return x
}

func main() {
	small(42)
	negative(-7)
	large(9223372036854775807)
	huge(new(integers.Int).Exp(integers.NewInt(10), integers.NewInt(30), nil))
	fraction(0.5)
	notNumber(math.NaN())
	infinite(math.Inf(1))
	text("naïve 😀")
	nulText("a\x00b")
	surrogate("a\xed\xa0\x80b")
	longText(strings.Repeat("a", 1025))
	hugeText(strings.Repeat("a", 1<<20))
	binary([]byte{0, 0xff})
	truth(true)
	missing(nil)
	listed(1, "two", nil)
	mapped(map[string]any{"a": 1, "b": []int{2}})
	mixed(map[string][]map[string]map[string]int{"a": {{"b": {"c": 1}}}})
	item := &Item{7, "pear"}
	instance(item)
	ring := &Node{id: 1}
	ring.next = ring
	cycle(ring)
	var box *Box
	for i := 7; i >= 0; i-- {
		box = &Box{i, box}
	}
	nested(box)
	numbers := make([]int, 101)
	for i := range numbers {
		numbers[i] = i
	}
	many(numbers)
	var rows []map[string]string
	for range 90 {
		row := map[string]string{}
		for k := range 50 {
			row["key"+string(rune('a'+k))] = strings.Repeat("v", 50)
		}
		rows = append(rows, row)
	}
	big(rows)
	function(small)
	hostile(Hostile{3})
	changed(item)
}
