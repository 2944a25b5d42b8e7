// Starts children in every way: family.py and family.js are the same. The argument is a program of machine code,
// "leaf N" or "end N".
package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

//go:noinline
func own(n int) int { return n }

//go:noinline
func leaf(n int) int { return n }

func start(name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) > 2 {
		n, _ := strconv.Atoi(os.Args[2])
		leaf(n)
		if os.Args[1] == "end" {
			os.Exit(6)
		}
		return
	}
	own(1)
	start(os.Args[0], "leaf", "3")
	start("/bin/sh", "-c", "true; \""+os.Args[0]+"\" leaf 4; true")
	if len(os.Args) > 1 {
		start(os.Args[1], "leaf", "5")
	}
	own(7)
	syscall.Exec(os.Args[0], []string{os.Args[0], "end", "8"}, os.Environ())
}
