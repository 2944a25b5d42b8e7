// Functions within others, with what they have of these.
package main

import "fmt"

type acc struct {
	name  string
	total int
}

//go:noinline
func counter(step int, label string) func(int) int {
	n := 0
	a := &acc{label, 0}
	return func(by int) int {
		n += by * step
		a.total += n
		return n
	}
}

//go:noinline
func each(xs []string, f func(i int, s string)) {
	for i, x := range xs {
		f(i, x)
	}
}

func main() {
	c := counter(3, "three")
	c(1)
	c(2)
	seen := map[string]int{}
	pre := []string{"p", "q"}
	ok := true
	each([]string{"a", "b"}, func(i int, s string) { seen[s] = i; _ = fmt.Sprint(pre, ok) })
	done := make(chan bool, 1)
	go func(id int) { ok = false; done <- true }(7)
	<-done
	defer func() { fmt.Println(len(seen), ok, recover()) }()
	panic("end")
}
