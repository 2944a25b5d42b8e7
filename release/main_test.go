package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const (
	testVersion = "1.2.3-rc.1"
	testEpoch   = "1790000000"
)

// newRelease makes one of the tree at root, for these architectures.
func newRelease(t *testing.T, root string, arches ...string) *release {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", testEpoch)
	return &release{root: root, out: filepath.Join(t.TempDir(), "release"), version: testVersion, arches: arches,
		ldflags: "-s -w -funcalign=16", xz: "-z0"}
}

// elsewhere copies the tree to another place, without its history.
func elsewhere(t *testing.T, root string) string {
	t.Helper()
	list, err := output(t.Context(), root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "another place")
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // was deleted, or leads elsewhere
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()&0o750); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRelease: what is released installs and runs from each of its forms, says what it is made of, and the binary is
// the same from another place. make soak makes all of it twice, for both architectures.
func TestRelease(t *testing.T) {
	strobetest.NeedTime(t)
	for _, tool := range []string{"git", "dpkg-deb", "npm"} {
		strobetest.NeedCommand(t, tool)
	}
	root, err := filepath.Abs(strobetest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	r := newRelease(t, root, runtime.GOARCH)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	binary := member(t, r.path(t, "strobe-*.tar.gz"), "/strobe")
	again := filepath.Join(t.TempDir(), "strobe")
	if err := newRelease(t, elsewhere(t, root), runtime.GOARCH).build(t.Context(), runtime.GOARCH, again); err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile(again); err != nil || !bytes.Equal(other, binary) {
		t.Errorf("built in another place it is another one: %d and %d bytes, %v", len(binary), len(other), err)
	}
	t.Run("checksums", func(t *testing.T) { checkSums(t, r) })
	t.Run("materials", func(t *testing.T) { checkMaterials(t, r, again) })
	t.Run("debian", func(t *testing.T) { checkDebian(t, r) })
	t.Run("npx", func(t *testing.T) { checkNpx(t, r) })
	t.Run("again", func(t *testing.T) {
		if err := r.run(t.Context()); err == nil {
			t.Error("a release went into a folder that has one")
		}
	})
}

// path is the one file that fits a pattern.
func (r *release) path(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.out, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// member is the file of a tarball whose name ends so.
func member(t *testing.T, path, end string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s has no %s: %v", path, end, err)
		}
		if strings.HasSuffix(h.Name, end) {
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
}

func checkSums(t *testing.T, r *release) {
	data, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		file, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(file); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has another sum than %s", name, sum)
		}
		names = append(names, name)
	}
	entries, err := os.ReadDir(r.out)
	if err != nil || len(entries) != len(names)+1 || len(names) != 6 {
		t.Errorf("sums of %v, there are %v, %v", names, entries, err)
	}
}

func checkMaterials(t *testing.T, r *release, binary string) {
	data, err := os.ReadFile(r.path(t, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list bom
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std"}
	for _, m := range info.Deps {
		want = append(want, m.Path+"@"+m.Version)
	}
	var got []string
	for _, c := range list.Components {
		if got = append(got, c.Name+"@"+c.Version); c.Name == "std" {
			got[len(got)-1] = c.Name
		}
	}
	if !slices.Equal(got, want) || len(want) < 10 || len(list.Dependencies[0].DependsOn) != len(want) {
		t.Errorf("made of %v, want %v", got, want)
	}
}

// says runs a program of the release, with a home of its own, and checks what its version says.
func says(t *testing.T, dir, name string, arg ...string) {
	t.Helper()
	out, err := output(t.Context(), dir, []string{"STROBE_HOME=" + t.TempDir()}, name, arg...)
	if err != nil || !strings.HasPrefix(out, "strobe v"+testVersion+" (go") {
		t.Errorf("%s says %q, %v", name, out, err)
	}
}

func checkDebian(t *testing.T, r *release) {
	deb := r.path(t, "*.deb")
	if want := "strobe-debug_1.2.3~rc.1_" + runtime.GOARCH + ".deb"; filepath.Base(deb) != want {
		t.Errorf("package %s, want %s", deb, want)
	}
	root := t.TempDir()
	for _, dir := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var", "lib", "dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var", "lib", "dpkg", file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(arg ...string) {
		t.Helper()
		arg = append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null"}, arg...)
		if out, err := exec.Command("dpkg", arg...).CombinedOutput(); err != nil {
			t.Fatalf("dpkg %v: %v\n%s", arg, err, out)
		}
	}
	dpkg("-i", deb)
	binary := filepath.Join(root, "usr", "bin", "strobe")
	says(t, root, binary, "version")
	for _, name := range []string{"man/man1/strobe-run.1.gz", "bash-completion/completions/strobe",
		"zsh/vendor-completions/_strobe", "doc/strobe-debug/copyright"} {
		if info, err := os.Stat(filepath.Join(root, "usr", "share", name)); err != nil || info.Size() < 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
	dpkg("-P", debianName)
	if _, err := os.Stat(binary); err == nil {
		t.Error("it is there still after it was removed")
	}
	if strobetest.Soaks(t, "lintian") {
		strobetest.NeedCommand(t, "lintian")
		if out, err := exec.Command("lintian", "--fail-on", "error", "--allow-root", deb).CombinedOutput(); err != nil {
			t.Errorf("lintian: %v\n%s", err, out)
		}
	}
}

func checkNpx(t *testing.T, r *release) {
	dir := t.TempDir()
	t.Setenv("npm_config_cache", filepath.Join(dir, "cache"))
	wrapper := r.path(t, "npm-strobe-1*.tgz")
	says(t, dir, "npx", "--offline", "--yes", "--package", wrapper, "--package", r.path(t, "npm-strobe-linux-*.tgz"),
		"strobe", "version")
	cmd := exec.Command("npx", "--offline", "--yes", "--package", wrapper, "strobe", "version")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no build for linux-") {
		t.Errorf("without the platform's package: %v, %s", err, out)
	}
}

// TestSoakRelease: all of a release is the same, byte for byte, from another place.
func TestSoakRelease(t *testing.T) {
	strobetest.Soak(t)
	root, err := filepath.Abs(strobetest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	first, second := newRelease(t, root, "amd64", "arm64"), newRelease(t, elsewhere(t, root), "amd64", "arm64")
	for _, r := range []*release{first, second} {
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(first.files, second.files) || len(first.files) != 10 {
		t.Errorf("files %v and %v", first.files, second.files)
	}
	for _, name := range first.files {
		a, errA := os.ReadFile(filepath.Join(first.out, name))
		b, errB := os.ReadFile(filepath.Join(second.out, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", name, errA, errB)
		}
	}
}
