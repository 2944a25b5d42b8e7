// Go and C call each other, on threads that Go made and on those that C made.
package main

/*
#cgo LDFLAGS: -lpthread
int cDown(int n);
int cSum(int a, int b);
int threads(int n);
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

//export goDown
func goDown(n C.int) C.int { return down(n) }

//go:noinline
func down(n C.int) C.int {
	if n <= 0 {
		return 0
	}
	grow(40)
	return C.cDown(n-1) + 1
}

//go:noinline
func grow(n int) int {
	var pad [200]byte
	if n == 0 {
		return int(pad[n])
	}
	return grow(n-1) + int(pad[n])
}

//go:noinline
func sum(n int) (s C.int) {
	for i := 0; i < n; i++ {
		s = C.cSum(s, C.int(i))
	}
	return s
}

func main() {
	fmt.Println("here", C.cDown(20), sum(100))
	var wg sync.WaitGroup
	got := make([]C.int, 4)
	for i := range got {
		i := i
		wg.Add(1)
		go func() {
			defer wg.Done()
			runtime.LockOSThread()
			got[i] = C.cDown(C.int(10 + i))
			runtime.GC()
		}()
	}
	wg.Wait()
	fmt.Println("goroutines", got, "threads of C", C.threads(8))
}
