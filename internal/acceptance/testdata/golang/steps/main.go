// Command steps is stepped through: its goroutines change threads, grow their stacks, and recover from panics.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

//go:noinline
func grow(n int) int {
	var a [64]int
	a[n%64] = n
	if n == 0 {
		return a[0]
	}
	return grow(n-1) + a[n%64]
}

func worker(in, out chan int) {
	for v := range in {
		out <- v * 2
	}
	close(out)
}

//go:noinline
func busy(id int, wg *sync.WaitGroup) {
	defer wg.Done()
	in, out := make(chan int), make(chan int)
	go worker(in, out)
	total := 0
	in <- id
	total += <-out
	runtime.Gosched()
	total += grow(500)
	close(in)
	if _, ok := <-out; !ok {
		total++
	}
	note(id, total)
}

var (
	mu  sync.Mutex
	sum int
)

func note(id, n int) {
	mu.Lock()
	defer mu.Unlock()
	sum += n
}

//go:noinline
func fails(n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %v", r)
		}
	}()
	inner(n)
	return nil
}

func inner(n int) {
	if n > 2 {
		panic(errors.New("too much"))
	}
}

type pair struct {
	a int8
	b float64
}

//go:noinline
func many(n int) (int, string, pair, error) {
	return n, strconv.Itoa(n), pair{int8(n), 1.5}, strconv.ErrRange
}

type shape interface{ area() float64 }

func (p pair) area() float64 {
	return float64(p.a) * p.b
}

func main() {
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go busy(i, &wg)
	}
	wg.Wait()
	err := fails(3)
	a, b, c, d := many(7)
	var s shape = &c
	fmt.Fprintln(os.Stdout, sum, err, a, b, c, d, s.area())
}
