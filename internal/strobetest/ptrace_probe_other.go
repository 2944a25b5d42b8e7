//go:build !(linux && amd64)

package strobetest

import "errors"

func mayTrace() error { return errors.New("only Linux on amd64 is traced") }
