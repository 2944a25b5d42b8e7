//go:build linux && amd64

package goroutine

import (
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// measured is the layout that the debug information of a program has.
func measured(t *testing.T, path string) *Layout {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	l, err := LayoutOf(d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLayouts: the table has what the toolchain's own debug information says.
func TestLayouts(t *testing.T) {
	path := build(t, "", "package main\n\nfunc main() {}\n")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := programOf(t, path)
	want := known(p.Version)
	if want == nil {
		t.Fatalf("%s is not in the table (%d bytes)", p.Version, len(b))
	}
	if diff := gocmp.Diff(want, measured(t, path)); diff != "" {
		t.Errorf("the table (-) and %s (+): %s", p.Version, diff)
	}
}

// TestLayoutsOfVersions: the same for the first and the last release of the other versions.
func TestLayoutsOfVersions(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedNetwork(t)
	for _, version := range []string{"go1.21.0", "go1.21.13", "go1.22.0", "go1.22.12", "go1.23.0", "go1.23.12", "go1.24.0",
		"go1.24.13", "go1.25.0", "go1.25.5", "go1.26.0"} {
		if diff := gocmp.Diff(known(version), measured(t,
			build(t, version, "package main\n\nfunc main() {}\n"))); diff != "" {
			t.Errorf("the table (-) and %s (+): %s", version, diff)
		}
	}
}

// TestUnknown: nothing is guessed of what is not known.
func TestUnknown(t *testing.T) {
	for _, v := range []string{"go1.20.14", "go1.27.0", "go1.27", "devel go1.26-abc", "go1.26.8 X:nojsonv2", "go1.26rc1",
		"go2.26.1", "", "go1"} {
		if known(v) != nil {
			t.Errorf("%q is known", v)
		}
	}
	stripped := programOf(t, build(t, "", "package main\n\nfunc main() {}\n", "-ldflags=-s -w"))
	stripped.Version = "go1.99.1"
	if _, err := stripped.layoutFor(nil); err == nil || !strings.Contains(err.Error(), "nothing is known") {
		t.Errorf("a version without knowledge: %v", err)
	}
	asked := ""
	if _, err := stripped.layoutFor(func(version string) (*Layout,
		error) {
		asked = version
		return &Layout{}, nil
	}); err != nil || asked != stripped.Version {
		t.Errorf("another source was asked for %q, %v", asked, err)
	}
	plain := build(t, "", "package main\n\nfunc main() {}\n")
	p := programOf(t, plain)
	p.Version = "go1.99.1"
	l, err := p.layoutFor(nil)
	if err != nil || gocmp.Diff(l, measured(t, plain)) != "" {
		t.Errorf("the program's own debug information: %+v, %v", l, err)
	}
	sh, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	if _, err := Open(sh, nil, 0, nil); !errors.Is(err, ErrNotGo) {
		t.Errorf("a shell: %v", err)
	}
	f, err := os.Open(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var unsupported *fault.Error
	if _, err := Open(f, nowhere{}, 0, nil); !errors.As(err, &unsupported) || unsupported.Code != fault.Unsupported {
		t.Errorf("memory that cannot be read: %v", err)
	}
}

// nowhere is memory of which nothing can be read.
type nowhere struct{}

func (nowhere) Read(uint64, []byte) error { return errors.New("there is nothing") }

// programOf knows the version and the file of a program that does not run.
func programOf(t *testing.T, path string) *Program {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return &Program{Version: versionOf(t, r), file: f}
}
