//go:build linux && amd64

package spin

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/loops.cpp
var loops string

type processMemory struct{ f *os.File }

func (p processMemory) Read(addr uint64, b []byte) error {
	if addr >= 1<<62 {
		return fmt.Errorf("0x%x is no address", addr)
	}
	_, err := p.f.ReadAt(b, int64(addr))
	return err
}

// TestLoops runs functions of a real program on: those that never end are shown to, those that only take long never are.
func TestLoops(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O1", "gcc-O2", "gcc-O3", "clang-O0", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(strobetest.BuildSource(t, "cpp", variant, "spinning", loops, "-std=c++17"))
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				stdin.Close()
				if err := cmd.Wait(); err != nil {
					t.Errorf("the program ended with %v", err)
				}
			}()
			f, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
			if err != nil {
				strobetest.Lack(t, "the memory of a child cannot be read: %v", err)
			}
			defer f.Close()
			var fs, stack uint64
			text, fns := map[uint64]string{}, map[string]uint64{}
			for sc := bufio.NewScanner(stdout); sc.Scan(); {
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
				r := Prove(&System{Memory: processMemory{f}, Text: func() map[uint64]string { return text }, Alone: true}, &th)
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
