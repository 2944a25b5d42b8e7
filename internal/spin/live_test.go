//go:build linux && amd64

package spin

import (
	"bufio"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/loops.cpp
var loops string

// TestLoops runs functions of a real program on: those that never end are shown to, those that only take long never
// are.
func TestLoops(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O1", "gcc-O2", "gcc-O3", "clang-O0", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			p := strobetest.StartWaiting(t, strobetest.BuildSource(t, "cpp", variant, "spinning", loops, "-std=c++17"))
			var fs, stack uint64
			text, fns := map[uint64]string{}, map[string]uint64{}
			for sc := bufio.NewScanner(p.Out); sc.Scan(); {
				var name string
				var at uint64
				if _, err := fmt.Sscanf(sc.Text(), "%s %v", &name, &at); err != nil {
					t.Fatalf("line %q: %v", sc.Text(), err)
				}
				if name == "ready" {
					break
				}
				switch lib, ok := strings.CutPrefix(name, "lib:"); {
				case ok:
					text[at] = lib
				case name == "fs":
					fs = at
				case name == "stack":
					stack = at
				default:
					fns[name] = at
				}
			}
			never := 0
			for name, at := range fns {
				th := emulate.Thread{RIP: at, FSBase: fs, Flags: 0x202}
				th.Reg[emulate.RSP] = stack - 8
				r := Prove(&System{Memory: p, Text: func() map[uint64]string { return text }, Alone: true}, &th)
				if want := strings.HasPrefix(name, "ever"); r.Endless != want {
					t.Errorf("%s: %+v", name, r)
				}
				if r.Endless {
					never++
				}
			}
			t.Logf("%d of %d functions never end", never, len(fns))
		})
	}
}

// FuzzProve runs anything on: it comes to an end, and changes nothing.
func FuzzProve(f *testing.F) {
	f.Add(counting, uint64(1))
	f.Add([]byte{0xeb, 0xfe}, uint64(0))
	f.Add([]byte{0xf3, 0xaa, 0xeb, 0xfc}, uint64(1<<40))
	f.Add([]byte{0x0f, 0x05, 0xeb, 0xfc}, uint64(35))
	f.Fuzz(func(t *testing.T, b []byte, v uint64) {
		data := make([]byte, 4*4096)
		copy(data, b)
		th := emulate.Thread{RIP: 0x400000, Flags: v}
		for i := range th.Reg {
			th.Reg[i] = v*uint64(i) ^ 0x401000
		}
		th.Reg[emulate.RSP] = 0x402000
		before := string(data)
		Prove(&System{Memory: code{0x400000, data}}, &th)
		if string(data) != before {
			t.Fatal("the program's memory has changed")
		}
	})
}
