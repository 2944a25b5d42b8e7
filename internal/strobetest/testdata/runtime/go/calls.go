// Calls of every kind, each once: calls.py and calls.js are the same.
package main

import (
	"fmt"
	"os"
	"time"
)

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func nothing() {}

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func mid(n int) int { return leaf(n + 1) }

//go:noinline
func outer(n int) int { return mid(n + 1) }

//go:noinline
func fact(n int) int {
	if n < 2 {
		return 1
	}
	return n * fact(n-1)
}

//go:noinline
func even(n int) bool { return n == 0 || odd(n-1) }

//go:noinline
func odd(n int) bool { return n != 0 && even(n-1) }

// TypeError is what thrower panics with.
type TypeError struct{ message string }

func (e TypeError) Error() string { return e.message }

//go:noinline
func thrower(n int) { panic(TypeError{fmt.Sprint("no ", n)}) }

//go:noinline
func catcher(n int) (code int) {
	defer func() {
		if recover() != nil {
			code = -1
		}
	}()
	thrower(n)
	return 0
}

//go:noinline
func deep(n int) { thrower(n) }

//go:noinline
func deeper(n int) { deep(n) }

//go:noinline
func through(n int) (code int) {
	defer func() {
		if recover() != nil {
			code = -2
		}
	}()
	deeper(n)
	return 0
}

//go:noinline
func says() { os.Stdout.WriteString("mine\n") }

//go:noinline
func warns() { os.Stderr.WriteString("warned\n") }

//go:noinline
func step(i int) {}

//go:noinline
func slow() { time.Sleep(30 * time.Millisecond) }

//go:noinline
func apply(f func(int, int) int, n int) int { return f(n, n) }

// Order has methods.
type Order struct{ id int }

//go:noinline
func (o Order) total(n int) int { return o.id + n }

//go:noinline
func rest(first int, more ...int) int { return len(more) }

//go:noinline
func lambdas() int {
	k := len(os.Args)
	lambda = func(x int) int { return x * (k + 2) }
	return lambda(14)
}

var lambda func(int) int

//go:noinline
func run() {
	add(1, 2)
	nothing()
	outer(1)
	fact(5)
	even(4)
	catcher(7)
	through(8)
	says()
	warns()
	for i := range 3 {
		step(i)
		os.Stdout.WriteString(fmt.Sprint(i, "\n"))
	}
	slow()
	apply(add, 21)
	Order{5}.total(3)
	rest(1, 2, 3)
	lambdas()
}

func main() { run() }
