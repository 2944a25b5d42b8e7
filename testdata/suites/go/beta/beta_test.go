package beta

import "testing"

func TestPass(t *testing.T) {}

func TestPassMore(t *testing.T) {}

func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
}
