package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func TestLog(t *testing.T) {
	const in = `go vet ./...
{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"run","Package":"m/a","Test":"TestGood/one"}
{"Action":"output","Package":"m/a","Test":"TestGood/one","Output":"    a_test.go:1: ` + strobetest.LeftToSoak + `other builds\n"}
{"Action":"output","Package":"m/a","Test":"TestGood/two","Output":"    a_test.go:1: ` + strobetest.LeftToSoak + `other builds\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood/one/O2","Elapsed":2}
{"Action":"pass","Package":"m/a","Test":"TestGood/one","Elapsed":1}
{"Action":"pass","Package":"m/a","Test":"TestGood/two","Elapsed":3}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":3.4}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"m/a","Test":"TestBad/x","Output":"    a_test.go:2: 1, want 2\n"}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"--- FAIL: TestBad (12.00s)\n"}
{"Action":"output","Package":"m/a","Test":"TestBad/x","Output":"    --- FAIL: TestBad/x (12.00s)\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad/x","Elapsed":12}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":12}
{"Action":"output","Package":"m/a","Test":"TestGone","Output":"panic: gone\n"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t16.000s\n"}
{"Action":"fail","Package":"m/a","Elapsed":16}
{"Action":"output","Package":"m/b","Test":"TestSoakLong","Output":"    b_test.go:3: ` + strobetest.LeftToSoak + `all of it\n"}
{"Action":"skip","Package":"m/b","Test":"TestSoakLong","Elapsed":0}
{"Action":"output","Package":"m/b","Output":"PASS\n"}
{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t0.100s\n"}
{"Action":"pass","Package":"m/b","Elapsed":0.1}
{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1: no such thing\n"}
make: *** [Makefile:35: test] Error 1
`
	const want = `go vet ./...
    a_test.go:2: 1, want 2
--- FAIL: TestBad (12.00s)
    --- FAIL: TestBad/x (12.00s)
panic: gone
FAIL	m/a	16.000s
ok  	m/b	0.100s
c.go:1: no such thing
make: *** [Makefile:35: test] Error 1
ran 3 tests; the slowest: a.TestBad 12 s, a.TestGood 5 s, b.TestSoakLong 0 s
left to make soak: a.TestGood (other builds), b.TestSoakLong
`
	var out strings.Builder
	if err := run(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
