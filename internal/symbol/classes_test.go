package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDerived finds the classes that derive from another one, and in their vtables the way to the type_info's name.
func TestDerived(t *testing.T) {
	for _, flags := range []string{"g++ -O0", "g++ -O2", "clang++ -O0", "clang++ -O2", "g++ -no-pie", "clang++ -gdwarf-4",
		"g++ -shared -fPIC", "clang++ -shared -fPIC",
		"g++ -Wl,-z,pack-relative-relocs", "g++ -fno-rtti"} {
		t.Run(flags, func(t *testing.T) {
			args := strings.Fields(flags)
			m, err := Open(build(t, "classes.cc", args[0], append(args[1:], "-g")...), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for base, want := range map[string]string{
				"Base": "(anonymous namespace)::Hidden 0; Diamond 0 16 32; Last 0 16; Left 0 16; Right 0 16; Row<unsigned " +
					"int, 3> 0; ns::Two 0 16",
				"ns::Other": "Last 0 16; ns::Two 0 16",
				"Left":      "Diamond 0 16 32",
				"Diamond":   "", "Plain": "Last 0 16",
			} {
				if strings.Contains(flags, "no-rtti") {
					want = ""
				}
				if got := derivedText(t, m, base); got != want {
					t.Errorf("classes that derive from %s = %q, want %q", base, got, want)
				}
			}
		})
	}
}

// derivedText lists classes, each with the parts of its objects that have virtual pointers.
func derivedText(t *testing.T, m *Module, base string) string {
	t.Helper()
	var of []string
	for _, typ := range m.TypesNamed(base) {
		for _, d := range typ.Derived() {
			text := d.Name
			for _, table := range d.Tables {
				text += " " + strconv.Itoa(int(table.Off))
				checkTable(t, m, &d, table)
			}
			of = append(of, text)
		}
	}
	slices.Sort(of)
	return strings.Join(of, "; ")
}

// checkTable follows the way from a table to the name in the file.
func checkTable(t *testing.T, m *Module, d *Derived, table ClassTable) {
	t.Helper()
	var at uint64
	mangled := bytes.TrimLeft(d.Text[:len(d.Text)-1], "*")
	m.im.eachSym(func(s elfSym) bool {
		if string(s.name) == "_ZTS"+string(mangled) {
			at = s.value
		}
		return at == 0
	})
	if at == 0 {
		t.Fatalf("no symbol for the name of %s", d.Name)
	}
	vptr := at - uint64(table.NameDist)
	words := map[uint64]uint64{vptr - 16: 0}
	m.im.relocated(words)
	if int64(words[vptr-16]) != -table.Off {
		t.Errorf("%s has %d before the table at %#x, want %d", d.Name, int64(words[vptr-16]), vptr, -table.Off)
	}
	if text := m.im.at(at); !bytes.HasPrefix(text, d.Text) {
		t.Errorf("%s has the name %q, want %q", d.Name, text[:min(len(text), len(d.Text))], d.Text)
	}
}

// FuzzClasses damages a program's bytes: whatever they are, the classes are read without a panic.
func FuzzClasses(f *testing.F) {
	good, err := os.ReadFile(build(f, "classes.cc", "g++", "-g", "-O0"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{})
	for _, part := range []string{"_ZTI4Base", "4Last", "_ZTV4Last"} {
		f.Add(uint32(bytes.Index(good, []byte(part))), []byte{0xff, 0xff, 0xff})
	}
	for at := uint32(0x2c00); at < 0x4000; at += 0x130 { // vtables, type_infos and relocations
		f.Add(at, binary.LittleEndian.AppendUint64(nil, 1<<63-8))
	}
	f.Fuzz(func(t *testing.T, at uint32, damage []byte) {
		bad := bytes.Clone(good)
		copy(bad[int(at)%len(bad):], damage)
		path := filepath.Join(t.TempDir(), "prog")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		defer m.Close()
		for _, typ := range m.TypesNamed("Base") {
			typ.Derived()
		}
	})
}
