// Ends in the way that its argument names: ends.py and ends.js are the same.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

//go:noinline
func last(n int) int { return n }

//go:noinline
func dies(n int) {
	last(n)
	panic(fmt.Sprint("uncaught ", n))
}

func main() {
	last(1)
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "code":
		os.Exit(3)
	case "quick":
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 4, 0, 0)
	case "uncaught":
		dies(2)
	case "term":
		fmt.Println("waits")
		time.Sleep(time.Minute)
	}
}
