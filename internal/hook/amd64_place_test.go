package hook

import (
	"errors"
	"strings"
	"testing"
)

func TestAnalyzeAt(t *testing.T) {
	tests := []struct {
		name      string
		code      string
		off, pad  int
		opt       Options
		patch     Patch
		displaced int
		reason    string
	}{
		{"the entry", frameless, 0, 0, Options{}, PatchJump, 8, ""},
		{"the entry, endbr64", "f3 0f 1e fa" + frameless, 0, 0, Options{}, PatchJump, 8, ""},
		{"one long instruction", frameless, 8, 0, Options{}, PatchJump, 5, ""},
		{"a call ends the window", frameless, 4, 0, Options{}, PatchJump, 9, ""},
		{"between instructions", frameless, 5, 0, Options{}, PatchNone, 0, "no instruction begins"},
		{"beyond", frameless, 15, 0, Options{}, PatchNone, 0, "no code"},
		{"the end, no padding", frameless, 13, 0, Options{}, PatchTrap, 1, "fewer than a jump needs"},
		{"the end with padding", "55 48 89 e5 c9 c3 90 90 90", 4, 3, Options{}, PatchJump, 2, ""},
		{"target from elsewhere", frameless, 4, 0, Options{Targets: []Addr{0x1008}}, PatchTrap, 4, "elsewhere"},
		{"loop to the place", "31 c0 48 83 c7 01 48 ff c9 75 f7 c3", 2, 0, Options{}, PatchJump, 7, ""},
		{"loop into the window", "31 c0 48 83 c7 01 48 ff c9 75 f7 c3", 0, 0, Options{}, PatchTrap, 2, "leads into"},
		{"loop of the window", "90 ff cf 75 fc 89 f8 c3", 1, 0, Options{}, PatchJump, 6, ""},
		{"a handler behind a jump", "31 c0 eb 03 48 89 c3 01 d8 c3", 2, 0, Options{}, PatchTrap, 2, "other code begins"},
		{"jump table", "83 ff 09 77 10 ff 24 fd 00 00 10 00 89 f8 01 f0 01 d0 c3", 12, 0, Options{}, PatchTrap, 2,
			"jump table"},
		{"jump table, flags", "83 ff 09 77 10 ff 24 fd 00 00 10 00 83 ff 01 75 01 90 c3", 12, 0, Options{}, PatchJump, 5, ""},
		{"system call", "b8 27 00 00 00 0f 05 c3 90 90 90 90", 5, 4, Options{}, PatchTrap, 2, "system call"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code := unhex(t, test.code)
			a := AnalyzeAt(code, 0x1000, test.off, test.pad, test.opt)
			if a.Patch != test.patch || a.Patch != PatchNone && a.Displaced != test.displaced ||
				!strings.Contains(a.Reason, test.reason) || test.reason == "" && a.Reason != "" {
				t.Fatalf("AnalyzeAt = %v, %d displaced, %q, want %v, %d, %q", a.Patch, a.Displaced, a.Reason, test.patch,
					test.displaced, test.reason)
			}
			if a.Patch == PatchNone {
				return
			}
			spec := Spec{Kind: Probe, Code: code, Analysis: &a, EnterSlot: 0x2000}
			buf := make([]byte, MaxStub(spec))
			if _, err := WriteStub(buf, 0x3000, spec); err != nil {
				t.Errorf("WriteStub(Probe): %v", err)
			}
			one, err := a.OneByte(code, "in the way")
			if err != nil || one.Patch != PatchTrap || one.PatchLen != 1 {
				t.Errorf("OneByte = %+v, %v", one, err)
			}
			spec = Spec{Kind: CopyOnly, Code: code, Analysis: &one}
			stub, err := WriteStub(buf, 0x3000, spec)
			if err != nil || stub.Relocated != 0x3000 || stub.Map[0] != (Pair{one.Site(), 0x3000}) {
				t.Errorf("WriteStub(CopyOnly) = %+v, %v", stub, err)
			}
			spec.Kind = CallThrough
			if _, err := WriteStub(buf, 0x3000, spec); err == nil {
				t.Error("WriteStub(CallThrough) of a place: no error")
			}
		})
	}
}

// A branch to the place must come by the patch again, wherever it is.
func TestPlaceLoopsByThePatch(t *testing.T) {
	code := unhex(t, "90 ff cf 75 fc 89 f8 c3") // 1: dec edi; jne 1b
	a := AnalyzeAt(code, 0x1000, 1, 0, Options{})
	buf := make([]byte, 256)
	stub, err := WriteStub(buf, 0x3000, Spec{Kind: CopyOnly, Code: code, Analysis: &a})
	if err != nil {
		t.Fatal(err)
	}
	in, err := Decode(buf[2:stub.Len])
	if to := int64(0x3002) + int64(in.Len) + in.Rel; err != nil || in.Flow != FlowCond || to != 0x1001 {
		t.Errorf("the branch goes to %#x, %v, want 0x1001", to, err)
	}
}

// A copy of what another patch has displaced goes on to that patch's copy, not to the bytes under it.
func TestPlaceUnderAnotherPatch(t *testing.T) {
	code := unhex(t, "53 48 89 fb 75 02 31 c0 5b c3") // push rbx; mov rbx,rdi; jne 8; xor eax,eax; pop rbx; ret
	moved := []Pair{{0x1001, 0x2011}, {0x1004, 0x2014}, {0x1008, 0x2020}}
	for _, test := range []struct {
		off  int
		back Addr
	}{{1, 0x2014}, {4, 0x1006}} {
		a := AnalyzeAt(code, 0x1000, test.off, 0, Options{})
		a, err := a.OneByte(code, "another patch")
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 256)
		stub, err := WriteStub(buf, 0x3000, Spec{Kind: CopyOnly, Code: code, Analysis: &a, Moved: moved})
		if err != nil {
			t.Fatal(err)
		}
		last, err := Decode(buf[stub.Len-5 : stub.Len])
		if to := int64(0x3000) + int64(stub.Len) + last.Rel; err != nil || to != int64(test.back) {
			t.Errorf("from +%d it goes on at %#x, %v, want %#x", test.off, to, err, test.back)
		}
		if first, err := Decode(buf); test.off == 4 && (err != nil || 0x3000+int64(first.Len)+first.Rel != 0x2020) {
			t.Errorf("the branch goes to %#x, %v, want 0x2020", 0x3000+int64(first.Len)+first.Rel, err)
		}
	}
}

// FuzzPlace analyses any place in any bytes and writes the stubs for it.
func FuzzPlace(f *testing.F) {
	f.Add(unhex(f, frameless), 4, 0)
	f.Add(unhex(f, "90 ff cf 75 fc 89 f8 c3"), 1, 0)
	f.Add(unhex(f, "31 c0 eb 03 48 89 c3 01 d8 c3 cc"), 9, 1)
	f.Fuzz(func(t *testing.T, code []byte, off, pad int) {
		a := AnalyzeAt(code, 0x1000, off, pad, Options{})
		if (a.Patch == PatchJump) != (a.Reason == "") {
			t.Fatalf("AnalyzeAt = %v with reason %q", a.Patch, a.Reason)
		}
		if a.Patch == PatchNone {
			return
		}
		for _, kind := range []Kind{Probe, CopyOnly} {
			spec := Spec{Kind: kind, ID: 7, Code: code, Analysis: &a, EnterSlot: 0x8000}
			buf := make([]byte, MaxStub(spec))
			if _, err := WriteStub(buf, 0x9000, spec); errors.Is(err, ErrShort) {
				t.Fatalf("MaxStub = %d is too small: %v", len(buf), err)
			}
		}
	})
}
