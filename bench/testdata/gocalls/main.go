// Command gocalls makes calls of a small function and takes the time, or says how long it was stopped.
//
//	gocalls calls N      calls of a function of two ints, in bursts of 10,000 with pauses
//	gocalls flat N       the same without pauses
//	gocalls regions N    in bursts, in regions of runtime/trace, which is on
//	gocalls parked G     has G goroutines wait, and tells the longest of the pauses of a thread that runs all the time,
//	                     until its standard input ends
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"strconv"
	"time"
)

//go:noinline
func add(a, b int) int { return a ^ b + 1 }

//go:noinline
func parked(c chan int) int { return <-c }

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: gocalls calls|flat|regions|parked N")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil || n < 1 {
		fmt.Fprintln(os.Stderr, "gocalls: not a number:", os.Args[2])
		os.Exit(2)
	}
	switch os.Args[1] {
	case "calls":
		bursts(n, burst, add)
	case "flat":
		bursts(n, n, add)
	case "regions":
		if err := trace.Start(io.Discard); err != nil {
			fmt.Fprintln(os.Stderr, "gocalls:", err)
			os.Exit(1)
		}
		ctx := context.Background()
		bursts(n, burst, func(i, sum int) int {
			r := trace.StartRegion(ctx, "add")
			sum = add(i, sum)
			r.End()
			return sum
		})
		trace.Stop()
	case "parked":
		wait(n)
	}
}

const burst = 10_000

// bursts makes n calls and prints how long one takes, by all and by the fastest burst.
func bursts(n, each int, call func(i, sum int) int) {
	var all time.Duration
	fastest, sum := 0.0, 0
	for done := 0; done < n; done += each {
		k := min(each, n-done)
		began := time.Now()
		for i := range k {
			sum = call(i, sum)
		}
		took := time.Since(began)
		all += took
		if one := float64(took.Nanoseconds()) / float64(k); fastest == 0 || one < fastest {
			fastest = one
		}
		if each < n {
			time.Sleep(5 * time.Millisecond)
		}
	}
	fmt.Printf("pairs=%d ns_per_pair=%.1f fastest=%.1f sum=%d\n", n, float64(all.Nanoseconds())/float64(n), fastest, sum&1)
}

func wait(n int) {
	c, ended := make(chan int), make(chan bool)
	for range n {
		go parked(c)
	}
	for runtime.NumGoroutine() <= n {
		runtime.Gosched()
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	runtime.GC()
	debug.SetGCPercent(-1) // its own pauses are not looked for
	runtime.LockOSThread()
	fmt.Println("ready")
	var longest time.Duration
	sum := 0
	for last := time.Now(); ; {
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
		sum = add(sum, 1)
		select {
		case <-ended:
			fmt.Printf("longest_us=%d sum=%d\n", longest.Microseconds(), sum&1)
			return
		default:
		}
	}
}
