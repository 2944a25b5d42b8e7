// Command generics calls instances of generic functions, several of which may be one function.
package main

import "fmt"

type Celsius float64

type P struct {
	Name string
	Age  int
}

type Pair[A, B any] struct {
	First  A
	Second B
}

//go:noinline
func Sum[T ~int | ~float64](list []T) (total T) {
	for _, v := range list {
		total += v
	}
	return total
}

//go:noinline
func Map[K comparable, V, R any](m map[K]V, f func(K, V) R) (out []R) {
	for k, v := range m {
		out = append(out, f(k, v))
	}
	return out
}

type Stack[T any] struct{ items []T }

//go:noinline
func (s *Stack[T]) Push(v T) { s.items = append(s.items, v) }

//go:noinline
func (s *Stack[T]) Pop() (v T, ok bool) {
	if len(s.items) == 0 {
		return v, false
	}
	v = s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return v, true
}

//go:noinline
func MakePair[A, B any](a A, b B) Pair[A, B] { return Pair[A, B]{a, b} }

// Same is one function for all pointers: only its dictionary says which.
//
//go:noinline
func Same[T any](v T) bool { return any(v) != nil }

func main() {
	n := 5
	fmt.Println(Sum([]int{1, 2, 3}), Sum([]Celsius{1.5, 2}), Same(&n), Same(&P{"s", 1}))
	fmt.Println(Map(map[string]int{"a": 1}, func(k string, v int) P { return P{k, v} }))
	s := &Stack[P]{}
	s.Push(P{"x", 1})
	fmt.Println(s.Pop())
	p := MakePair(P{"q", 2}, &P{"r", 3})
	fmt.Println(p.First, *p.Second)
}
