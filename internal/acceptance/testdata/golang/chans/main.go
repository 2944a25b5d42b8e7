// Goroutines that wait for each other by channels, locks and groups. It counts what it does.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

var made, sends, receives, closes, selects atomic.Int64

type item struct{ from, n int }

//go:noinline
func spawn(wg *sync.WaitGroup, f func()) {
	wg.Add(1)
	made.Add(1)
	go func() {
		defer wg.Done()
		f()
	}()
}

//go:noinline
func produce(id, n int, out chan<- item) {
	for i := 0; i < n; i++ {
		out <- item{id, i}
		sends.Add(1)
	}
}

//go:noinline
func consume(in <-chan item, sum *atomic.Int64) {
	for v := range in {
		receives.Add(1)
		sum.Add(int64(v.n))
	}
	receives.Add(1) // of the closed channel
}

//go:noinline
func choose(ctx context.Context, a, b <-chan item, sum *atomic.Int64) {
	for a != nil || b != nil {
		selects.Add(1)
		select {
		case v, ok := <-a:
			if !ok {
				a = nil
			}
			sum.Add(int64(v.n))
		case v, ok := <-b:
			if !ok {
				b = nil
			}
			sum.Add(int64(v.n))
		case <-ctx.Done():
			return
		}
	}
}

func shut(c chan item) {
	close(c)
	closes.Add(1)
}

func main() {
	const n = 200
	var sum atomic.Int64
	plain, buffered, left, right := make(chan item), make(chan item, 4), make(chan item), make(chan item, 1)
	var makers, takers sync.WaitGroup
	for i := 0; i < 3; i++ {
		i := i
		spawn(&makers, func() { produce(i, n, plain) })
		spawn(&makers, func() { produce(i, n, buffered) })
		spawn(&takers, func() { consume(plain, &sum) })
		spawn(&takers, func() { consume(buffered, &sum) })
	}
	spawn(&makers, func() { produce(7, n, left) })
	spawn(&makers, func() { produce(8, n, right) })
	ctx, cancel := context.WithCancel(context.Background())
	spawn(&takers, func() { choose(ctx, left, right, &sum) })
	makers.Wait()
	for _, c := range []chan item{plain, buffered, left, right} {
		shut(c)
	}
	takers.Wait()
	cancel()
	var mu sync.Mutex
	mu.Lock()
	var last sync.WaitGroup
	spawn(&last, func() { time.Sleep(2 * time.Millisecond); mu.Unlock() })
	mu.Lock()
	last.Wait()
	select {
	case <-plain: // closed
		receives.Add(1)
	default:
	}
	fmt.Println("sum", sum.Load(), "made", made.Load(), "sends", sends.Load(), "receives", receives.Load(), "closes",
		closes.Load(), "selects", selects.Load())
}
