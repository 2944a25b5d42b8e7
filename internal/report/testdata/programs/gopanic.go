// How Go programs end.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

type failure struct{ code int }

func (f failure) Error() string { return fmt.Sprintf("failure %d\nsecond line", f.code) }

type tree struct{ left *tree }

//go:noinline
func deref(t *tree) *tree { return t.left.left }

//go:noinline
func index(v []int, i int) int { return v[i] }

func again(n int) int { return again(n+1) + 1 }

func main() {
	var what string
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	switch what {
	case "panic":
		panic("the ledger is closed")
	case "lines":
		panic("first\nsecond")
	case "error":
		panic(failure{3})
	case "wrapped":
		panic(fmt.Errorf("open: %w", errors.New("no such file")))
	case "nil":
		deref(&tree{})
	case "index":
		index([]int{1, 2, 3}, len(os.Args)+5)
	case "map":
		var m map[string]int
		m["a"] = 1
	case "repanic":
		defer func() { panic(fmt.Sprint("again: ", recover())) }()
		panic("first")
	case "deadlock":
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	case "goroutine":
		go func() { panic("in a goroutine") }()
		select {} // the panic ends it
	case "concurrent-map":
		m := map[int]int{}
		for i := range 4 {
			go func() {
				for j := 0; ; j++ {
					m[j%7] = i
				}
			}()
		}
		<-time.After(5 * time.Second)
	case "stack":
		again(0)
	case "custom":
		panic(struct{ a, b int }{1, 2})
	case "unlock":
		var mu sync.Mutex
		mu.Unlock()
	case "recovered":
		func() { defer func() { fmt.Fprintln(os.Stderr, "recovered:", recover()) }(); panic("soft") }()
	}
}
