package query

import (
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// maxCachedSets bounds the resolved patterns kept per store: one is 2.5 KB at 20,000 functions, and a client
// has a handful in use.
const maxCachedSets = 64

// cache keeps the resolved patterns of one store between questions. Safe for concurrent use; mu is a leaf lock.
type cache struct {
	mu    sync.Mutex
	sets  map[string]cachedSet
	whole *whole // nil: nobody has asked for a picture of all

	painting chan struct{} // closed when the whole that is being made is there; nil: none is

	flame    *flameTree // the one that was made last
	flameKey flameKey
}

type cachedSet struct {
	bits *store.Bits
	of   int // functions there were
}

// caches holds one cache per open store.
var caches store.PerStore[cache]

// addressMember is what objects behind pointers have in answers with addresses, and in paths of filters.
const addressMember = "$address"

// newReader returns a reader that shows what the question asks for.
func (f *filters) newReader(sn *store.Snapshot) *record.Reader {
	r := record.New(sn)
	if f.req.Addresses || f.object != 0 || f.req.Argument != nil && strings.Contains(f.req.Argument.Name, addressMember) {
		return r.WithAddresses()
	}
	return r
}

func (a *asker) fn(id event.FuncID) *record.Function { return a.calls.Function(id) }
