package query

import "testing"

func TestExceptionLine(t *testing.T) {
	for payload, want := range map[string]string{
		`{"what":"throw","type":"int","message":"42","function":"f","file":"/a/b.cpp","line":20}`:                                                           "throw int: 42 at f (b.cpp:20)",
		`{"what":"catch","type":"std::runtime_error","function":"f","file":"/a/b.cpp","line":20,"caughtIn":{"function":"main","file":"/a/m.cpp","line":3}}`: "catch std::runtime_error in main (m.cpp:3), thrown at f (b.cpp:20)",
		`{"what":"panic","type":"panic","message":"two\nlines","function":"g","module":"/lib/libx.so"}`:                                                     "panic: two⏎lines at g in libx.so",
		`{"what":"caught","type":"panic","caughtIn":{"function":"run"}}`:                                                                                    "caught panic in run",
		`{"x":1}`: "",
		`[`:       "",
	} {
		if got := exceptionLine([]byte(payload)); got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}
