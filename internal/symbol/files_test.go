package symbol

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/strobe-debug/strobe/internal/fault"
)

func copyFile(t testing.TB, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// wantDebug checks that m has parameters although its file is stripped.
func wantDebug(t *testing.T, m *Module) {
	t.Helper()
	if !m.HasDWARF || m.DebugPath == "" {
		t.Fatalf("HasDWARF=%v DebugPath=%q, problems %q", m.HasDWARF, m.DebugPath, m.Problems())
	}
	if s, err := m.Signature(one(t, m, "sum_list")); err != nil || len(s.Params) != 1 {
		t.Errorf("Signature = %+v, %v", s, err)
	}
	if _, line, ok := m.LineFor(one(t, m, "sum_list").Low); !ok || line != 14 {
		t.Errorf("LineFor = %d, %v, want 14", line, ok)
	}
}

func TestSeparateDebugFiles(t *testing.T) {
	src := build(t, "values.c", "gcc", "-g", "-O0")
	none := []string{}
	setup := func(t *testing.T) (dir, prog, debug string) {
		dir = t.TempDir()
		prog = copyFile(t, src, filepath.Join(dir, "prog"))
		debug = filepath.Join(dir, "prog.debug")
		run(t, "objcopy", "--only-keep-debug", prog, debug)
		run(t, "strip", prog)
		return dir, prog, debug
	}
	t.Run("stripped", func(t *testing.T) {
		_, prog, _ := setup(t)
		m := open(t, prog, Options{DebugDirs: none})
		if m.HasDWARF || len(m.Problems()) > 0 {
			t.Errorf("HasDWARF=%v, %q", m.HasDWARF, m.Problems())
		}
	})
	t.Run("debuglink", func(t *testing.T) {
		dir, prog, debug := setup(t)
		run(t, "objcopy", "--add-gnu-debuglink="+debug, prog)
		wantDebug(t, open(t, prog, Options{DebugDirs: none}))
		sub := filepath.Join(dir, ".debug")
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(debug, filepath.Join(sub, "prog.debug")); err != nil {
			t.Fatal(err)
		}
		wantDebug(t, open(t, prog, Options{DebugDirs: none}))
		// The right name with other contents is refused.
		moved := filepath.Join(sub, "prog.debug")
		b, err := os.ReadFile(moved)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1] ^= 1
		if err := os.WriteFile(moved, b, 0o644); err != nil {
			t.Fatal(err)
		}
		m := open(t, prog, Options{DebugDirs: none})
		if m.HasDWARF || !strings.Contains(strings.Join(m.Problems(), " "), "checksum") {
			t.Errorf("a debug file with a wrong checksum is used: %q", m.Problems())
		}
	})
	t.Run("build-id", func(t *testing.T) {
		dir, prog, debug := setup(t)
		id := open(t, prog, Options{DebugDirs: none}).BuildID
		global := filepath.Join(dir, "global")
		at := filepath.Join(global, ".build-id", id[:2])
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(debug, filepath.Join(at, id[2:]+".debug")); err != nil {
			t.Fatal(err)
		}
		wantDebug(t, open(t, prog, Options{DebugDirs: []string{global}}))
		wantDebug(t, open(t, prog, Options{DebugDirs: none, SymbolsPath: global}))
	})
	t.Run("symbolsPath", func(t *testing.T) {
		dir, prog, debug := setup(t)
		wantDebug(t, open(t, prog, Options{DebugDirs: none, SymbolsPath: debug}))
		wantDebug(t, open(t, prog, Options{DebugDirs: none, SymbolsPath: dir}))
		other := filepath.Join(dir, "other.debug")
		run(t, "objcopy", "--only-keep-debug", build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"), other)
		m := open(t, prog, Options{DebugDirs: none, SymbolsPath: other})
		if m.HasDWARF || !strings.Contains(strings.Join(m.Problems(), " "), "build-id") {
			t.Errorf("the debug file of another program is used: %q", m.Problems())
		}
		m = open(t, prog, Options{DebugDirs: none, SymbolsPath: filepath.Join(dir, "nothing")})
		if len(m.Problems()) == 0 {
			t.Error("a symbolsPath that does not exist is not reported")
		}
	})
	t.Run("zstd", func(t *testing.T) {
		_, _, debug := setup(t)
		b, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		packed := debug + ".zst"
		run(t, "objcopy", "--compress-debug-sections=zstd", src, packed)
		if st, err := os.Stat(packed); err != nil || st.Size() >= int64(len(b)) {
			t.Fatalf("objcopy did not compress: %v", err)
		}
		m := open(t, packed, Options{DebugDirs: none})
		if _, err := m.Signature(one(t, m, "sum_list")); err != nil {
			t.Error(err)
		}
	})
}

func TestMissingDwo(t *testing.T) {
	src := build(t, "shapes.cc", "g++", "-gdwarf-5", "-gsplit-dwarf", "-O0", "-DMISSING")
	dwos, err := filepath.Glob(filepath.Join(filepath.Dir(src), "*.dwo"))
	if err != nil || len(dwos) == 0 {
		t.Fatalf("no .dwo files: %v", err)
	}
	for _, f := range dwos {
		if err := os.Rename(f, f+".away"); err != nil {
			t.Fatal(err)
		}
	}
	m := open(t, src, Options{CacheDir: t.TempDir()})
	if p := m.Problems(); len(p) != 1 || !strings.Contains(p[0], ".dwo") {
		t.Errorf("Problems = %q", p)
	}
	if len(byName(m, "geo::by_value")) != 1 {
		t.Error("the ELF symbols are lost")
	}
	for _, f := range dwos {
		if err := os.Rename(f+".away", f); err != nil {
			t.Fatal(err)
		}
	}
	if m := open(t, src, Options{CacheDir: t.TempDir()}); !one(t, m, "geo::by_value").HasDWARF {
		t.Error("still without debug information")
	}
}

func TestCache(t *testing.T) {
	src := build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0")
	dir := t.TempDir()
	first := open(t, src, Options{CacheDir: dir})
	second := open(t, src, Options{CacheDir: dir})
	if first.FromCache || !second.FromCache {
		t.Fatalf("FromCache = %v, %v", first.FromCache, second.FromCache)
	}
	opt := cmp.Options{cmp.AllowUnexported(Function{}, ghost{}, typeRec{}, index{}), cmpopts.EquateEmpty()}
	if d := cmp.Diff(first.ix, second.ix, opt); d != "" {
		t.Errorf("the cached index differs:\n%s", d)
	}
	a, err1 := first.Signature(one(t, first, "geo::by_ref"))
	b, err2 := second.Signature(one(t, second, "geo::by_ref"))
	if err1 != nil || err2 != nil || describe(a) != describe(b) {
		t.Errorf("signatures differ: %v %v", err1, err2)
	}
	if first.HasDWARF != second.HasDWARF || first.Compiler != second.Compiler || first.Language != second.Language {
		t.Error("module properties differ")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || !strings.HasPrefix(files[0].Name(), first.BuildID) {
		t.Fatalf("cache files: %v, %v", files, err)
	}
	path := filepath.Join(dir, files[0].Name())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "flipped": flip(good, len(good)-3),
		"version": flip(good, 7)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t, src, Options{CacheDir: dir})
		if m.FromCache || len(m.Functions()) != len(first.Functions()) {
			t.Errorf("%s cache file is used", name)
		}
		if got, err := os.ReadFile(path); err != nil || len(got) != len(good) {
			t.Errorf("%s cache file is not replaced: %v", name, err)
		}
	}
	// A stripped copy has the same build-id and must not share the index.
	stripped := copyFile(t, src, filepath.Join(t.TempDir(), "prog"))
	run(t, "strip", stripped)
	if m := open(t, stripped, Options{CacheDir: dir, DebugDirs: []string{}}); m.HasDWARF || m.FromCache {
		t.Errorf("stripped copy: HasDWARF=%v FromCache=%v", m.HasDWARF, m.FromCache)
	}
	if os.Getuid() != 0 {
		t.Log("read-only cache directory not tested by root")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := open(t, src, Options{CacheDir: filepath.Join(file, "sub")}); len(m.Problems()) != 1 ||
		len(m.Functions()) == 0 {
		t.Errorf("with an impossible cache directory: %q", m.Problems())
	}
}

func flip(b []byte, at int) []byte {
	c := append([]byte(nil), b...)
	c[at] ^= 0x40
	return c
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(build(t, "values.c", "gcc", "-g", "-O0"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, v ...byte) []byte {
		c := append([]byte(nil), good...)
		copy(c[at:], v)
		return c
	}
	tests := []struct {
		name string
		data []byte
		code fault.Code
		text string
	}{
		{"empty", nil, fault.LaunchFailed, "not an ELF"},
		{"script", []byte("#!/bin/sh\n" + strings.Repeat("echo hello\n", 20)), fault.LaunchFailed, "not an ELF"},
		{"32-bit", change(4, 1), fault.Unsupported, "32-bit"},
		{"big-endian", change(5, 2), fault.Unsupported, "big-endian"},
		{"aarch64", change(18, 183, 0), fault.Unsupported, "another machine"},
		{"object", change(16, 1, 0), fault.LaunchFailed, "not a program"},
		{"cut", good[:100], fault.LaunchFailed, "truncated"},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, tt.data, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, Options{})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != tt.code || f.Hint == "" || !strings.Contains(f.Msg, tt.text) {
			t.Errorf("Open(%s) = %v, want %s with %q", tt.name, err, tt.code, tt.text)
		}
	}
	for _, path := range []string{filepath.Join(dir, "missing"), dir} {
		if _, err := Open(path, Options{}); fault.CodeOf(err) != fault.LaunchFailed {
			t.Errorf("Open(%s) = %v", path, err)
		}
	}
}

// TestTruncatedSections keeps what is before the cut.
func TestTruncatedSections(t *testing.T) {
	good, err := os.ReadFile(build(t, "values.c", "gcc", "-g", "-O0"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, good[:len(good)-1000], 0o755); err != nil {
		t.Fatal(err)
	}
	m := open(t, path, Options{DebugDirs: []string{}})
	if len(m.Problems()) == 0 || len(m.Segments()) == 0 {
		t.Errorf("Problems = %q", m.Problems())
	}
}

func TestDamagedDWARFKeepsSymbols(t *testing.T) {
	src := build(t, "values.c", "gcc", "-gdwarf-5", "-O0")
	m := open(t, src, Options{})
	want := len(m.Functions())
	good, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"} {
		s := m.im.sects[m.im.find(name)]
		bad := append([]byte(nil), good...)
		for i := s.off; i < s.off+s.size; i += 3 {
			bad[i] = 0xff
		}
		path := filepath.Join(t.TempDir(), "prog")
		if err := os.WriteFile(path, bad, 0o755); err != nil {
			t.Fatal(err)
		}
		d := open(t, path, Options{})
		if len(d.Functions()) < want {
			t.Errorf("%s damaged: %d functions, want %d", name, len(d.Functions()), want)
		}
		if len(d.Problems()) == 0 && name == ".debug_info" {
			t.Errorf("%s damaged: no problem reported", name)
		}
	}
}

func TestFileTruncatedWhileOpen(t *testing.T) {
	path := copyFile(t, build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"), filepath.Join(t.TempDir(), "prog"))
	m := open(t, path, Options{})
	f := one(t, m, "geo::by_value")
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Signature(f); err == nil {
		t.Error("Signature of a truncated file succeeds")
	}
	if _, err := m.Code(f); err == nil {
		t.Error("Code of a truncated file succeeds")
	}
	m.LineFor(f.Low)
	m.EntryRule(f.Low)
	m.Symbol("main")
}

func TestClosedModule(t *testing.T) {
	m := open(t, build(t, "values.c", "gcc", "-g", "-O2"), Options{})
	f := one(t, m, "sum_list")
	s, err := m.Signature(f)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if _, err := m.Signature(f); !errors.Is(err, errClosed) {
		t.Errorf("Signature after Close = %v", err)
	}
	s.Params[0].Type.Strip().Elem().Fields()
	m.Symbol("main")
	m.Close()
}

func TestEntryRule(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2", "-fno-asynchronous-unwind-tables"},
		{"-g", "-O2", "-static"}} {
		m := open(t, build(t, "values.c", "gcc", flags...), Options{})
		for _, name := range []string{"main", "sum_list", "sum", "die"} {
			f := one(t, m, name)
			r := m.EntryRule(f.Low)
			if !r.Known || !r.CallFrame || r.RAUndefined || r.Signal || r.Start != f.Low || r.CFAOffset != 8 {
				t.Errorf("%v: %s: %+v", flags, name, r)
			}
			if in := m.EntryRule(f.Low + 8); name == "main" && in.Known && in.CallFrame {
				t.Errorf("%v: main+8: %+v, want another frame", flags, in)
			}
		}
		if r := m.EntryRule(one(t, m, "_start").Low); r.Known && !r.RAUndefined {
			t.Errorf("%v: _start: %+v, want an undefined return address", flags, r)
		}
	}
	if m := open(t, build(t, "values.c", "gcc", "-g", "-O2", "-static"), Options{}); true {
		signals := 0
		for _, f := range m.Functions() {
			if m.EntryRule(f.Low).Signal {
				signals++
			}
		}
		if signals == 0 {
			t.Error("no signal frame (__restore_rt) in a static program")
		}
		if r := m.EntryRule(1); r.Known {
			t.Errorf("EntryRule(1) = %+v", r)
		}
	}
}

// FuzzOpen damages real programs: edits are records of a position (4 bytes) and a value (1 byte).
func FuzzOpen(f *testing.F) {
	var programs [][]byte
	for i, flags := range [][]string{{"gcc", "-gdwarf-4", "-O2"}, {"gcc", "-gdwarf-5", "-O0"},
		{"gcc", "-gdwarf-5", "-O2", "-gz"}} {
		b, err := os.ReadFile(build(f, "values.c", flags[0], flags[1:]...))
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, b)
		f.Add(uint8(i), []byte{0, 0x30, 0, 0, 0xff})
		f.Add(uint8(i), []byte{0, 0x31, 0, 0, 0x80, 0x10, 0x33, 0, 0, 0x7f})
		f.Add(uint8(i), []byte{40, 0, 0, 0, 0xff, 60, 0, 0, 0, 0xff})
	}
	f.Fuzz(func(t *testing.T, program uint8, edits []byte) {
		b := append([]byte(nil), programs[int(program)%len(programs)]...)
		for ; len(edits) >= 5; edits = edits[5:] {
			b[binary.LittleEndian.Uint32(edits)%uint32(len(b))] = edits[4]
		}
		path := filepath.Join(t.TempDir(), "prog")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		defer m.Close()
		walk(m, 40)
	})
}

// walk uses everything a module offers on its first functions.
func walk(m *Module, limit int) {
	n := 0
	for i := range m.Functions() {
		f := &m.Functions()[i]
		if n++; n > limit {
			break
		}
		m.EntryRule(f.Low)
		m.LineFor(f.Low)
		s, err := m.Signature(f)
		if err != nil {
			continue
		}
		seen := map[*Type]bool{}
		walkType(s.Return, seen)
		for _, p := range s.Params {
			walkType(p.Type, seen)
		}
	}
	m.Problems()
	m.TextRange()
	m.Symbol("main")
}

func walkType(t *Type, seen map[*Type]bool) {
	if t == nil || seen[t] || len(seen) > 500 {
		return
	}
	seen[t] = true
	_ = t.String()
	t.QualifiedName()
	t.NonTrivial()
	walkType(t.Elem(), seen)
	for _, f := range t.Fields() {
		walkType(f.Type, seen)
	}
	ps, _ := t.Params()
	for _, p := range ps {
		walkType(p, seen)
	}
	t.Enumerators()
	if v := t.Variants(); v != nil {
		for _, x := range v.Variants {
			for _, f := range x.Fields {
				walkType(f.Type, seen)
			}
		}
	}
}
