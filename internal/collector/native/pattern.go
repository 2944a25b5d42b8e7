package native

import "github.com/strobe-debug/strobe/internal/symbol"

// ParsePattern checks a pattern before it is used; the error is an INVALID_PATTERN fault with the position.
func ParsePattern(s string) error {
	_, err := symbol.ParsePattern(s)
	return err
}
