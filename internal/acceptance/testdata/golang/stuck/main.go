// Small programs that go wrong as programs do, or do not: goroutines that wait for each other, that nobody wakes, that
// lost a wake-up, or that are idle. The argument says which; without one it lists them, with how many are stuck.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type program struct {
	name  string
	stuck int // goroutines, main too
	run   func()
}

type account struct {
	mu      sync.Mutex
	balance int
	log     []string
}

//go:noinline
func transfer(from, to *account, met *sync.WaitGroup) {
	from.mu.Lock()
	met.Done()
	met.Wait()
	to.mu.Lock()
	to.balance++
}

// gone calls f on a goroutine of its own that ends, so that nothing of it is left.
func gone(f func()) {
	done := make(chan bool)
	go func() { f(); churn(20); close(done) }()
	<-done
}

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

var (
	jobs   = make(chan func())
	idle   = sync.NewCond(&sync.Mutex{})
	shared sync.RWMutex
	count  atomic.Int64
)

var programs = []program{
	// Deadlocks of some.
	{"abba", 2, func() {
		gone(func() {
			a, b := &account{log: []string{"a"}}, &account{log: []string{"b"}}
			var met sync.WaitGroup
			met.Add(2)
			go transfer(a, b, &met)
			go transfer(b, a, &met)
		})
	}},
	{"abba-main", 3, func() {
		a, b := &account{log: []string{"a"}}, &account{log: []string{"b"}}
		var met, all sync.WaitGroup
		met.Add(2)
		all.Add(2)
		go func() { defer all.Done(); transfer(a, b, &met) }()
		go func() { defer all.Done(); transfer(b, a, &met) }()
		ready()
		all.Wait()
	}},
	{"ring", 3, func() {
		gone(func() {
			var c [3]chan int
			for i := range c {
				c[i] = make(chan int)
			}
			for i := range c {
				go func(in, out chan int) { out <- <-in }(c[i], c[(i+1)%3])
			}
		})
	}},
	{"cross-send", 2, func() {
		gone(func() {
			a, b := make(chan int), make(chan int)
			go func() { a <- 1; <-b }()
			go func() { b <- 1; <-a }()
		})
	}},
	{"twice", 1, func() {
		gone(func() {
			a := &account{log: []string{"x"}}
			go func() { a.mu.Lock(); a.mu.Lock() }()
		})
	}},
	{"upgrade", 1, func() {
		gone(func() {
			m := &struct {
				sync.RWMutex
				v map[string]int
			}{v: map[string]int{}}
			go func() { m.RLock(); m.Lock(); m.v["x"]++ }()
		})
	}},
	{"once", 1, func() {
		gone(func() {
			o := &struct {
				sync.Once
				s string
			}{s: "x"}
			go func() { o.Do(func() { o.Do(func() {}) }) }()
		})
	}},
	// Nobody comes.
	{"early-return", 1, func() {
		gone(func() {
			c := make(chan error)
			go func() {
				time.Sleep(time.Millisecond)
				c <- errors.New("late")
			}()
			select {
			case <-c:
			case <-time.After(time.Nanosecond):
			}
			for len(c) == 0 && count.Add(1) < 3 {
				runtime.Gosched()
			}
		})
	}},
	{"unclosed", 3, func() {
		gone(func() {
			work := make(chan int)
			for i := 0; i < 3; i++ {
				go func() {
					for range work {
						count.Add(1)
					}
				}()
			}
			for i := 0; i < 9; i++ {
				work <- i
			}
		})
	}},
	{"group-short", 1, func() {
		gone(func() {
			wg := &struct {
				sync.WaitGroup
				p *int
			}{p: new(int)}
			wg.Add(2)
			go func() { wg.Done() }()
			go func() { wg.Wait() }()
		})
	}},
	{"nil-channel", 1, func() { go func() { var c chan int; c <- 1 }() }},
	{"background", 1, func() { go func() { <-context.Background().Done() }() }},
	{"semaphore", 2, func() {
		gone(func() {
			sem := make(chan struct{}, 2)
			for i := 0; i < 4; i++ {
				go func() { sem <- struct{}{} }() // nobody gives them back
			}
		})
	}},
	{"select-two", 1, func() {
		gone(func() {
			a, b := make(chan int), make(chan string)
			go func() {
				select {
				case <-a:
				case b <- "x":
				}
			}()
		})
	}},
	// Lost wake-ups.
	{"signal-first", 1, func() {
		gone(func() {
			c := sync.NewCond(&sync.Mutex{})
			c.Signal()
			go func() { c.L.Lock(); c.Wait(); c.L.Unlock() }()
		})
	}},
	{"one-signal", 2, func() {
		gone(func() {
			c := sync.NewCond(&sync.Mutex{})
			var in sync.WaitGroup
			in.Add(3)
			for i := 0; i < 3; i++ {
				go func() { c.L.Lock(); in.Done(); c.Wait(); c.L.Unlock() }()
			}
			in.Wait()
			c.L.Lock()
			c.Signal() // all three were meant
			c.L.Unlock()
		})
	}},
	{"dropped-note", 1, func() {
		gone(func() {
			note := make(chan bool)
			select {
			case note <- true: // nobody is there yet
			default:
			}
			go func() { <-note }()
		})
	}},
	// Nothing is wrong.
	{"workers", 0, func() {
		for i := 0; i < 3; i++ {
			go func() {
				for f := range jobs {
					f()
				}
			}()
		}
	}},
	{"idle-cond", 0, func() { go func() { idle.L.Lock(); idle.Wait(); idle.L.Unlock() }() }},
	{"local-cond", 0, func() {
		c := sync.NewCond(&sync.Mutex{})
		go func() { c.L.Lock(); c.Wait(); c.L.Unlock() }()
		go func() { time.Sleep(time.Hour); c.Broadcast() }()
	}},
	{"listener", 0, func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		conns := make(chan net.Conn)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				conns <- c
			}
		}()
		go func() {
			for c := range conns {
				c.Close()
			}
		}()
	}},
	{"deadline", 0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		go func() { defer cancel(); <-ctx.Done() }()
	}},
	{"after-func", 0, func() {
		c := make(chan int)
		time.AfterFunc(time.Hour, func() { close(c) })
		go func() { <-c }()
	}},
	{"tickers", 0, func() {
		t := time.NewTicker(time.Hour)
		go func() {
			for range t.C {
				count.Add(1)
			}
		}()
	}},
	{"signals", 0, func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		done := make(chan bool)
		go func() { <-c; close(done) }()
		go func() { <-done }()
	}},
	{"long-lock", 0, func() {
		a := &account{log: []string{"x"}}
		a.mu.Lock()
		go func() { time.Sleep(time.Hour); a.mu.Unlock() }()
		for i := 0; i < 3; i++ {
			go func() { a.mu.Lock(); a.balance++; a.mu.Unlock() }()
		}
	}},
	{"readers", 0, func() {
		shared.RLock()
		go func() { shared.Lock(); count.Add(1); shared.Unlock() }()
		go func() { time.Sleep(time.Hour); shared.RUnlock() }()
	}},
	{"pipe", 0, func() {
		r, w := io.Pipe()
		go func() { bufio.NewReader(r).ReadString('\n') }()
		go func() { time.Sleep(time.Hour); w.Close() }()
	}},
	{"results", 0, func() {
		out := make(chan int)
		go func() { time.Sleep(time.Hour); out <- 1 }()
		ready()
		<-out
	}},
	{"main-forever", 0, func() { ready(); <-make(chan int) }},
	{"main-group", 0, func() {
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { defer wg.Done(); time.Sleep(time.Hour) }()
		ready()
		wg.Wait()
	}},
	{"chain", 0, func() {
		first := make(chan int)
		last := first
		for i := 0; i < 20; i++ {
			next := make(chan int)
			go func(in, out chan int) { out <- <-in + 1 }(last, next)
			last = next
		}
		go func() { time.Sleep(time.Hour); first <- 0 }()
		go func() { count.Add(int64(<-last)) }()
	}},
	{"broker", 0, func() {
		subs := map[string][]chan string{}
		var mu sync.Mutex
		for _, topic := range []string{"a", "b"} {
			c := make(chan string, 1)
			subs[topic] = append(subs[topic], c)
			go func() {
				for range c {
					count.Add(1)
				}
			}()
		}
		go func() {
			for range time.Tick(time.Hour) {
				mu.Lock()
				for _, list := range subs {
					for _, c := range list {
						c <- "x"
					}
				}
				mu.Unlock()
			}
		}()
	}},
}

// ready says so when all is as it stays. Something else of the program goes on.
func ready() {
	churn(40)
	go func() {
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
		fmt.Println("ready")
		for {
			time.Sleep(time.Second)
		}
	}()
}

func main() {
	for _, p := range programs {
		if len(os.Args) < 2 {
			fmt.Println(p.name, p.stuck)
		} else if p.name == os.Args[1] {
			p.run()
			ready()
			time.Sleep(time.Hour)
		}
	}
}
