// N calls as fast as can be; with "kill", it kills itself behind them: burst.py and burst.js are the same.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

//go:noinline
func tick(n int) int { return n + 1 }

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	for i := range n {
		tick(i)
	}
	if len(os.Args) > 2 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	fmt.Println("called", n)
}
