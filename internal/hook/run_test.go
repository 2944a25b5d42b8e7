package hook

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// corpus is one build of testdata's programs.
type corpus struct {
	bin  string
	fns  []function            // those to hook
	cold map[string][]function // their fragments
}

func compile(tb testing.TB, dir, compiler, source string, flags ...string) string {
	tb.Helper()
	strobetest.NeedTime(tb)
	strobetest.NeedCommand(tb, compiler)
	object := filepath.Join(dir, filepath.Base(source)+".o")
	args := append([]string{"-c", "-w", "-g0", "-o", object, filepath.Join("testdata", source)}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s %v: %v\n%s", compiler, args, err, out)
	}
	return object
}

func buildCorpus(tb testing.TB, cc, cxx string, flags, link []string) *corpus {
	tb.Helper()
	strobetest.NeedTime(tb)
	dir := tb.TempDir()
	objects := []string{
		compile(tb, dir, "gcc", "harness.c", "-O1", "-fPIC", "-mgeneral-regs-only"),
		compile(tb, dir, "gcc", "corpus_asm.S"),
		compile(tb, dir, "gcc", "asm_driver.c", "-O1", "-fPIC"),
		compile(tb, dir, cc, "corpus.c", append([]string{"-fPIC"}, flags...)...),
		compile(tb, dir, cxx, "corpus.cc", append([]string{"-fPIC"}, flags...)...),
	}
	c := &corpus{bin: filepath.Join(dir, "corpus"), cold: map[string][]function{}}
	args := append(append([]string{"-no-pie", "-o", c.bin}, objects...), append(link, "-lpthread", "-lm")...)
	if slices.Contains(link, high) { // the start files for position-dependent programs do not reach that far
		start := []string{"-nostartfiles"}
		for _, name := range []string{"Scrt1.o", "crti.o", "crtbeginS.o"} {
			start = append(start, startFile(tb, name))
		}
		args = append(append(start, args...), startFile(tb, "crtendS.o"), startFile(tb, "crtn.o"))
	}
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		tb.Fatalf("link: %v\n%s", err, out)
	}
	for _, f := range functions(tb, c.bin) {
		if IsFragment(f.name) {
			owner := f.name[:strings.LastIndex(f.name, ".cold")]
			c.cold[owner] = append(c.cold[owner], f)
			continue
		}
		if strings.HasPrefix(f.name, "t_") || strings.HasPrefix(f.name, "_Z") && strings.Contains(f.name, "t_") {
			c.fns = append(c.fns, f)
		}
	}
	if len(c.fns) < 90 {
		tb.Fatalf("the corpus has %d functions to hook", len(c.fns))
	}
	return c
}

// high links a program where addresses need more than 32 bits.
const high = "-Wl,-Ttext-segment=0x600000000000,--no-relax"

func startFile(tb testing.TB, name string) string {
	tb.Helper()
	strobetest.NeedTime(tb)
	out, err := exec.Command("gcc", "-print-file-name="+name).Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// stackBytes reads the _sN suffix of a function's name.
func stackBytes(name string) int {
	i := strings.LastIndex(name, "_s")
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(name[i+2:])
	if err != nil {
		return 0
	}
	return n
}

// mode is a way of hooking the corpus.
type mode struct {
	name string
	kind Kind
	trap bool // force PatchTrap
}

const slots = 5 // enter, exit, copy, enter-only, ret: as harness.c fills them

// image is what the harness installs.
type image struct {
	arena   Addr
	code    []byte
	patches []imagePatch
	by      map[Patch]int
	refused []string
}

type imagePatch struct {
	Site, Entry Addr
	Len         uint32
	Bytes       [8]byte
	_           uint32
}

func (im *image) stub(tb testing.TB, spec Spec) Stub {
	tb.Helper()
	for len(im.code)%16 != 0 {
		im.code = append(im.code, 0xCC)
	}
	spec.EnterSlot, spec.ExitSlot, spec.CopySlot = im.arena, im.arena+8, im.arena+16
	switch spec.Kind {
	case EnterOnly:
		spec.EnterSlot, spec.ExitSlot = im.arena+24, im.arena+32
	case RetTrap:
		spec.ExitSlot = im.arena + 32
	}
	buf := make([]byte, MaxStub(spec))
	stub, err := WriteStub(buf, im.arena+Addr(len(im.code)), spec)
	if err != nil {
		im.refused = append(im.refused, err.Error())
		return Stub{}
	}
	im.code = append(im.code, buf[:stub.Len]...)
	return stub
}

func (im *image) patch(tb testing.TB, site, entry Addr, kind Patch) {
	tb.Helper()
	p := imagePatch{Site: site, Entry: entry, Len: 1, Bytes: [8]byte{0xCC}}
	if kind == PatchJump {
		jump, err := JumpPatch(site, entry)
		if err != nil {
			tb.Fatal(err)
		}
		p.Len = uint32(copy(p.Bytes[:], jump[:]))
	}
	im.patches = append(im.patches, p)
}

func (c *corpus) hook(tb testing.TB, m mode, arena Addr) *image {
	tb.Helper()
	im := &image{arena: arena, code: make([]byte, slots*8), by: map[Patch]int{}}
	for id, f := range c.fns {
		var opt Options
		if m.trap {
			opt.Targets = []Addr{f.addr + 1, f.addr + 5}
		}
		a := Analyze(f.code, f.addr, f.pad, opt)
		if m.trap && a.Patch == PatchJump {
			tb.Errorf("Analyze(%s) = jump, want trap", f.name)
		}
		im.by[a.Patch]++
		spec := Spec{Kind: m.kind, ID: uint32(id), Code: f.code, Analysis: &a, StackBytes: stackBytes(f.name)}
		stub := im.stub(tb, spec)
		if stub.Len == 0 {
			continue
		}
		im.patch(tb, a.Site(), stub.Entry, a.Patch)
		if m.kind != EnterOnly {
			continue
		}
		im.rets(tb, uint32(id), f, &a, a.Off+a.PatchLen)
		for _, cold := range c.cold[f.name] {
			a := Analyze(cold.code, cold.addr, cold.pad, Options{})
			im.rets(tb, uint32(id), cold, &a, 0)
		}
	}
	slices.SortFunc(im.patches, func(a, b imagePatch) int { return int(int64(a.Site) - int64(b.Site)) })
	return im
}

func (im *image) write(tb testing.TB, path string) {
	tb.Helper()
	mapped := (len(im.code) + 4095) &^ 4095
	eh := EHFrame(im.arena, mapped)
	var b bytes.Buffer
	for _, part := range []any{uint64(im.arena), uint64(len(im.code)), uint64(mapped), uint64(len(im.patches)),
		uint64(len(eh)), im.code, im.patches, eh} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// rets traps the returns of a function from an offset on; those before it are displaced.
func (im *image) rets(tb testing.TB, id uint32, f function, a *Analysis, from int) {
	tb.Helper()
	for _, ret := range a.Rets {
		if ret < from {
			continue
		}
		stub := im.stub(tb, Spec{Kind: RetTrap, ID: id, Code: f.code, Analysis: a, Ret: ret})
		im.patch(tb, f.addr+Addr(ret), stub.Entry, PatchTrap)
	}
}

// counts is what the harness reports.
type counts struct {
	unwound, mismatches, traps    int
	enters, exits, tails          map[string]int
	totalEnters, totalExits, tail int
}

func readCounts(tb testing.TB, path string, fns []function) counts {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	c := counts{enters: map[string]int{}, exits: map[string]int{}, tails: map[string]int{}}
	for in := bufio.NewScanner(bytes.NewReader(data)); in.Scan(); {
		var key string
		var n [3]int
		fields, _ := fmt.Sscan(in.Text(), &key, &n[0], &n[1], &n[2])
		switch key {
		case "unwound":
			c.unwound = n[0]
		case "mismatches":
			c.mismatches = n[0]
		case "traps":
			c.traps = n[0]
		default:
			id, err := strconv.Atoi(key)
			if err != nil || fields != 4 {
				tb.Fatalf("counts: %q", in.Text())
			}
			name := strings.TrimSuffix(fns[id].name, ".localalias")
			c.enters[name], c.exits[name], c.tails[name] = n[0], n[1], n[2]
			c.totalEnters, c.totalExits, c.tail = c.totalEnters+n[0], c.totalExits+n[1], c.tail+n[2]
		}
	}
	return c
}

func (c *corpus) run(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.Command(c.bin, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) || err != nil {
		tb.Fatalf("corpus %v: %v\n%s%s", args, err, tailOf(out), errs.Bytes())
	}
	return string(out)
}

func tailOf(out []byte) []byte { return out[max(0, len(out)-300):] }

// hooked runs the corpus with all its functions hooked, and compares its output with plain.
func (c *corpus) hooked(t *testing.T, m mode, arena Addr, plain string) counts {
	im := c.hook(t, m, arena)
	dir := t.TempDir()
	img, cnt := filepath.Join(dir, "image"), filepath.Join(dir, "counts")
	im.write(t, img)
	if diff := cmp.Diff(plain, c.run(t, img, cnt)); diff != "" {
		t.Errorf("output changed (-unhooked +hooked):\n%s", diff)
	}
	n := readCounts(t, cnt, c.fns)
	t.Logf("%d functions (%d jump, %d trap), %d enters (%d tail calls), %d exits, %d unwound, %d traps; refused: %q",
		len(c.fns), im.by[PatchJump], im.by[PatchTrap], n.totalEnters, n.tail, n.totalExits, n.unwound, n.traps, im.refused)
	if want := map[Kind]int{EnterOnly: 1}[m.kind]; len(im.refused) != want {
		t.Errorf("%d stubs refused, want %d", len(im.refused), want)
	}
	return n
}

// TestRun runs real programs with every function hooked in every way, with a stand-in for the
// agent, and compares what they print with what they print unhooked.
func TestRun(t *testing.T) {
	type build struct {
		name    string
		cc, cxx string
		flags   string
		link    string
		arena   Addr
	}
	const near = 0x20000000
	builds := []build{
		{"gcc -O2", "gcc", "g++", "-O2", "", near},
		{"gcc -O0 -fcf-protection", "gcc", "g++", "-O0 -fcf-protection", "", near},
		{"clang -O2 high", "clang", "clang++", "-O2", high, 0x600020000000},
		{"gcc -O1", "gcc", "g++", "-O1", "", near},
		{"gcc -O3 -march=haswell", "gcc", "g++", "-O3 -march=haswell", "", near},
		{"gcc -Os -fno-omit-frame-pointer", "gcc", "g++", "-Os -fno-omit-frame-pointer", "", near},
		{"gcc -O2 -fcf-protection high", "gcc", "g++", "-O2 -fcf-protection", high, 0x5FFFD0000000},
		{"clang -O0", "clang", "clang++", "-O0", "", near},
		{"clang -O3 -fcf-protection", "clang", "clang++", "-O3 -fcf-protection", "", near},
	}
	if !strobetest.Soaks(t, "six of nine builds") {
		builds = builds[:3]
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			c := buildCorpus(t, b.cc, b.cxx, strings.Fields(b.flags), strings.Fields(b.link))
			plain := c.run(t)
			var jump, trap counts
			t.Run("jump", func(t *testing.T) {
				jump = c.hooked(t, mode{kind: CallThrough}, b.arena, plain)
				jump.balanced(t)
			})
			t.Run("trap", func(t *testing.T) {
				trap = c.hooked(t, mode{kind: CallThrough, trap: true}, b.arena, plain)
				trap.balanced(t)
				if diff := cmp.Diff(jump.enters, trap.enters); diff != "" {
					t.Errorf("other calls than with jumps:\n%s", diff)
				}
			})
			t.Run("enter-only", func(t *testing.T) {
				n := c.hooked(t, mode{kind: EnterOnly}, b.arena, plain)
				for _, name := range []string{"t_leaf", "t_asm_one", "t_asm_tight", "t_switch", "t_asm_retpop_s16"} {
					if n.enters[name] != jump.enters[name] || n.exits[name] != n.enters[name] {
						t.Errorf("%s: %d enters, %d exits, want %d", name, n.enters[name], n.exits[name], jump.enters[name])
					}
				}
			})
		})
	}
}

func (n *counts) balanced(t *testing.T) {
	t.Helper()
	if n.mismatches != 0 || n.totalEnters != n.totalExits+n.tail+n.unwound {
		t.Errorf("%d enters, %d tail calls, %d exits, %d unwound, %d exits without an enter", n.totalEnters, n.tail,
			n.totalExits, n.unwound, n.mismatches)
	}
	for name, want := range map[string]int{"t_switch": 9, "t_asm_loopentry": 1, "t_asm_selfloop": 1, "t_asm_interior": 1,
		"t_asm_one": 1, "t_vsum_s2048": 1, "t_seven_s8": 1, "t_asm_regs": 1} {
		if n.enters[name] != want {
			t.Errorf("%s was entered %d times, want %d", name, n.enters[name], want)
		}
	}
}
