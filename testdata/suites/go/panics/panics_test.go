package panics

import (
	"strings"
	"testing"
)

type shape struct{ name *string }

func describe(s *shape) string { return strings.ToUpper(*s.name) }

func TestOther(t *testing.T) {
	t.Parallel()
	select {}
}

func TestPanics(t *testing.T) {
	t.Run("nil", func(t *testing.T) { describe(&shape{}) })
}
