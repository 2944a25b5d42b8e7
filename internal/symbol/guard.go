package symbol

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// errClosed is returned by a Module that was closed.
var errClosed = errors.New("module is closed")

// protect runs fn, which reads mapped files, and turns what a file can do to us into an error: a
// mapped file that another process truncates faults on access, and a damaged one may reach a case
// nobody thought of.
func protect(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		p := recover()
		if p == nil {
			return
		}
		var fe interface{ Addr() uintptr }
		if e, ok := p.(error); ok && errors.As(e, &fe) {
			err = errors.New("the file changed while it was being read")
			return
		}
		if panicsPass {
			panic(p)
		}
		var where [4096]byte
		n := runtime.Stack(where[:], false)
		err = fmt.Errorf("read damaged file: %v\n%s", p, where[:n])
	}()
	return fn()
}

// panicsPass makes our own mistakes visible; set by tests.
var panicsPass = false
