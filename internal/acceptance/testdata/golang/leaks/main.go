// Goroutines that wait for ever, and others that only look so. Arguments: what is waited for, and who else has it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"
)

// kept is what global variables lead to.
var (
	kept    any
	keptBy  = map[string]any{}
	keptIn  []any
	closing func()
	box     = make(chan any, 4)
	never   = make(chan int)
	late    func() // is called behind the last collection of garbage
)

type holder struct {
	name string
	next *holder
	what any
}

type guarded struct {
	sync.Mutex
	by *int
}

// makes what is waited for: each is such that one waiter blocks.
func makes(what string) any {
	switch what {
	case "mutex":
		m := &guarded{by: new(int)} // a lock alone shares its place with others that are as small
		m.Lock()
		return &m.Mutex
	case "rwmutex":
		m := &sync.RWMutex{}
		m.Lock()
		return m
	case "cond":
		return sync.NewCond(&sync.Mutex{})
	case "waitgroup":
		w := &sync.WaitGroup{}
		w.Add(1)
		return w
	}
	return make(chan int)
}

//go:noinline
func waiter(what string, x any) {
	switch what {
	case "receive":
		<-x.(chan int)
	case "send":
		x.(chan int) <- 1
	case "range":
		for range x.(chan int) {
		}
	case "select":
		other := make(chan string)
		select {
		case <-x.(chan int):
		case s := <-other:
			fmt.Println(s)
		}
	case "mutex":
		x.(*sync.Mutex).Lock()
	case "rwmutex":
		x.(*sync.RWMutex).RLock()
	case "cond":
		c := x.(*sync.Cond)
		c.L.Lock()
		c.Wait()
	case "waitgroup":
		x.(*sync.WaitGroup).Wait()
	}
}

// uses keeps what it is given on its goroutine's stack.
//
//go:noinline
func uses(x any, d time.Duration) {
	time.Sleep(d)
	runtime.KeepAlive(x)
}

//go:noinline
func defers(n int, x any) {
	for i := 0; i < n; i++ { // in a loop they are on the heap
		y := x
		defer func() { runtime.KeepAlive(y) }()
	}
	x = nil
	time.Sleep(time.Hour)
}

//go:noinline
func begin(what, by string) {
	x := makes(what)
	go waiter(what, x)
	switch by {
	case "nobody":
	case "waiters": // each of two has what the other waits for
		y := makes(what)
		go func() { waiter(what, y); runtime.KeepAlive(x) }()
		go func() { waiter(what, x); runtime.KeepAlive(y) }()
	case "leaked": // by one that is leaked itself
		go func() { <-make(chan int); runtime.KeepAlive(x) }()
	case "global":
		kept = x
	case "map":
		keptBy["x"] = x
	case "slice":
		keptIn = append(keptIn, 1, x)
	case "struct":
		kept = &holder{"a", &holder{"b", nil, x}, nil}
	case "closure":
		closing = func() { runtime.KeepAlive(x) }
	case "channel":
		box <- x
	case "goroutine":
		go uses(x, time.Hour)
	case "blocked": // by one that waits for what a variable has
		go func() { <-never; runtime.KeepAlive(x) }()
	case "timer":
		time.AfterFunc(time.Hour, func() { runtime.KeepAlive(x) })
	case "defer":
		go defers(3, x)
	case "busy":
		go func() {
			for n := 0; ; n++ {
				if n < 0 {
					runtime.KeepAlive(x)
				}
			}
		}()
	case "syscall":
		r, w, _ := os.Pipe()
		go func() { b := []byte{0}; r.Read(b); runtime.KeepAlive(w); runtime.KeepAlive(x) }()
	case "finalizer": // by an object that is gone, to whose end something is to be done
		late = func() { runtime.SetFinalizer(&holder{"a", nil, x}, func(h *holder) { runtime.KeepAlive(h.what) }) }
	case "finalizes": // by what is to be done
		late = func() { runtime.SetFinalizer(&holder{"a", nil, 1}, func(*holder) { runtime.KeepAlive(x) }) }
	case "cleanup":
		late = func() { cleanup(&holder{"a", nil, 1}, x) }
	case "context":
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-ctx.Done() }()
		kept, closing = x, cancel
	case "signal":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		go func() { <-c; runtime.KeepAlive(x) }()
	case "ticker":
		t := time.NewTicker(time.Hour)
		go func() { <-t.C; runtime.KeepAlive(x) }()
	}
}

// churn writes over what the stack had.
//
//go:noinline
func churn(n int) int {
	var b [512]byte
	for i := range b {
		b[i] = byte(n)
	}
	if n == 0 {
		return 0
	}
	return churn(n-1) + int(b[n%512])
}

func main() {
	done := make(chan bool)
	go func() { begin(os.Args[1], os.Args[2]); churn(20); close(done) }()
	<-done
	churn(40)
	time.Sleep(20 * time.Millisecond)
	runtime.GC()
	if late != nil {
		late()
		late = nil
		churn(20)
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
}
