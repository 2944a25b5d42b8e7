package query

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// maxCachedSets bounds the resolved patterns kept per store: one is 2.5 KB at 20,000 functions, and a client
// has a handful in use.
const maxCachedSets = 64

// cache keeps what is worth keeping between questions to one store. Safe for concurrent use; mu is a
// leaf lock.
type cache struct {
	mu    sync.Mutex
	sets  map[string]cachedSet
	table []atomic.Pointer[function] // by FuncID; replaced when functions are added
}

type cachedSet struct {
	bits *store.Bits
	of   int // functions there were
}

// function is what rendering and planning need to know of one function.
type function struct {
	event.Function
	layout *value.Layout // nil: nothing is known of its arguments
	ret    retClass
}

// caches holds one cache per open store, for as long as the store lives.
var caches sync.Map // weak.Pointer[store.Store] -> *cache

func cacheOf(st *store.Store) *cache {
	key := weak.Make(st)
	if c, ok := caches.Load(key); ok {
		return c.(*cache)
	}
	c, loaded := caches.LoadOrStore(key, &cache{sets: make(map[string]cachedSet)})
	if !loaded {
		runtime.AddCleanup(st, func(k weak.Pointer[store.Store]) { caches.Delete(k) }, key)
	}
	return c.(*cache)
}

// functions returns a table with room for n functions, which lookUp fills.
func (c *cache) functions(n int) []atomic.Pointer[function] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > len(c.table) {
		grown := make([]atomic.Pointer[function], n+n/4)
		for i := range c.table {
			grown[i].Store(c.table[i].Load())
		}
		c.table = grown
	}
	return c.table
}

// fn returns function id with its layout unmarshalled. A layout that does not read is none.
func (a *asker) fn(id event.FuncID) *function {
	if int(id) >= len(a.fns) {
		return unknownFunction
	}
	if a.req.Addresses || a.req.Argument != nil && strings.Contains(a.req.Argument.Name, addressMember) {
		return a.addressed(id)
	}
	return a.plain(id)
}

// addressMember is what objects behind pointers have in answers with addresses, and in paths of filters.
const addressMember = "$address"

// addressed is fn with a layout that shows addresses.
func (a *asker) addressed(id event.FuncID) *function {
	if f, ok := a.withAddresses.Load(id); ok {
		return f.(*function)
	}
	f := *a.plain(id)
	if f.layout != nil {
		f.layout = f.layout.WithAddresses()
	}
	a.withAddresses.Store(id, &f)
	return &f
}

func (a *asker) plain(id event.FuncID) *function {
	if f := a.table[id].Load(); f != nil {
		return f
	}
	f := &function{Function: a.fns[id]}
	if len(f.Layout) > 0 {
		if l, err := value.Unmarshal(f.Layout); err == nil {
			f.layout = l
		}
	}
	f.ret = classify(f.layout)
	a.table[id].Store(f)
	return f
}

var unknownFunction = &function{Function: event.Function{Name: "?"}, ret: retSigned}

// retClass says where a function's result is, for planning a filter on it.
type retClass uint8

const (
	retNone     retClass = iota // void
	retSigned                   // a plain integer that event.Ret holds exactly
	retUnsigned                 // a plain integer whose 64 bits event.Ret holds
	retScalar                   // rendered from event.Ret alone: bool, enum, character, address
	retPayload                  // rendered from the payload
)

func classify(l *value.Layout) retClass {
	if l == nil {
		return retSigned // only exits that have event.HasRet count
	}
	if l.Ret == nil {
		return retNone
	}
	size, signed, ok := l.ScalarRet()
	if !ok || int(l.Ret.Type) >= len(l.Types) || l.Ret.Type < 0 {
		return retPayload
	}
	switch l.Types[l.Ret.Type].Class {
	case value.ClassInt, value.ClassUint:
		if !signed && size == 8 {
			return retUnsigned
		}
		return retSigned
	case value.ClassBool, value.ClassEnum, value.ClassChar, value.ClassPointer:
		return retScalar
	}
	return retPayload
}
