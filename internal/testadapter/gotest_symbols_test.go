package testadapter

import (
	"slices"
	"testing"
)

// TestGoSymbols: a traced go test keeps debug information, and whatever else the linker is told.
func TestGoSymbols(t *testing.T) {
	for _, c := range []struct{ flags, environ, want []string }{
		{nil, nil, []string{"-ldflags=-s=false -w=false"}},
		{[]string{"-v", "-ldflags=-X a.b=c"}, nil, []string{"-v", "-ldflags=-s=false -w=false -X a.b=c"}},
		{[]string{"--ldflags", "-X a.b=c", "-v"}, nil, []string{"--ldflags", "-s=false -w=false -X a.b=c", "-v"}},
		{[]string{"-v"}, []string{"GOFLAGS=-mod=mod", "GOFLAGS=-mod=mod -ldflags=-Xa.b=c"},
			[]string{"-v", "-ldflags=-s=false -w=false -Xa.b=c"}},
	} {
		if got := withSymbols(c.flags, goflags(c.environ)); !slices.Equal(got, c.want) {
			t.Errorf("withSymbols(%q, %q) = %q, want %q", c.flags, c.environ, got, c.want)
		}
	}
}
