package store

import (
	"runtime"
	"sync"
	"weak"
)

// PerStore keeps a T for each open store, for as long as the store lives: what a reader remembers between questions.
// The zero PerStore is ready, and the zero T must be. Safe for concurrent use.
type PerStore[T any] struct {
	of sync.Map // weak.Pointer[Store] -> *T
}

// Of returns the store's T, a new one at first.
func (p *PerStore[T]) Of(st *Store) *T {
	key := weak.Make(st)
	if t, ok := p.of.Load(key); ok {
		return t.(*T)
	}
	t, loaded := p.of.LoadOrStore(key, new(T))
	if !loaded {
		runtime.AddCleanup(st, func(k weak.Pointer[Store]) { p.of.Delete(k) }, key)
	}
	return t.(*T)
}
