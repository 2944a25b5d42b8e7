//go:build waits

package waits

import (
	"os"
	"testing"
)

func TestBefore(t *testing.T) {}

func TestFailsBefore(t *testing.T) { t.Error("so it does") }

func TestWaits(t *testing.T) {
	t.Run("in a subtest", func(t *testing.T) {
		if err := os.WriteFile(os.Getenv("STROBE_BEGUN"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {}
	})
}

func TestAfter(t *testing.T) {}
