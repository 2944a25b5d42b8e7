package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// moved is a displaced instruction, and the code that does its work in a stub.
type moved struct {
	name string
	orig Pair
	in   Inst
	next Addr // address behind the original
}

// TestRelocateSystemLibraries writes a stub for every function of large libraries and has objdump
// read both the original instructions and the copies: they must be the same instructions with the
// same targets.
func TestRelocateSystemLibraries(t *testing.T) {
	check := func(name string, file func(t *testing.T) string) {
		t.Run(name, func(t *testing.T) { relocateAll(t, file(t)) })
	}
	check("libc", func(t *testing.T) string { return systemLibrary(t, "libc.so.6") })
	check("libstdc++", func(t *testing.T) string { return systemLibrary(t, "libstdc++.so.6") })
	check("rust", func(t *testing.T) string { return build(t, "main.rs", rustSource, "rustc", "-Cdebuginfo=0") })
	if !testing.Short() {
		check("libcrypto", func(t *testing.T) string { return systemLibrary(t, "libcrypto.so.3") })
	}
}

func relocateAll(t *testing.T, path string) {
	const arena = 0x40000000
	spec := Spec{Kind: CallThrough, EnterSlot: arena, ExitSlot: arena + 8, CopySlot: arena + 16}
	code := make([]byte, 32)
	var all []moved
	refused := 0
	for i, f := range functions(t, path) {
		a := Analyze(f.code, f.addr, f.pad, Options{})
		if a.Patch == PatchNone {
			t.Errorf("%s: no patch: %s", f.name, a.Reason)
			continue
		}
		spec.ID, spec.Code, spec.Analysis, spec.StackBytes = uint32(i), f.code, &a, i%300
		buf := make([]byte, MaxStub(spec))
		stub, err := WriteStub(buf, arena+Addr(len(code)), spec)
		if errors.Is(err, ErrNeedsEnterOnly) {
			refused++
			continue
		}
		if err != nil {
			t.Errorf("WriteStub(%s): %v", f.name, err)
			continue
		}
		all = append(all, collect(&f, &stub)...)
		code = append(code, buf[:stub.Len]...)
	}
	file := filepath.Join(t.TempDir(), "arena")
	if err := os.WriteFile(file, code, 0o644); err != nil {
		t.Fatal(err)
	}
	copies := map[Addr]disasm{}
	objdump(t, func(d disasm) { copies[Addr(d.addr)] = d }, "-D", "-b", "binary", "-m", "i386:x86-64", "--adjust-vma="+
		strconv.Itoa(arena), file)
	wanted := map[Addr]*moved{}
	for i := range all {
		wanted[all[i].orig.Orig] = &all[i]
	}
	compared, bad := 0, 0
	objdump(t, func(d disasm) {
		m := wanted[Addr(d.addr)]
		if m == nil {
			return
		}
		compared++
		if why := m.compare(d, copies); why != "" {
			if bad++; bad <= 20 {
				t.Errorf("%s: %s at %#x: %s", m.name, d.text, d.addr, why)
			}
		}
	}, path)
	t.Logf("%d displaced instructions, %d compared, %d differ; %d functions refused", len(all), compared, bad, refused)
	if compared != len(wanted) {
		t.Errorf("%d instructions compared, want %d", compared, len(wanted))
	}
}

func collect(f *function, stub *Stub) []moved {
	var out []moved
	for _, p := range stub.Map {
		off := int(p.Orig - f.addr)
		if off >= len(f.code)-f.pad || off > 0 && p == stub.Map[len(stub.Map)-1] && len(stub.Map) > 1 && isBack(f, stub) {
			continue // the jump back, checked by running it
		}
		in, err := Decode(f.code[off:])
		if err != nil {
			continue
		}
		out = append(out, moved{name: f.name, orig: p, in: in, next: p.Orig + Addr(in.Len)})
	}
	return out
}

// isBack reports whether the last pair of a stub's map is the way back.
func isBack(f *function, stub *Stub) bool {
	last := stub.Map[len(stub.Map)-2]
	in, err := Decode(f.code[last.Orig-f.addr:])
	return err == nil && in.Flow.FallsThrough() && in.Flow != FlowCall && in.Flow != FlowCallIndirect
}

var (
	symbolText = regexp.MustCompile(`\s*<[^>]*>`)
	ripText    = regexp.MustCompile(`-?(0x)?[0-9a-f]+\(%rip\)`)
	padding    = regexp.MustCompile(`\s+`)
	hexTarget  = regexp.MustCompile(`# (?:0x)?([0-9a-f]+)`)
)

// normal reduces objdump's text to the instruction and the absolute target of a RIP-relative operand.
func normal(text string) string {
	text = symbolText.ReplaceAllString(text, "")
	target := ""
	if m := hexTarget.FindStringSubmatch(text); m != nil {
		target = " target " + m[1]
	}
	text, _, _ = strings.Cut(text, "#")
	text = ripText.ReplaceAllString(text, "(%rip)")
	return strings.TrimSpace(padding.ReplaceAllString(text, " ")) + target
}

// compare says how the copy differs from the original, or "".
func (m *moved) compare(orig disasm, copies map[Addr]disasm) string {
	at := m.orig.Copy
	got, ok := copies[at]
	if !ok {
		return "objdump saw no instruction at the copy"
	}
	switch m.in.Flow {
	case FlowCall, FlowCallIndirect: // a call over ud2, its return address replaced by the original's, then jmp
		for _, want := range []string{
			fmt.Sprintf("call 0x%x", at+7), "ud2", fmt.Sprintf("movl $0x%x,(%%rsp)", uint32(m.next)),
			fmt.Sprintf("movl $0x%x,0x4(%%rsp)", uint64(m.next)>>32),
		} {
			if normal(got.text) != want {
				return "the copy is " + got.text + ", want " + want
			}
			at += Addr(len(got.code))
			got = copies[at]
		}
		want := strings.Replace(normal(orig.text), "call", "jmp", 1)
		if m.in.Flow == FlowCall {
			return m.target(got, "jmp")
		}
		if normal(got.text) != want {
			return "the copy is " + got.text
		}
		return ""
	case FlowJump, FlowCond:
		name, _, _ := strings.Cut(strings.TrimPrefix(orig.text, "bnd "), " ")
		return m.target(got, strings.TrimSuffix(strings.TrimSuffix(name, ",pt"), ",pn"))
	}
	if a, b := normal(orig.text), normal(got.text); a != b {
		return "the copy is " + got.text
	}
	return ""
}

// target checks a direct branch of the copy, which may lead to another copy.
func (m *moved) target(got disasm, name string) string {
	in, err := Decode(got.code)
	if err != nil || !strings.HasPrefix(got.text, name+" ") {
		return "the copy is " + got.text
	}
	want := m.next + Addr(m.in.Rel)
	to := Addr(got.addr) + Addr(in.Len) + Addr(in.Rel)
	if to != want && (want > m.next || m.next-want > 24) && (want < m.next || want-m.next > 24) {
		return "the copy leads to " + strconv.FormatUint(uint64(to), 16)
	}
	return ""
}

// BenchmarkHook analyses a function of libc and writes its stub.
func BenchmarkHook(b *testing.B) {
	fns := functions(b, systemLibrary(b, "libc.so.6"))
	spec := Spec{Kind: CallThrough, EnterSlot: 0x40000000, ExitSlot: 0x40000008, CopySlot: 0x40000010}
	buf := make([]byte, 1024)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		f := &fns[i%len(fns)]
		i++
		a := Analyze(f.code, f.addr, f.pad, Options{})
		spec.Code, spec.Analysis = f.code, &a
		if _, err := WriteStub(buf, 0x40001000, spec); err != nil && !errors.Is(err, ErrNeedsEnterOnly) {
			b.Fatal(err)
		}
	}
}
