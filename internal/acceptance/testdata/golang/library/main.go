// Command library passes values of the standard library's types.
package main

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type P struct {
	Name string
	Age  int
}

type holder struct{ Inner *P }

type key string

//go:noinline
func reflected(v reflect.Value) reflect.Kind { return v.Kind() }

//go:noinline
func typed(t reflect.Type) reflect.Kind { return t.Kind() }

//go:noinline
func atomics(i *atomic.Int64, b *atomic.Bool, p *atomic.Pointer[P], v *atomic.Value) int64 {
	return i.Load()
}

//go:noinline
func locks(m *sync.Mutex, w *sync.WaitGroup) { m.Unlock() }

//go:noinline
func valued(ctx context.Context) any { return ctx.Value(key("user")) }

//go:noinline
func times(t time.Time, b *big.Int) time.Time { return t.Add(time.Second) }

// renamed sets one parameter to another: debug information has both in one place at the entry.
//
//go:noinline
func renamed(ok bool, short, name string) string {
	sep := "-"
	if name == "" {
		name = short
	}
	if !ok {
		fmt.Println(short, name)
	}
	return strings.ToLower(name) + sep + short
}

func main() {
	h := &holder{&P{"in", 6}}
	for _, v := range []reflect.Value{reflect.ValueOf(P{"refl", 4}), reflect.ValueOf(&P{"at", 5}),
		reflect.ValueOf(h).Elem().Field(0), reflect.ValueOf(7), {}} {
		reflected(v)
	}
	typed(reflect.TypeOf(P{}))
	var i atomic.Int64
	i.Store(42)
	var b atomic.Bool
	b.Store(true)
	var p atomic.Pointer[P]
	p.Store(&P{"atom", 1})
	var v atomic.Value
	v.Store("val")
	atomics(&i, &b, &p, &v)
	var m sync.Mutex
	m.Lock()
	var w sync.WaitGroup
	w.Add(2)
	locks(&m, &w)
	valued(context.WithValue(context.Background(), key("user"), "me"))
	n, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	fmt.Println(times(time.Date(2024, 2, 29, 12, 30, 0, 500, time.UTC), n))
	fmt.Println(renamed(true, "h", "Help"), renamed(true, "o", ""))
}
