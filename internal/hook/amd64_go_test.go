package hook

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// goCode returns what a Go program's functions are, by their symbols.
func goCode(t *testing.T) map[string][]byte {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "strobe")
	cmd := exec.Command("go", "build", "-o", bin, "../../cmd/strobe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	b, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatalf("the test has no symbols: %v", err)
	}
	out := map[string][]byte{}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Value >= text.Addr && s.Value+s.Size <= text.Addr+text.Size {
			out[s.Name] = b[s.Value-text.Addr : s.Value-text.Addr+s.Size]
		}
	}
	return out
}

// TestGoSyscall: the function of the runtime by which a program writes is the one that is known.
func TestGoSyscall(t *testing.T) {
	code := goCode(t)["internal/runtime/syscall/linux.Syscall6"]
	g, err := AnalyzeGoSyscall(code)
	if err != nil {
		t.Fatalf("%x: %v", code, err)
	}
	buf := make([]byte, MaxGoSyscallStub(2))
	s, err := WriteGoSyscall(buf, 0x10000000, GoSpec{ID: 7, Code: code, Addr: 0x400000, Enter: 0x10000100,
		Losses: 0x10000110}, g, []uint32{1, 20})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for o := 0; o < s.Len; {
		in, err := Decode(buf[o:s.Len])
		if err != nil {
			t.Fatalf("+%d of %x: %v", o, buf[:s.Len], err)
		}
		if in.is(0x0f) || buf[o] == 0x0f && buf[o+1] == 0x05 {
			calls++
		}
		o += in.Len
	}
	if calls != 1 {
		t.Errorf("%d system calls in %x", calls, buf[:s.Len])
	}
}

// TestAnalyzeGo looks at every function of a real program: windows are of whole instructions that nothing leads into,
// do not overlap, and their stubs can be written.
func TestAnalyzeGo(t *testing.T) {
	jumps, traps, none := 0, 0, 0
	for name, code := range goCode(t) {
		a := AnalyzeGo(code, 0)
		if a.Reason != "" {
			none++
			continue
		}
		l, err := decodeGo(code, 0)
		if err != nil {
			t.Fatal(err)
		}
		bounds := map[int]bool{len(code): true}
		for _, o := range l.offs {
			bounds[o] = true
		}
		end := 0
		for i, w := range append([]GoWindow{a.Entry}, a.Exits...) {
			if w.Trap {
				traps++
			} else {
				jumps++
			}
			ret := 0
			if i > 0 || a.Whole {
				ret = 1
				if code[w.Off+w.Displaced] != 0xc3 {
					t.Errorf("%s: the window at +%#x does not end before a ret", name, w.Off)
				}
			}
			if !bounds[w.Off] || !bounds[w.Off+w.Displaced] || w.Off < end || !w.Trap && w.Displaced+ret < jumpLen {
				t.Errorf("%s: window %+v of %d bytes, the one before ended at +%#x", name, w, len(code), end)
			}
			for to := range l.targets {
				if !w.Trap && to > w.Off && to < w.Off+w.Displaced {
					t.Errorf("%s: something leads to +%#x, inside the window at +%#x", name, to, w.Off)
				}
			}
			end = w.Off + max(w.Displaced+ret, 1)
			buf := make([]byte, MaxGoStub)
			stub, err := WriteGoStub(buf, 0x10000000, GoSpec{ID: 7, Code: code, Addr: 0x400000, Window: w, Exit: i > 0,
				Whole: a.Whole, Enter: 0x10000100, Leave: 0x10000108, Losses: 0x10000110})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for o := 0; o < stub.Len; {
				in, err := Decode(buf[o:stub.Len])
				if err != nil {
					t.Errorf("%s: the stub at +%#x: %v", name, o, err)
					break
				}
				o += in.Len
			}
		}
	}
	t.Logf("%d jumps, %d traps, %d functions not hooked", jumps, traps, none)
	if jumps < 5000 || traps*10 > jumps || none*10 > jumps {
		t.Errorf("%d jumps, %d traps, %d functions not hooked", jumps, traps, none)
	}
}

// TestGoWindows are functions by hand.
func TestGoWindows(t *testing.T) {
	for name, tt := range map[string]struct {
		code []byte
		want GoAnalysis
	}{
		"checked": {
			// cmp rsp,[r14+16]; jbe +9; push rbp; mov rbp,rsp; sub rsp,16; add rsp,16; pop rbp; ret; call; jmp
			[]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x0e, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xc4, 0x10,
				0x5d, 0xc3, 0xe8, 0, 0, 0, 0, 0xeb, 0xe5},
			GoAnalysis{Checked: true, Entry: GoWindow{Off: 6, Displaced: 8}, Exits: []GoWindow{{Off: 14, Displaced: 5}}},
		},
		"getter": { // mov rax,[rax+8]; ret
			[]byte{0x48, 0x8b, 0x40, 0x08, 0xc3},
			GoAnalysis{Whole: true, Entry: GoWindow{Displaced: 4, Faults: true}},
		},
		"loop": { // inc rax; cmp rax,rbx; jl -8; ret
			[]byte{0x48, 0xff, 0xc0, 0x48, 0x39, 0xd8, 0x7c, 0xf8, 0xc3},
			GoAnalysis{Reason: "it begins with a loop, whose rounds would look like calls"},
		},
		"short": { // xor eax,eax; ret
			[]byte{0x31, 0xc0, 0xc3},
			GoAnalysis{Whole: true, Entry: GoWindow{Displaced: 2, Trap: true}},
		},
	} {
		got := AnalyzeGo(tt.code, 0)
		if got.Reason != tt.want.Reason || got.Entry != tt.want.Entry || got.Whole != tt.want.Whole ||
			got.Checked != tt.want.Checked || len(got.Exits) != len(tt.want.Exits) ||
			len(got.Exits) > 0 && got.Exits[0] != tt.want.Exits[0] {
			t.Errorf("%s: AnalyzeGo = %+v, want %+v", name, got, tt.want)
		}
	}
}

func FuzzAnalyzeGo(f *testing.F) {
	f.Add([]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x0e, 0x55, 0x48, 0x89, 0xe5, 0xc3}, 0)
	f.Add([]byte{0x48, 0x8b, 0x40, 0x08, 0xc3, 0xcc, 0xcc}, 2)
	f.Add([]byte{0x49, 0x89, 0xf2, 0x48, 0x89, 0xfa, 0x48, 0x89, 0xce, 0x48, 0x89, 0xdf, 0x0f, 0x05}, 0)
	f.Fuzz(func(t *testing.T, code []byte, pad int) {
		if g, err := AnalyzeGoSyscall(code); err == nil {
			if g.Displaced < jumpLen || g.Behind < g.Displaced+2 || g.Behind > len(code) {
				t.Fatalf("%+v of %d bytes", g, len(code))
			}
			WriteGoSyscall(make([]byte, MaxGoSyscallStub(2)), 0x10000000, GoSpec{Code: code, Addr: 0x400000,
				Enter: 0x10000100, Losses: 0x10000110}, g, []uint32{1, 20}) //nolint:errcheck // out of reach, perhaps
		}
		a := AnalyzeGo(code, pad)
		if a.Reason != "" {
			return
		}
		size := len(code) - min(max(pad, 0), len(code))
		for i, w := range append([]GoWindow{a.Entry}, a.Exits...) {
			if w.Off < 0 || w.Displaced < 0 || w.Off+w.Displaced > size {
				t.Fatalf("window %+v of %d bytes", w, size)
			}
			WriteGoStub(make([]byte, MaxGoStub), 0x10000000, GoSpec{Code: code, Addr: 0x400000, Window: w, Exit: i > 0,
				Whole: a.Whole, Enter: 0x10000100, Leave: 0x10000108, Losses: 0x10000110}) //nolint:errcheck // out of reach, perhaps
		}
	})
}
