// Command stripped has methods that an interface calls, and others.
package main

import "fmt"

// Shape is called by an interface.
type Shape interface{ Area(scale int) int }

// Square is one by pointer.
type Square struct {
	Side int
	Name string
}

// Circle is one by value.
type Circle struct {
	R    float64
	Tags []string
}

//go:noinline
func (s *Square) Area(scale int) int { return s.Side * s.Side * scale }

//go:noinline
func (c Circle) Area(scale int) int { return int(c.R*3) * scale }

// Full is an error.
type Full struct{ N int }

func (f *Full) Error() string { return fmt.Sprint("full: ", f.N) }

// Putter is called by an interface, too.
type Putter interface {
	Put(key string, value any) error
}

// Store has a map.
type Store struct{ items map[string]any }

//go:noinline
func (s *Store) Put(key string, value any) error {
	if len(s.items) == 2 {
		return &Full{len(s.items)}
	}
	s.grow(1)
	s.items[key] = value
	return nil
}

//go:noinline
func (s *Store) grow(n int) {
	if s.items == nil || n > 9 {
		s.items = map[string]any{}
	}
}

//go:noinline
func puts(p Putter) []error {
	return []error{p.Put("k", Circle{1.5, []string{"a", "b"}}), p.Put("n", 7), p.Put("z", nil)}
}

func main() {
	total := 0
	for _, s := range []Shape{&Square{3, "sq"}, Circle{1.5, []string{"a", "b"}}} {
		total += s.Area(2)
	}
	fmt.Println(total, puts(&Store{items: map[string]any{}}))
}
