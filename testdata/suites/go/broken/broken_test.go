package broken

import "testing"

func TestBroken(t *testing.T) {
	var n int = "text"
	undefined(n)
}
