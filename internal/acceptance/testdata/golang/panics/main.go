// Panics of every kind, each recovered from.
package main

import (
	"errors"
	"fmt"
	"os"
)

type T struct{ a, b int }
type E struct {
	Code int
	Why  string
}

func (e *E) Error() string { return e.Why }

//go:noinline
func try(n int) (out int) {
	defer func() {
		if r := recover(); r != nil {
			out = n
		}
	}()
	return do(n)
}

//go:noinline
func do(n int) int {
	var p *T
	var m map[string]int
	var s []int
	var i any = "x"
	switch n {
	case 0:
		return p.a
	case 1:
		m["x"] = 1
	case 2:
		return s[n]
	case 3:
		return i.(int)
	case 4:
		panic(errors.New("plain error"))
	case 5:
		panic(fmt.Errorf("wrapped: %w", os.ErrNotExist))
	case 6:
		panic(&E{7, "custom"})
	case 7:
		panic(T{1, 2})
	case 8:
		panic(42)
	case 9:
		z := n - 9
		return n / z
	case 10:
		return len(s[n:])
	case 11:
		panic(nil)
	}
	return 0
}

func main() {
	t := 0
	for i := 0; i < 12; i++ {
		t += try(i)
	}
	fmt.Println(t)
}
