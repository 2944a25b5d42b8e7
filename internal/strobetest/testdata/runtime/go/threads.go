// Two goroutines work at once: threads.py and threads.js are the same with threads.
package main

import "sync"

//go:noinline
func part(n int) int { return n + 1 }

//go:noinline
func work(n int) int { return part(n) }

func main() {
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			for i := range 200 {
				work(i)
			}
		}()
	}
	both.Wait()
}
