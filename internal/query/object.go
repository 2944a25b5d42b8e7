package query

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds of view object.
const (
	maxObjectUses = 200_000 // begins and ends of calls that are kept
	maxFields     = 12      // of an object's first sight, and changes of one line
	fieldWidth    = 32      // bytes of one
	maxLives      = 6       // that are told of one by one
	fieldDepth    = 3       // members of members
)

// Allocator names two functions of the program's own.
type Allocator struct {
	Alloc string `json:"alloc,omitempty"`
	Free  string `json:"free,omitempty"`
}

// objectUse is a begin or an end of a call that had the object.
type objectUse struct {
	id, enter, parent event.ID // of the row, of the call's begin, of the call around it
	ts                int64
	fn                *record.Function
	exit              bool
	paths             []string // where in the arguments, the result or out it stood
	others            string   // the other arguments
	fields            []field  // what was seen of it, by the first path that shows it
	role              objectRole
	changes           []string
	life              int
	late              bool // after the end of its life
}

type field struct{ path, text string }

type objectRole uint8

const (
	usesIt objectRole = iota
	makesIt
	initsIt // a constructor: of what was made before, or of something on a stack
	endsIt  // a destructor: what it lay in may be freed behind it
	freesIt
)

// checkObject prepares view object.
func (f *filters) checkObject() error {
	r := &f.req
	if r.View != "object" {
		if r.Object != "" || len(r.Allocators) > 0 {
			return invalid("object", `Ask with view "object".`, "view %s takes no object and no allocators", r.View)
		}
		return nil
	}
	addr, err := strconv.ParseUint(strings.TrimPrefix(r.Object, "0x"), 16, 64)
	if err != nil || addr == 0 || !strings.HasPrefix(r.Object, "0x") {
		return invalid("object", "Give its address, 0x…; addresses: true shows those of a call's values.",
			"%q is no address", excerpt([]byte(r.Object)))
	}
	f.object = addr
	return nil
}

// objectView is view object: the life of what lies at an address.
func (a *asker) objectView(res *Result) (notes []string, err error) {
	after := a.req.AfterEventID
	a.req.AfterEventID, a.skipTo = nil, 0 // a life is known from its begin only
	parts, err := a.plan()
	a.req.AfterEventID = after
	if err != nil {
		return nil, err
	}
	o := &objectFinder{a: a, addr: a.object, name: fmt.Sprintf("0x%x", a.object)}
	o.bytes = binary.LittleEndian.AppendUint64(nil, o.addr)
	for _, p := range parts {
		p.filter.Kinds &= callKinds
		if p.cold = true; p.filter.Kinds == 0 {
			continue
		}
		if err := a.scan(p, o.look); err != nil {
			return nil, fmt.Errorf("look for 0x%x: %w", o.addr, err)
		}
	}
	sorting.By(o.uses, func(x, y *objectUse) int { return cmp.Compare(x.id, y.id) })
	o.live()
	if len(o.uses) == 0 {
		return nil, nil
	}
	return o.write(res), nil
}

// objectFinder collects what calls had of one address.
type objectFinder struct {
	a     *asker
	addr  uint64
	name  string // as values show it
	bytes []byte
	uses  []*objectUse
	more  int64 // uses that are not kept
	lives []*objectLife
}

// look takes up a row in which the address is.
func (o *objectFinder) look(row *store.Row) bool {
	exit := row.Kind == event.FunctionExit
	if !bytes.Contains(row.Payload, o.bytes) && !bytes.Contains(row.Payload, []byte(o.name)) &&
		(!exit || uint64(row.Ret) != o.addr) {
		return true
	}
	u := &objectUse{id: row.ID, enter: row.ID, parent: row.Parent, ts: row.TS, fn: o.a.fn(row.Func), exit: exit}
	if exit {
		u.enter = row.Enter
		if v, ok := u.fn.Result(row); ok {
			o.find(u, "result", v, 0)
			if n, number := v.Uint64(); len(u.paths) == 0 && number && n == o.addr && !u.fn.Known() {
				u.paths = append(u.paths, "result")
			}
		}
		for _, m := range u.fn.Out(row) {
			o.find(u, outPrefix+m.Name, m.Value, 0)
		}
	} else {
		var others value.Object
		for _, m := range u.fn.Arguments(row) {
			n := len(u.paths)
			if o.find(u, m.Name, m.Value, 0); n == len(u.paths) {
				others = append(others, m)
			}
		}
		u.others = others.Short(80)
	}
	switch {
	case len(u.paths) == 0:
	case len(o.uses) == maxObjectUses:
		o.more++
	default:
		u.role = o.role(u)
		o.uses = append(o.uses, u)
	}
	return true
}

// find looks for the object in a value.
func (o *objectFinder) find(u *objectUse, path string, v value.Value, depth int) {
	if depth > 2*fieldDepth {
		return
	}
	switch v.Kind() {
	case value.Obj:
		all := v.Object()
		if at, ok := all.Get(addressMember); ok {
			if n, _ := at.Address(); n == o.addr {
				if u.paths = append(u.paths, path); u.fields == nil {
					u.fields = fieldsOf(nil, "", all, 0)
				}
				return
			}
		}
		for _, m := range all {
			o.find(u, path+"."+m.Name, m.Value, depth+1)
		}
	case value.Array:
		elems, _ := v.Elems()
		for i := range elems {
			o.find(u, fmt.Sprintf("%s[%d]", path, i), elems[i], depth+1)
		}
	default:
		n, ok := v.Address()
		if text := v.String(); ok && n == o.addr || v.Kind() == value.Marker && (strings.HasSuffix(text, " "+o.name+">") ||
			strings.HasPrefix(text, o.name+" ")) {
			u.paths = append(u.paths, path)
		}
	}
}

// fieldsOf is what an object shows of itself. What its pointers lead to are other objects.
func fieldsOf(out []field, prefix string, o value.Object, depth int) []field {
	for _, m := range o {
		if m.Name == addressMember {
			continue
		}
		v := m.Value
		if v.Kind() == value.Obj {
			at, ok := v.Object().Get(addressMember)
			if !ok && depth < fieldDepth {
				out = fieldsOf(out, prefix+m.Name+".", v.Object(), depth+1)
				continue
			} else if ok {
				v = at
			}
		}
		if len(out) < 4*maxFields {
			out = append(out, field{prefix + m.Name, v.Short(fieldWidth)})
		}
	}
	return out
}

// Functions that make and free, by their names without parameters.
var (
	allocNames = []string{"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "operator new",
		"operator new[]"}
	freeNames = []string{"free", "cfree", "realloc", "operator delete", "operator delete[]"}
)

// role says what a call did to the object, by its name.
func (o *objectFinder) role(u *objectUse) objectRole {
	name, first := plainName(event.BareName(u.fn.Name)), u.paths[0]
	name, _, _ = strings.Cut(name, "(")
	for _, l := range o.a.req.Allocators {
		switch {
		case u.exit && first == "result" && l.Alloc != "" && sameName(&u.fn.Function, l.Alloc):
			return makesIt
		case !u.exit && l.Free != "" && sameName(&u.fn.Function, l.Free):
			return freesIt
		}
	}
	scope, last := "", name
	if i := strings.LastIndex(name, "::"); i >= 0 {
		scope, last = name[:i], name[i+2:]
		scope = scope[strings.LastIndex(scope, ":")+1:]
	}
	switch {
	case u.exit && first == "result" && slices.Contains(allocNames, name):
		return makesIt
	case u.exit:
		return usesIt
	case slices.Contains(freeNames, name):
		return freesIt
	case first == "this" && last == scope, first == "self" && strings.HasSuffix(name, ".__init__"):
		return initsIt
	case first == "this" && last == "~"+scope, strings.HasSuffix(name, "ptr::drop_in_place"):
		return endsIt
	}
	return usesIt
}
