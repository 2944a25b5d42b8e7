package jvm

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/classfile"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// remade makes a class what compilers of other languages make: its transient fields are synthetic, and the table of
// lines of its method bare is something that nobody knows.
func remade(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := classfile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Fields {
		if f.Fields[i].Access&0x80 != 0 {
			f.Fields[i].Access |= classfile.AccSynthetic
		}
	}
	lines := uint16(1)
	for ; ; lines++ {
		if s, _ := f.Pool.Utf8(lines); s == "LineNumberTable" {
			break
		}
	}
	at := slices.IndexFunc(f.Methods, func(m classfile.Member) bool {
		name, _ := f.Pool.Utf8(m.Name)
		return name == "bare"
	})
	code := &f.Methods[at].Attributes[0]
	was := binary.BigEndian.AppendUint16(nil, lines)
	code.Data = bytes.Replace(code.Data, was, binary.BigEndian.AppendUint16(nil, code.Name), 1)
	if err := os.WriteFile(path, f.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMade: what only a compiler knows of is not the user's; and texts are cut and counted, however long they are.
func TestMade(t *testing.T) {
	in := strobetest.Javas(t)[0]
	dir := t.TempDir()
	strobetest.Javac(t, in, "-g:lines,vars", "-d", dir, filepath.Join("testdata", "Made.java"))
	remade(t, filepath.Join(dir, "Made.class"))
	b := under(t, in, "", []string{"@usercode", "!Made.main"}, "-Xverify:all", "-cp", dir, "Made")
	if out, err := b.cmd.CombinedOutput(); err != nil || plain(string(out)) != "" {
		t.Fatalf("%v: %s", err, out)
	}
	b.member.Close(t.Context())
	got := b.book.Calls()
	for _, cut := range []string{strings.Repeat("é", 512), strings.Repeat("plain ", 170) + "plai"} {
		got = strings.ReplaceAll(got, cut, "…")
	}
	const want = `function_enter main Made.new
function_exit main Made.new null
function_enter main Made.twice {"this":{"$":"obj","t":"Made","v":{"n":3}}}
function_exit main Made.twice 6
function_enter main Made.said {"text":"seven..\"eight...\\nine.....éten\u007feleven..\u0009twelve.."}
function_exit main Made.said 48
function_enter main Made.said {"text":{"$":"text","v":"…","more":35360}}
function_exit main Made.said 20000
function_enter main Made.said {"text":{"$":"text","v":"…","more":176}}
function_exit main Made.said 1200
function_enter main Made.number {"n":0}
function_exit main Made.number 0
function_enter main Made.number {"n":9}
function_exit main Made.number -9
function_enter main Made.number {"n":10}
function_exit main Made.number -10
function_enter main Made.number {"n":99}
function_exit main Made.number -99
function_enter main Made.number {"n":100}
function_exit main Made.number -100
function_enter main Made.number {"n":101}
function_exit main Made.number -101
function_enter main Made.number {"n":2147483647}
function_exit main Made.number -2147483647
function_enter main Made.number {"n":2147483648}
function_exit main Made.number -2147483648
function_enter main Made.number {"n":3000000005}
function_exit main Made.number -3000000005
function_enter main Made.number {"n":100000000000000000}
function_exit main Made.number -100000000000000000
function_enter main Made.number {"n":9223372036854775807}
function_exit main Made.number -9223372036854775807
function_enter main Made.number {"n":-9223372036854775808}
function_exit main Made.number -9223372036854775808`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it recorded (-want +got):\n%s", diff)
	}
}

// TestGenerated: a class that the program makes while it runs is not the user's, though it is said to be of the same
// folder; one that only has no lines is. Both can be named.
func TestGenerated(t *testing.T) {
	in := strobetest.Javas(t)[0]
	dir, aside := t.TempDir(), t.TempDir()
	strobetest.Javac(t, in, "-g:none", "-d", dir, filepath.Join("testdata", "Proxied.java"))
	strobetest.Javac(t, in, "-g:none", "-d", aside, filepath.Join("testdata", "Proxy.java"))
	for pattern, want := range map[string]string{
		"@usercode": "function_enter main Proxied.own {\"arg0\":1}\nfunction_exit main Proxied.own 2",
		"**.made":   "function_enter main Proxy.made {\"arg0\":2}\nfunction_exit main Proxy.made 20",
	} {
		b := under(t, in, "", []string{pattern, "!Proxied.main", "!Proxied.new"}, "-cp", dir, "Proxied",
			filepath.Join(aside, "Proxy.class"))
		if out, err := b.cmd.CombinedOutput(); err != nil || string(out) != "20\n" {
			t.Fatalf("%v: %s", err, out)
		}
		b.member.Close(t.Context())
		if got := b.book.Calls(); got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}
