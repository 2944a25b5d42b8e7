package iochan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestJackHelperIsFresh: the helper is made of its source, where the compiler is the one that made it.
func TestJackHelperIsFresh(t *testing.T) {
	makefile, err := os.ReadFile("jack/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command("gcc", "-dumpfullversion").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("jack")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-s", "-B", "-C", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, "jack_linux_amd64.bin"))
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Contains(string(makefile), "gcc (Debian "+strings.TrimSpace(string(version))+")")
	if same && !bytes.Equal(made, jackHelper) {
		t.Error("jack/jack_linux_amd64.bin is not what jack.c makes: make generate")
	}
}

// FuzzPorts: what JACK's programs call their ports is theirs to choose.
func FuzzPorts(f *testing.F) {
	f.Add([]byte("fluidsynth:midi_00\t1\t42\nstrobe:out\t2\t0\n\t\t\na:b\t9999999999999999999\t1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range parsePorts(text) {
			if strings.ContainsAny(p.name, "\t\n") {
				t.Errorf("%q is a port of %q", p.name, text)
			}
		}
	})
}
