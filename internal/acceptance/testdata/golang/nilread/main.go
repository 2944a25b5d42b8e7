package main

import "fmt"

type T struct{ a, b, c int }

//go:noinline
func other() {
	if v == 9 {
		println("x")
	}
}

var v int

//go:noinline
func framed(p *T, q **T) int { // ret window: mov rax,[..]; pop rbp; ret ?
	other()
	r := *q
	return r.b
}

//go:noinline
func safe(p **T) (r int) {
	defer func() {
		if x := recover(); x != nil {
			r = -1
		}
	}()
	return framed(nil, p)
}
func main() {
	x := &T{1, 2, 3}
	fmt.Println(safe(&x))
	x = nil
	fmt.Println(safe(&x))
}
