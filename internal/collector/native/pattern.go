package native

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// ParsePattern checks a pattern before it is used; the error is an INVALID_PATTERN fault with the position.
func ParsePattern(s string) error {
	_, err := symbol.ParsePattern(s)
	return err
}

// publicName prefers the name that callers use: malloc, not its alias __libc_malloc.
func publicName(f *symbol.Function) string {
	best := f.Name
	for _, a := range f.Aliases {
		if underscores(a) < underscores(best) {
			best = a
		}
	}
	return best
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }
