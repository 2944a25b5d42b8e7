package natvis

import (
	_ "embed"
	"maps"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/packed"
)

// packedBuiltin are the files of builtin/: go test -run Packed -update ./internal/natvis makes it.
//
//go:embed builtin.zst
var packedBuiltin []byte

// Builtin returns the descriptions of libraries' types that we bring. They were written for this program, from the
// libraries' public headers.
var Builtin = sync.OnceValue(func() *Set {
	all := packed.Embedded(packedBuiltin)()
	var files []*File
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if f, err := Parse("built in: "+name, all[name]); err == nil {
			files = append(files, f)
		}
	}
	return NewSet(files...)
})
