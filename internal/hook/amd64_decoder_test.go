package hook

import (
	"bufio"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// disasm is one line of objdump's output.
type disasm struct {
	addr uint64
	code []byte
	text string // mnemonic and operands, with comments and symbols
}

// objdump streams objdump's disassembly of a file's executable sections, or of .text only where
// section is set, to visit.
func objdump(tb testing.TB, visit func(disasm), args ...string) {
	tb.Helper()
	strobetest.NeedTime(tb)
	cmd := exec.Command("objdump", append([]string{"-d", "-w", "-z"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if d, ok := parseDisasm(line); ok {
			visit(d)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		tb.Fatalf("objdump %v: %v", args, err)
	}
}

func parseDisasm(line string) (disasm, bool) {
	addr, rest, ok := strings.Cut(line, ":\t")
	if !ok {
		return disasm{}, false
	}
	a, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64)
	if err != nil {
		return disasm{}, false
	}
	raw, text, _ := strings.Cut(rest, "\t")
	code, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(raw), " ", ""))
	if err != nil || len(code) == 0 {
		return disasm{}, false
	}
	return disasm{a, code, strings.TrimSpace(text)}, true
}

// buildOnce compiles source with a compiler into a file that lives as long as the test.
func build(tb testing.TB, name, source string, compiler ...string) string {
	tb.Helper()
	strobetest.NeedTime(tb)
	strobetest.NeedCommand(tb, compiler[0])
	dir := tb.TempDir()
	src := filepath.Join(dir, name)
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		tb.Fatal(err)
	}
	bin := filepath.Join(dir, "out")
	args := append(compiler[1:len(compiler):len(compiler)], "-o", bin, src)
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", compiler[0], err, out)
	}
	return bin
}

const rustSource = `
use std::collections::HashMap;
fn main() {
    let mut m: HashMap<String, Vec<f64>> = HashMap::new();
    for w in std::env::args() { m.entry(w).or_default().push(1.5); }
    println!("{:?}", m);
}`

// systemLibrary returns the path of a shared library, or skips.
func systemLibrary(tb testing.TB, names ...string) string {
	tb.Helper()
	for _, name := range names {
		for _, dir := range []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
			"/usr/lib"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return filepath.Join(dir, name)
			}
		}
	}
	strobetest.Lack(tb, "none of %v is installed", names)
	return ""
}

// lengthCheck compares Decode with objdump, instruction by instruction.
type lengthCheck struct {
	t      *testing.T
	total  int
	bad    int // objdump could not decode it: data in the text, compared with nothing
	fwait  int // objdump prints fwait and the x87 instruction after it as one
	prefix int // objdump prints a useless prefix as a line of its own
	diffs  int
}

func (c *lengthCheck) visit(d disasm) {
	c.total++
	if strings.Contains(d.text, "(bad)") || strings.Contains(d.text, "%?") || strings.HasPrefix(d.text, ".byte") {
		c.bad++
		return
	}
	code := d.code
	for i, b := range code {
		if b == 0x9B && i+1 < len(code) && loneprefix(code[:i]) {
			c.fwait++
			code = code[i+1:]
			break
		}
		if oneByteMap[b] != 'p' {
			break
		}
	}
	if loneprefix(code) {
		c.prefix++
		return
	}
	in, err := Decode(code)
	if err != nil || in.Len != len(code) {
		if c.diffs++; c.diffs <= 20 {
			c.t.Errorf("Decode(% x) = %d, %v; objdump: %d, %s at %#x", code, in.Len, err, len(code), d.text, d.addr)
		}
		return
	}
	c.checkTarget(d, in)
}

// checkTarget compares branch targets and RIP-relative operands with what objdump prints.
func (c *lengthCheck) checkTarget(d disasm, in Inst) {
	end := d.addr + uint64(len(d.code))
	var want uint64
	switch {
	case in.RelSize > 0:
		if want = end + uint64(in.Rel); in.RelSize == 2 { // objdump follows AMD, which cuts RIP to 16 bits
			want &= 0xFFFF
		}
	case in.RIPRel && in.Pfx&PfxAddrSize == 0:
		want = end + uint64(int64(in.Disp))
	default:
		return
	}
	if !strings.Contains(d.text, strconv.FormatUint(want, 16)) {
		if c.diffs++; c.diffs <= 20 {
			c.t.Errorf("Decode(% x) at %#x has target %#x; objdump: %s", d.code, d.addr, want, d.text)
		}
	}
}

// loneprefix reports whether code is nothing but prefixes.
func loneprefix(code []byte) bool {
	for _, b := range code { // of none, too
		if oneByteMap[b] != 'p' {
			return false
		}
	}
	return true
}

func TestDecodeLikeObjdump(t *testing.T) {
	check := func(name string, file func(t *testing.T) string) {
		t.Run(name, func(t *testing.T) {
			c := lengthCheck{t: t}
			objdump(t, c.visit, "-j", ".text", file(t))
			t.Logf("%d instructions, %d differences; objdump could not decode %d, merged %d fwait, printed %d lone prefixes",
				c.total, c.diffs, c.bad, c.fwait, c.prefix)
		})
	}
	check("libc", func(t *testing.T) string { return systemLibrary(t, "libc.so.6") })
	check("libcrypto", func(t *testing.T) string { return systemLibrary(t, "libcrypto.so.3") })
	check("libstdc++", func(t *testing.T) string { return systemLibrary(t, "libstdc++.so.6") })
	check("libm", func(t *testing.T) string { return systemLibrary(t, "libm.so.6") })
	check("rust", func(t *testing.T) string {
		return build(t, "main.rs", rustSource, "rustc", "-Cdebuginfo=0")
	})
	if more := os.Getenv("STROBE_DEBUG_HOOK_FILES"); more != "" {
		for _, file := range strings.Split(more, ":") {
			check(filepath.Base(file), func(*testing.T) string { return file })
		}
	}
}

// Every opcode in every map with every ModRM, as objdump sees it when it is the only
// instruction in a stretch of nops.
func TestDecodeEveryOpcode(t *testing.T) {
	prefixes := [][]byte{{}, {0x66}, {0xF2}, {0xF3}, {0x48}, {0x66, 0x48}, {0x67}, {0x0F}, {0x66, 0x0F}, {0xF2, 0x0F},
		{0xF3, 0x0F},
		{0x0F, 0x38}, {0x66, 0x0F, 0x38}, {0x0F, 0x3A}, {0x66, 0x0F, 0x3A},
		{0xC5, 0xF8}, {0xC5, 0xF9}, {0xC4, 0xE2, 0x79}, {0xC4, 0xE2, 0xF9}, {0xC4, 0xE3, 0x79}, {0xC4, 0xE3, 0xF9},
		{0xC4, 0xE3, 0x7D}, {0xC4, 0xE2, 0x7D},
		{0x62, 0xF1, 0x7C, 0x48}, {0x62, 0xF1, 0x7D, 0x48}, {0x62, 0xF1, 0xFD, 0x48}, {0x62, 0xF2, 0x7D, 0x48},
		{0x62, 0xF3, 0x7D, 0x48}, {0x62, 0xF5, 0x7C, 0x48}, {0x62, 0xF6, 0x7D, 0x48},
		{0x8F, 0xE8, 0x78}, {0x8F, 0xE9, 0x78}, {0x8F, 0xEA, 0x78}}
	modrms := []byte{0x00, 0x04, 0x05, 0x0C, 0x14, 0x1D, 0x25, 0x3C, 0x44, 0x4D, 0x55, 0x7C, 0x84, 0x8D, 0x94, 0xB5, 0xC0,
		0xC8, 0xD0, 0xD9, 0xE4, 0xEF, 0xF8, 0xFF}
	const slot = 32
	var image []byte
	for _, prefix := range prefixes {
		for op := range 256 {
			for _, modrm := range modrms {
				code := append(append([]byte(nil), prefix...), byte(op), modrm, 0x25, 1, 2, 3, 4, 5, 6, 7, 8, 9)
				for len(code) < slot {
					code = append(code, 0x90)
				}
				image = append(image, code...)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(file, image, 0o644); err != nil {
		t.Fatal(err)
	}
	c := lengthCheck{t: t}
	compared := 0
	objdump(t, func(d disasm) {
		if d.addr%slot != 0 {
			return
		}
		compared++
		c.visit(d)
	}, "-D", "-b", "binary", "-m", "i386:x86-64", file)
	t.Logf("%d slots, %d compared, %d not decoded by objdump, %d fwait, %d lone prefixes, %d differences", len(image)/slot,
		compared, c.bad, c.fwait, c.prefix, c.diffs)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x55})
	f.Add([]byte{0x62, 0xF3, 0x7D, 0x48, 0x03, 0x05, 1, 2, 3, 4, 5})
	f.Add([]byte{0x66, 0x66, 0x48, 0xE8, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, code []byte) {
		in, err := Decode(code)
		if err != nil {
			return
		}
		if in.Len < 1 || in.Len > len(code) || in.Len > maxInstLen {
			t.Fatalf("Decode(% x) has length %d", code, in.Len)
		}
		for _, part := range [][2]int{{in.DispOff, in.DispSize}, {in.ImmOff, in.ImmSize}, {in.RelOff, in.RelSize}} {
			if part[0]+part[1] > in.Len {
				t.Fatalf("Decode(% x) has a part at %v, length %d", code, part, in.Len)
			}
		}
		again, err := Decode(code[:in.Len])
		if err != nil || again != in {
			t.Fatalf("Decode(% x) depends on the bytes behind it", code)
		}
	})
}
