package hook

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// unhex reads hex with blanks.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// frameless is a function that a jump can be put into without any special case.
const frameless = "55 48 89 e5 48 83 ec 10 e8 00 00 00 00 c9 c3"

func TestAnalyze(t *testing.T) {
	type want struct {
		patch     Patch
		off, size int
		reason    string // a part of it
		loops     bool
		uses      bool
		rets      int
	}
	tests := []struct {
		name string
		code string
		pad  int
		opt  Options
		want want
	}{
		{"frame", frameless, 0, Options{}, want{PatchJump, 0, 8, "", false, false, 1}},
		{"endbr64", "f3 0f 1e fa" + frameless, 0, Options{}, want{PatchJump, 4, 8, "", false, false, 1}},
		{"empty", "", 0, Options{}, want{PatchNone, 0, 0, "no code", false, false, 0}},
		{"not code", "06 06 06 06 06", 0, Options{}, want{PatchNone, 0, 0, "not an x86-64", false, false, 0}},
		{"short with padding", "31 c0 c3 66 90 90", 3, Options{}, want{PatchJump, 0, 3, "", false, false, 1}},
		{"short with zeros", "c3 00 00 00 00", 4, Options{}, want{PatchJump, 0, 1, "", false, false, 1}},
		{"short with int3", "c3 cc cc cc cc", 4, Options{}, want{PatchJump, 0, 1, "", false, false, 1}},
		{"short, long nop", "c3 66 0f 1f 84 00 00 00 00 00", 9, Options{}, want{PatchJump, 0, 1, "", false, false, 1}},
		{"short, code behind", "31 c0 c3 55 53", 2, Options{}, want{PatchTrap, 0, 2, "no padding", false, false, 1}},
		{"short, little padding", "31 c0 c3 90", 1, Options{}, want{PatchTrap, 0, 2, "no padding", false, false, 1}},
		{"short, runs on", "31 c0 90 90 90", 3, Options{}, want{PatchTrap, 0, 2, "runs on", false, false, 0}},
		{"padding inside", "31 c0 c3 00 00 00 00 00", 0, Options{}, want{PatchJump, 0, 3, "", false, false, 1}},
		{"branch into the window", "31 c0 ff c8 01 f8 75 fa c3", 0, Options{},
			want{PatchTrap, 0, 2, "+0x6", false, false, 1}},
		{"branch inside the window", "31 c0 75 00 90 01 f8 c3", 0, Options{}, want{PatchJump, 0, 5, "", false, false, 1}},
		{"loop to entry", "48 83 c7 01 48 ff c9 75 f7 c3", 0, Options{}, want{PatchJump, 0, 7, "", true, false, 1}},
		{"loop to entry in the window", "ff cf 75 fc 89 f8 c3", 0, Options{}, want{PatchJump, 0, 6, "", false, false, 1}},
		{"loop to endbr64", "f3 0f 1e fa 48 83 c7 01 48 ff c9 75 f3 c3", 0, Options{},
			want{PatchJump, 4, 7, "", true, false, 1}},
		{"recursion is no loop", "55 48 89 e5 e8 f7 ff ff ff c9 c3", 0, Options{},
			want{PatchJump, 0, 9, "", false, false, 1}},
		{"system call", "b0 27 0f 05 c3 90 90", 2, Options{}, want{PatchTrap, 0, 2, "system call", false, false, 1}},
		{"system call behind", "b8 27 00 00 00 0f 05 c3", 0, Options{}, want{PatchJump, 0, 5, "", false, false, 1}},
		{"call in the window", "ff d0 31 c0 90 c3", 0, Options{}, want{PatchTrap, 0, 2, "a call", false, false, 1}},
		{"call ends the window", "90 e8 00 00 00 00 c3", 0, Options{}, want{PatchJump, 0, 6, "", false, false, 1}},
		{"call to the next byte", "e8 00 00 00 00 58 c3", 0, Options{}, want{PatchJump, 0, 5, "", false, false, 1}},
		{"target from elsewhere", frameless, 0, Options{Targets: []Addr{0x1001}},
			want{PatchTrap, 0, 1, "elsewhere", false, false, 1}},
		{"target elsewhere", frameless, 0, Options{Targets: []Addr{0x1000, 0x1005, 0x9000}},
			want{PatchJump, 0, 8, "", false, false, 1}},
		{"data behind", "55 48 89 e5 5d 06 06 c3", 0, Options{}, want{PatchTrap, 0, 1, "+0x5", false, false, 0}},
		{"jump table", "31 c0 89 f8 90 ff 24 c5 00 00 10 00 75 00 c3", 0, Options{},
			want{PatchTrap, 0, 2, "jump table", true, false, 1}},
		{"jump table behind a prologue", "55 48 89 e5 53 ff 24 c5 00 00 10 00 75 00 c3", 0, Options{},
			want{PatchJump, 0, 5, "", false, false, 1}},
		{"switch", "83 ff 09 77 10 ff 24 fd 00 00 10 00 c3", 0, Options{}, want{PatchJump, 0, 5, "", true, false, 1}},
		{"virtual tail call", "48 8b 07 85 f6 74 03 ff 60 10 c3", 0, Options{}, want{PatchJump, 0, 5, "", false, false, 1}},
		{"reads its return address", "48 83 ec 08 48 8b 44 24 08 48 83 c4 08 c3", 0, Options{},
			want{PatchJump, 0, 9, "", false, true, 1}},
		{"reads it by rbp", "55 48 89 e5 48 8b 45 08 5d c3", 0, Options{}, want{PatchJump, 0, 8, "", false, true, 1}},
		{"reads an argument on the stack", "48 83 ec 08 48 8b 44 24 10 48 83 c4 08 c3", 0, Options{},
			want{PatchJump, 0, 9, "", false, false, 1}},
		{"pops its return address", "5e 48 89 f0 90 ff e6", 0, Options{}, want{PatchJump, 0, 5, "", true, true, 0}},
		{"16-bit branch", "66 e9 01 00 90 90 c3", 0, Options{}, want{PatchNone, 0, 0, "16-bit", false, false, 0}},
		{"xbegin", "c7 f8 00 00 00 00 c3", 0, Options{}, want{PatchJump, 0, 6, "", false, false, 1}},
		{"reads its own code", "48 8b 05 fa ff ff ff c3", 0, Options{}, want{PatchTrap, 0, 7, "refers", false, false, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := Analyze(unhex(t, test.code), 0x1000, test.pad, test.opt)
			got := want{a.Patch, a.Off, a.Displaced, test.want.reason, a.LoopsToEntry, a.UsesReturn, len(a.Rets)}
			if a.Patch == PatchNone {
				got.size, got.rets = 0, 0
			}
			if got != test.want {
				t.Errorf("Analyze = %+v, want %+v (reason %q)", got, test.want, a.Reason)
			}
			if !strings.Contains(a.Reason, test.want.reason) || test.want.reason == "" && a.Reason != "" {
				t.Errorf("Analyze: reason %q, want one with %q", a.Reason, test.want.reason)
			}
		})
	}
}

// UsesReturn must see the functions of libc that would break below a frame of ours.
func TestUsesReturnInLibc(t *testing.T) {
	found := map[string]bool{}
	for _, f := range functions(t, systemLibrary(t, "libc.so.6")) {
		if a := Analyze(f.code, f.addr, f.pad, Options{}); a.UsesReturn {
			found[f.name] = true
		}
	}
	for _, name := range []string{"__sigsetjmp", "getcontext", "swapcontext", "dlsym", "dlopen", "vfork"} {
		if !found[name] {
			t.Errorf("Analyze(%s).UsesReturn = false, want true", name)
		}
	}
	if len(found) > 30 {
		t.Errorf("Analyze says of %d functions of libc that they use their return address: %v", len(found), found)
	}
}

// TestStubGolden compares stubs, instruction by instruction, with testdata/stubs.golden; run with -update
// to write it. The bytes are compared, objdump's text is for the reader.
func TestStubGolden(t *testing.T) {
	const addr, at, slot = 0x401000, 0x20001000, 0x20000000
	specs := []struct {
		name string
		code string
		pad  int
		addr Addr
		spec Spec
	}{
		{"call-through", frameless, 0, addr, Spec{}},
		{"call-through, 24 bytes of stack", frameless, 0, addr, Spec{StackBytes: 24}},
		{"call-through, 144 bytes of stack", frameless, 0, addr, Spec{StackBytes: 144}},
		{"call-through, 200 bytes of stack", frameless, 0, addr, Spec{StackBytes: 200}},
		{"loop to entry", "48 83 c7 01 48 ff c9 75 f7 c3", 0, addr, Spec{}},
		{"trap", "31 c0 c3", 0, addr, Spec{}},
		{"padded", "31 c0 c3 cc cc", 2, addr, Spec{}},
		{"ret 16", "48 8b 44 24 08 c2 10 00", 0, addr, Spec{}},
		{"jcc", "f3 0f 1e fa 85 ff 74 0c 31 c0 c3", 0, addr, Spec{}},
		{"jrcxz", "48 89 f9 e3 05 31 c0 c3", 0, addr, Spec{}},
		{"rip-relative with immediate", "81 3d 00 10 00 00 44 33 22 11 c3", 0, addr, Spec{}},
		{"call", "90 e8 10 00 00 00 c3", 0, addr, Spec{}},
		{"call at a high address", "90 e8 10 00 00 00 c3", 0, 0x1_2345_6000, Spec{}},
		{"call [rsp+8]", "90 ff 54 24 08 c3", 0, addr, Spec{}},
		{"enter-only", frameless, 0, addr, Spec{Kind: EnterOnly}},
		{"enter-only with displaced ret", "31 c0 c3 cc cc", 2, addr, Spec{Kind: EnterOnly, ExitSlot: slot + 8}},
		{"ret trap", frameless, 0, addr, Spec{Kind: RetTrap, Ret: 14}},
	}
	var out strings.Builder
	for _, s := range specs {
		code := unhex(t, s.code)
		a := Analyze(code, s.addr, s.pad, Options{})
		spec := s.spec
		spec.ID, spec.Code, spec.Analysis = 0x1234, code, &a
		spec.EnterSlot, spec.CopySlot = slot, slot+16
		if spec.Kind != EnterOnly {
			spec.ExitSlot = slot + 8
		}
		buf := make([]byte, MaxStub(spec))
		base := Addr(at)
		if s.addr > 1<<32 {
			base, spec.EnterSlot, spec.ExitSlot = 0x1_2000_1000, 0x1_2000_0000, 0x1_2000_0008
		}
		stub, err := WriteStub(buf, base, spec)
		if err != nil {
			t.Fatalf("WriteStub(%s): %v", s.name, err)
		}
		fmt.Fprintf(&out, "%s: %s %s\n", s.name, a.Patch, a.Reason)
		file := filepath.Join(t.TempDir(), "stub")
		if err := os.WriteFile(file, buf[:stub.Len], 0o644); err != nil {
			t.Fatal(err)
		}
		objdump(t, func(d disasm) {
			mark := map[Addr]string{stub.After: "after:", stub.Relocated: "relocated:"}[Addr(d.addr)]
			fmt.Fprintf(&out, "%10s %x\t% x\t%s\n", mark, d.addr, d.code, strings.Join(strings.Fields(d.text), " "))
		}, "-D", "-b", "binary", "-m", "i386:x86-64", "--adjust-vma="+fmt.Sprint(uint64(base)), file)
	}
	golden := filepath.Join("testdata", "stubs.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(codeOnly(string(want)), codeOnly(out.String())); diff != "" {
		t.Errorf("stubs (-want +got):\n%s", diff)
	}
}

// codeOnly drops the third column.
func codeOnly(s string) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			line = f[0] + "\t" + f[1]
		}
		out = append(out, line)
	}
	return out
}

func TestWriteStubErrors(t *testing.T) {
	code := unhex(t, "48 8b 05 00 00 00 00 c3")
	a := Analyze(code, 0x1000, 0, Options{})
	spec := Spec{Code: code, Analysis: &a, EnterSlot: 0x2000, ExitSlot: 0x2008}
	buf := make([]byte, MaxStub(spec))
	if _, err := WriteStub(buf, 0x3000, spec); err != nil {
		t.Errorf("WriteStub nearby: %v", err)
	}
	if _, err := WriteStub(buf, 0x1_8000_0000, spec); !errors.Is(err, ErrRange) {
		t.Errorf("WriteStub 6 GiB away: %v, want ErrRange", err)
	}
	if _, err := WriteStub(buf[:20], 0x3000, spec); !errors.Is(err, ErrShort) {
		t.Errorf("WriteStub into 20 bytes: %v, want ErrShort", err)
	}
	a.UsesReturn = true
	if _, err := WriteStub(buf, 0x3000, spec); !errors.Is(err, ErrNeedsEnterOnly) {
		t.Errorf("WriteStub for a function that uses its return address: %v, want ErrNeedsEnterOnly", err)
	}
	spec.Kind, spec.Ret = RetTrap, 0
	if _, err := WriteStub(buf, 0x3000, spec); err == nil {
		t.Error("WriteStub of a ret trap where there is no ret: no error")
	}
	if _, err := WriteStub(buf, 0x3000, Spec{Analysis: &Analysis{}}); err == nil {
		t.Error("WriteStub without an analysis: no error")
	}
	if _, err := JumpPatch(0x1000, 0x1_0000_0000); !errors.Is(err, ErrRange) {
		t.Errorf("JumpPatch 4 GiB away: %v, want ErrRange", err)
	}
	if p, err := JumpPatch(0x1005, 0x1000); err != nil || p != [5]byte{0xE9, 0xF6, 0xFF, 0xFF, 0xFF} {
		t.Errorf("JumpPatch(0x1005, 0x1000) = % x, %v", p, err)
	}
}

func TestEHFrame(t *testing.T) {
	b := EHFrame(0x7000_1234_5000, 0x10000)
	le := binary.LittleEndian
	cie, fde := b, b[FDEOffset:]
	if n := 4 + le.Uint32(cie); n != FDEOffset {
		t.Errorf("the CIE has %d bytes, want %d", n, FDEOffset)
	}
	if back := le.Uint32(fde[4:]); back != FDEOffset+4 {
		t.Errorf("the FDE points %d bytes back, want %d", back, FDEOffset+4)
	}
	if lo, n := le.Uint64(fde[8:]), le.Uint64(fde[16:]); lo != 0x7000_1234_5000 || n != 0x10000 {
		t.Errorf("the FDE covers %#x bytes from %#x", n, lo)
	}
	if end := FDEOffset + 4 + le.Uint32(fde); int(end)+4 != len(b) || le.Uint32(b[end:]) != 0 {
		t.Errorf("the terminator is not at %d of %d", end, len(b))
	}
}

func TestIsFragment(t *testing.T) {
	for name, want := range map[string]bool{"f": false, "f.cold": true, "f.cold.3": true, "f.part.0": false,
		"f.isra.0.cold": true, "cold": false, "f.coldness": false, "f.cold.x": false} {
		if got := IsFragment(name); got != want {
			t.Errorf("IsFragment(%q) = %v, want %v", name, got, want)
		}
	}
}

// FuzzStub analyses any bytes and writes every kind of stub for them.
func FuzzStub(f *testing.F) {
	f.Add(unhex(f, frameless), uint64(0x1000), 0, uint16(0))
	f.Add(unhex(f, "31 c0 c3 cc cc"), uint64(0x7000_0000_0000), 2, uint16(100))
	f.Add(unhex(f, "ff 14 24 90 90 e3 f8 e2 f6 c3"), uint64(0x4000), 0, uint16(300))
	f.Add(unhex(f, "75 01 75 01 75 ff c3 e8 f8 ff ff ff"), uint64(0x1000), 1, uint16(8))
	f.Fuzz(func(t *testing.T, code []byte, addr uint64, pad int, stack uint16) {
		a := Analyze(code, Addr(addr), pad, Options{})
		if (a.Patch == PatchJump) != (a.Reason == "") {
			t.Fatalf("Analyze = %v with reason %q", a.Patch, a.Reason)
		}
		if a.Patch == PatchNone {
			return
		}
		if a.Off+a.Displaced > a.Size || a.Displaced < a.PatchLen && !a.Padded {
			t.Fatalf("Analyze = %+v", a)
		}
		at := Addr(addr) + 0x10000
		for _, kind := range []Kind{CallThrough, EnterOnly, RetTrap} {
			spec := Spec{Kind: kind, ID: 7, Code: code, Analysis: &a, StackBytes: int(stack), EnterSlot: at - 64,
				ExitSlot: at - 56, CopySlot: at - 48}
			if len(a.Rets) > 0 {
				spec.Ret = a.Rets[0]
			}
			buf := make([]byte, MaxStub(spec))
			stub, err := WriteStub(buf, at, spec)
			if errors.Is(err, ErrShort) {
				t.Fatalf("MaxStub = %d is too small: %v", len(buf), err)
			}
			if err != nil {
				continue
			}
			for _, p := range stub.Map {
				if p.Copy < at || p.Copy >= at+Addr(stub.Len) {
					t.Fatalf("copy at %#x, stub at %#x of %d bytes", p.Copy, at, stub.Len)
				}
			}
			for n := 0; n < stub.Len; {
				in, err := Decode(buf[n:stub.Len])
				if err != nil {
					t.Fatalf("stub % x: %v at %d", buf[:stub.Len], err, n)
				}
				n += in.Len
			}
		}
	})
}
