package lazyregexp

import "testing"

func TestCompiledOnce(t *testing.T) {
	r := &Regexp{text: `^a(b+)$`}
	if got := r.FindStringSubmatch("abb"); len(got) != 2 || got[1] != "bb" || r.MatchString("b") {
		t.Errorf("submatches = %q", got)
	}
	if r.Get() != r.Get() {
		t.Error("it is compiled twice")
	}
}

// In tests what does not compile is found whether it is used or not.
func TestWrongOnePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustCompile(`(`)
}
