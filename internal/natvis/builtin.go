package natvis

import (
	"embed"
	"path"
	"sync"
)

//go:embed builtin/*.natvis
var builtinFiles embed.FS

// Builtin returns the descriptions of libraries' types that we bring. They were written for this program, from the
// libraries' public headers.
var Builtin = sync.OnceValue(func() *Set {
	names, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		return NewSet()
	}
	var files []*File
	for _, n := range names {
		data, err := builtinFiles.ReadFile(path.Join("builtin", n.Name()))
		if err != nil {
			continue
		}
		if f, err := Parse("built in: "+n.Name(), data); err == nil {
			files = append(files, f)
		}
	}
	return NewSet(files...)
})
