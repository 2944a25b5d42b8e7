package main

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

type Item struct {
	Name  string
	Price float64
	Tags  []string
	next  *Item
}

type Cart struct {
	mu    sync.Mutex
	items []*Item
	total float64
	by    map[string]int
}

var ErrNone = errors.New("no such item")

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func (c *Cart) Add(it *Item, n int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it == nil {
		return 0, ErrNone
	}
	c.items = append(c.items, it)
	c.total += it.Price * float64(n)
	c.by[it.Name] += n
	return len(c.items), nil
}

//go:noinline
func find(items []*Item, name string) (*Item, bool) {
	for _, it := range items {
		if it.Name == name {
			return it, true
		}
	}
	return nil, false
}

//go:noinline
func describe(v any) string { return fmt.Sprintf("%v", v) }

//go:noinline
func scale(x float64, k float32, on bool) float64 {
	if on {
		return x * float64(k)
	}
	return x
}

//go:noinline
func each(f func(int) int, xs ...int) (sum int) {
	for _, x := range xs {
		sum += f(x)
	}
	return
}

//go:noinline
func worker(id int, in <-chan int, out chan<- int, wg *sync.WaitGroup) {
	defer wg.Done()
	for x := range in {
		out <- step(id, x)
	}
}

//go:noinline
func step(id, x int) int { return x*10 + id }

//go:noinline
func risky(n int) (r int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("recovered: %v", p)
			r = -1
		}
	}()
	return deep(n), nil
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		panic("bottom")
	}
	return deep(n-1) + 1
}

// hooks has functions within a struct, which comes in registers and behind a pointer.
type hooks struct {
	N    int
	Done func()
	On   struct{ All [2]func(int) int }
}

func double(x int) int { return 2 * x }

//go:noinline
func hooked(h hooks) *hooks {
	h.N++
	return &h
}

func main() {
	h := hooks{N: 1}
	h.On.All[1] = double
	hooked(h)
	c := &Cart{by: map[string]int{}}
	fmt.Println(add(2, 3))
	n, err := c.Add(&Item{Name: "pen", Price: 1.5, Tags: []string{"a", "b"}}, 3)
	fmt.Println(n, err)
	n, err = c.Add(nil, 1)
	fmt.Println(n, err)
	it, ok := find(c.items, "pen")
	fmt.Println(it.Name, ok)
	_, ok = find(c.items, "nope")
	fmt.Println(ok)
	fmt.Println(describe(42), describe("x"), describe(err), describe([]int{1, 2}), describe(time.Second))
	fmt.Println(scale(2.5, 2, true))
	k := 7
	fmt.Println(each(func(x int) int { return x * k }, 1, 2, 3))
	in, out := make(chan int), make(chan int, 100)
	var wg sync.WaitGroup
	for i := 0; i < 3; i++ {
		wg.Add(1)
		go worker(i, in, out, &wg)
	}
	for i := 0; i < 9; i++ {
		in <- i
	}
	close(in)
	wg.Wait()
	close(out)
	s := 0
	for x := range out {
		s += x
	}
	fmt.Println(s > 0)
	fmt.Println(risky(3))
}
