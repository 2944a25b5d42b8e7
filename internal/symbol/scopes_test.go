package symbol

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestInlinedAt compares the lines of inlined calls at addresses all over real programs with addr2line's.
func TestInlinedAt(t *testing.T) {
	inlined, all := 0, 0
	for _, c := range [][]string{
		{"shapes.cc", "g++", "-O2", "-g"}, {"shapes.cc", "g++", "-O0", "-g"}, {"shapes.cc", "g++", "-O2", "-gdwarf-4"},
		{"copying.cc", "clang++", "-O2", "-g"}, {"values.c", "gcc", "-O2", "-g"}, {"vars.rs", "rustc", "-Copt-level=2", "-g"},
	} {
		path := build(t, c[0], c[1], c[2:]...)
		m := open(t, path, Options{})
		var in bytes.Buffer
		var addrs []Addr
		for _, f := range m.Functions() {
			if !f.HasDWARF || len(addrs) > 6000 {
				continue
			}
			for a := f.Low; a < f.High && a < f.Low+400; a += 3 {
				addrs = append(addrs, a)
				fmt.Fprintf(&in, "%#x\n", uint64(a))
			}
		}
		cmd := exec.Command("addr2line", "-a", "-i", "-e", path)
		cmd.Stdin = &in
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("addr2line: %v", err)
		}
		groups := strings.Split(string(out), "0x")[1:]
		bad := 0
		for i, a := range addrs {
			lines := strings.Split(strings.TrimSpace(groups[i]), "\n")[1:]
			scopes := m.InlinedAt(a)
			same := len(scopes) == len(lines)
			for k := 0; k < len(lines) && same; k++ {
				line := strings.TrimSpace(strings.Split(lines[k], " (disc")[0])
				n, _ := strconv.Atoi(line[strings.LastIndexByte(line, ':')+1:])
				// Code without a line of its own has that of what lies before it, as in gdb; addr2line has none.
				same = (n == scopes[k].Line || strings.HasSuffix(line, ":?")) &&
					(scopes[k].Function != "" && scopes[k].Inlined == (k < len(lines)-1))
			}
			all++
			if len(lines) > 1 {
				inlined++
			}
			if !same {
				if bad++; bad < 4 {
					t.Logf("%v at %#x: %+v, addr2line has %v", c, uint64(a), scopes, lines)
				}
			}
		}
		// addr2line knows no empty ranges and takes lines of neighbouring sequences; it is not always right.
		if bad*200 > len(addrs) {
			t.Errorf("%v: %d of %d addresses differ", c, bad, len(addrs))
		}
	}
	t.Logf("%d addresses, %d in inlined code", all, inlined)
}

// TestFrameEntry checks that the sorted table finds what reading everything finds.
func TestFrameEntry(t *testing.T) {
	m := open(t, build(t, "shapes.cc", "g++", "-O2", "-g"), Options{})
	m.EntryRule(0) // reads all
	n := 0
	for _, f := range m.Functions() {
		for _, a := range []Addr{f.Low, f.Low + Addr(f.Size()/2), f.High - 1} {
			got, ok := m.FrameEntry(a)
			want := m.EntryRule(a)
			if ok != want.Known || ok && (got.Lo != want.Start || got.Hi != want.End || got.Signal != want.Signal ||
				got.Source != want.Source) {
				t.Errorf("FrameEntry(%#x) = %+v, %v; EntryRule has %+v", uint64(a), got, ok, want)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("only %d addresses", n)
	}
}

// TestOpenBytes reads a program from memory.
func TestOpenBytes(t *testing.T) {
	path := build(t, "shapes.cc", "g++", "-O2", "-g")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenBytes("[shapes]", data)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if f := one(t, m, "main"); !f.HasDWARF {
		t.Errorf("main has no debug information")
	}
	for _, bad := range [][]byte{nil, data[:63], make([]byte, 4096), data[:64]} {
		if m, err := OpenBytes("[bad]", bad); err == nil {
			m.Close()
		}
	}
}

// TestScopeMutations asks damaged debug information about scopes, locals and unwind tables.
func TestScopeMutations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	path := filepath.Join(t.TempDir(), "prog")
	for _, src := range []string{build(t, "shapes.cc", "g++", "-gdwarf-5", "-O2"),
		build(t, "values.c", "gcc", "-gdwarf-4", "-O2")} {
		good, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, src, Options{})
		var sects []sectHeader
		for _, s := range m.im.sects {
			if strings.HasPrefix(s.name, ".debug_") || strings.HasPrefix(s.name, ".eh_frame") {
				sects = append(sects, s)
			}
		}
		for n := 0; n < 40; n++ {
			bad := bytes.Clone(good)
			for k := rnd.IntN(12) + 1; k > 0; k-- {
				s := sects[rnd.IntN(len(sects))]
				bad[s.off+rnd.Uint64N(s.size)] = byte(rnd.Uint32())
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path, Options{DebugDirs: []string{}})
			if err != nil {
				continue
			}
			for i, f := range d.Functions() {
				if i%7 == n%7 && i < 700 {
					d.LocalsAt(f.Low + Addr(f.Size()/2))
					d.FrameEntry(f.Low)
					d.CallValue(f.Low+Addr(f.Size()/2), 5)
				}
			}
			d.Close()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
