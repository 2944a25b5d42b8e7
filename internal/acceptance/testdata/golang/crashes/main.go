// Programs that end with a traceback, each in the midst of calls of its own.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

type node struct{ next *node }

var sink int

//go:noinline
func descend(n int, end func() int) int {
	if n == 0 {
		return end() + 1
	}
	return descend(n-1, end) + 1
}

//go:noinline
func fail() int { panic(fmt.Errorf("bad %d", sink)) }

//go:noinline
func follow(n *node) *node { return n.next.next }

//go:noinline
func endless(n int, pad [64]int) int {
	pad[n&63] = n
	return endless(n+1, pad) + pad[n&31]
}

//go:noinline
func leaf(a, b int) int { return a*31 + b }

//go:noinline
func compute(n int) (s int) {
	for i := 0; i < n; i++ {
		s = leaf(i, s)
	}
	return s
}

func main() {
	var mu sync.Mutex
	switch os.Args[1] {
	case "panic":
		descend(5, fail)
	case "other": // of another goroutine
		done := make(chan int)
		go func() { done <- descend(3, fail) }()
		<-done
	case "again": // while a panic unwinds
		defer func() { descend(2, func() int { panic("second") }) }()
		descend(2, fail)
	case "nil":
		descend(2, func() int { follow(&node{}); return 0 })
	case "overflow":
		sink = endless(0, [64]int{})
	case "asleep":
		descend(2, func() int { mu.Lock(); mu.Lock(); return 0 })
	case "quit": // by a signal
		for i := 0; i < 3; i++ {
			go func() {
				for {
					sink = compute(1000)
				}
			}()
		}
		go func() { descend(4, func() int { select {} }) }()
		time.Sleep(10 * time.Millisecond)
		fmt.Println("ready")
		for {
			time.Sleep(time.Millisecond)
			sink = compute(10)
		}
	}
}
