// Shows what it was given: echo.py and echo.js are the same.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
)

//go:noinline
func show(what string, s any) { fmt.Println(what, s) }

//go:noinline
func where() (lines []int) {
	pcs := make([]uintptr, 10)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		lines = append(lines, f.Line)
		if !more {
			return lines
		}
	}
}

func main() {
	env := os.Environ()
	slices.Sort(env)
	for _, e := range env {
		show("env", e)
	}
	for _, a := range os.Args[1:] {
		show("arg", a)
	}
	cwd, _ := os.Getwd()
	show("cwd", cwd)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		show("in", in.Text())
	}
	show("source", fmt.Sprint(where(), runtime.FuncForPC(reflect.ValueOf(show).Pointer()).Name()))
	fmt.Fprintln(os.Stderr, "on stderr")
	os.Exit(9)
}
