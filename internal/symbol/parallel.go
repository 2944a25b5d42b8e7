package symbol

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel runs the functions on as many goroutines as there are processors and waits for them.
// Each runs under protect; a function that failed has done part of its work.
func parallel(fns []func()) {
	parallelN(len(fns), func(i int) { fns[i]() })
}

// parallelN runs fn(0..n-1), handing out indices one by one. It returns the first error of protect.
func parallelN(n int, fn func(i int)) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := protect(func() error { fn(i); return nil }); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	wg.Wait()
	return first
}
