//go:build integration

package tagged

import "testing"

func TestTagged(t *testing.T) {}
