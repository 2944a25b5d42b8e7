// Does one round of calls for each line of its input: rounds.py and rounds.js are the same.
package main

import (
	"bufio"
	"fmt"
	"os"
)

//go:noinline
func alpha(n int) int { return n }

//go:noinline
func alphabet(n int) int { return n }

//go:noinline
func beta(n int) int { return alpha(n) }

// Shop has methods.
type Shop struct{ id int }

//go:noinline
func (s Shop) open() int { return s.id }

//go:noinline
func (s Shop) close() int { return -s.id }

func main() {
	shop, n := Shop{1}, 0
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n++
		alphabet(n)
		beta(n)
		shop.open()
		shop.close()
		fmt.Printf("round %d\n", n)
	}
	fmt.Println("bye")
	os.Exit(5)
}
