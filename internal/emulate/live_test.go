//go:build linux && amd64

package emulate

import (
	"bufio"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/functions.cpp
var functions string

// TestSameResults runs functions of a real program, built by two compilers with and without optimization, and compares
// what they give with what the program itself got.
func TestSameResults(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O2", "clang-O0", "clang-O2", "gcc-O2-static"} {
		t.Run(variant, func(t *testing.T) {
			p := strobetest.StartWaiting(t, strobetest.BuildSource(t, "cpp", variant, "functions", functions, "-std=c++17"))
			compareRows(t, p, bufio.NewScanner(p.Out))
		})
	}
}

type resultRow struct {
	name       string
	addr, a, b uint64
	want       string
}

func compareRows(t *testing.T, mem Memory, sc *bufio.Scanner) {
	var rows []resultRow
	var fs uint64
	libs := map[uint64]string{}
	for sc.Scan() {
		var r resultRow
		if _, err := fmt.Sscanf(sc.Text(), "%s %v %d %d", &r.name, &r.addr, &r.a, &r.b); err != nil {
			t.Fatalf("line %q: %v", sc.Text(), err)
		}
		r.want = strings.SplitN(sc.Text(), " ", 5)[4]
		if lib, ok := strings.CutPrefix(r.name, "lib:"); ok {
			libs[r.addr] = lib
			continue
		}
		switch r.name {
		case "fs":
			fs = r.addr
		case "ready":
		default:
			rows = append(rows, r)
		}
		if r.name == "ready" {
			break
		}
	}
	steps, failed := 0, map[string]int{}
	for _, r := range rows {
		m := New(mem, fs, Limits{})
		for addr, lib := range libs {
			m.Replace(addr, lib)
		}
		v, err := m.Call(r.addr, r.a, r.b)
		got := fmt.Sprint(v)
		if r.name == "what" && err == nil {
			got, _ = m.Text(v, 1000)
		}
		steps += m.Steps()
		if err != nil || got != r.want {
			if failed[r.name]++; failed[r.name] < 3 {
				t.Errorf("%s(%d, %d) = %s, %v; want %s", r.name, r.a, r.b, got, err, r.want)
			}
		}
	}
	t.Logf("%d calls, %d instructions; wrong: %v", len(rows), steps, failed)
}
