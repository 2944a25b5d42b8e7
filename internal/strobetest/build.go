package strobetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Root returns the absolute path of the module's root.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find go.mod: not below the module's root")
		}
		dir = parent
	}
}

// TargetsDir returns testdata/targets: the projectRoot of every built target.
func TargetsDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(Root(t), "testdata", "targets")
}

// CacheDir returns the folder of built programs, made if needed: $STROBE_TEST_CACHE, or one below
// the user's cache folder, or one below the temporary folder.
func CacheDir() (string, error) {
	dir := os.Getenv("STROBE_TEST_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil || os.MkdirAll(base, 0o700) != nil {
			base = filepath.Join(os.TempDir(), fmt.Sprintf("strobe-test-%d", os.Getuid()))
		}
		dir = filepath.Join(base, "strobe-test")
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// Build returns the path of the named target built as the named variant. It fails the test where
// the target cannot be built so, and skips it only where the machine has no such compiler and CI
// has not promised one.
func Build(t testing.TB, target, variant string) string {
	t.Helper()
	tg, ok := TargetNamed(target)
	if !ok {
		t.Fatalf("no target %q", target)
	}
	v := variantFor(t, variant, tg.Lang)
	dir := filepath.Join(Root(t), "testdata", "targets", tg.Lang)
	var files, libs []string
	for _, f := range tg.Files {
		files = append(files, filepath.Join(dir, f))
	}
	for _, f := range tg.Libs {
		libs = append(libs, filepath.Join(dir, f))
	}
	path, err := compile(job{name: tg.Name, lang: tg.Lang, variant: v, files: files, libs: libs, flags: tg.Flags})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildSource builds a program of one source file given as text; name becomes the file's and the
// program's name.
func BuildSource(t testing.TB, lang, variant, name, source string, flags ...string) string {
	t.Helper()
	v := variantFor(t, variant, lang)
	path, err := compile(job{name: name, lang: lang, variant: v, files: []string{sourceFile(t, lang, name, source)},
		flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sourceFile writes source into a folder of its own in the cache and returns the file's path.
func sourceFile(t testing.TB, lang, name, source string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(source))
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(cache, "src-"+hex.EncodeToString(sum[:8]), name+extension[lang])
	if err := writeOnce(file, []byte(source)); err != nil {
		t.Fatal(err)
	}
	return file
}

var extension = map[string]string{"c": ".c", "cpp": ".cpp", "rust": ".rs"}

func variantFor(t testing.TB, name, lang string) Variant {
	t.Helper()
	v, ok := VariantNamed(name)
	if !ok {
		t.Fatalf("no variant %q", name)
	}
	if !slices.Contains(v.Langs, lang) {
		t.Fatalf("variant %s does not build %s", name, lang)
	}
	NeedCommand(t, v.compiler(lang))
	return v
}

func (v Variant) compiler(lang string) string {
	switch lang {
	case "rust":
		return "rustc"
	case "cpp":
		return v.CXX
	}
	return v.C
}

// job is one program to compile.
type job struct {
	name, lang string
	variant    Variant
	files      []string
	libs       []string
	flags      []string
}

func (j job) commands(out string) [][]string {
	compiler := j.variant.compiler(j.lang)
	program := filepath.Join(out, j.name)
	if j.lang == "rust" {
		args := append([]string{compiler, "-g", "--edition=2021", "-Cstrip=none"}, j.variant.Flags...)
		return [][]string{append(append(args, j.flags...), "-o", program, j.files[0])}
	}
	common := append([]string{compiler, "-g", "-pthread"}, j.variant.Flags...)
	if j.variant.C == "musl-gcc" {
		common = append(common, "-D_GNU_SOURCE")
	}
	main := append(slices.Clone(common), j.files...)
	main = append(append(main, j.flags...), "-o", program, "-lm")
	commands := [][]string{main}
	for _, lib := range j.libs {
		so := filepath.Join(out, strings.TrimSuffix(filepath.Base(lib), filepath.Ext(lib))+".so")
		commands = append(commands, append(slices.Clone(common), "-shared", "-fPIC", lib, "-o", so))
	}
	return commands
}

// key names the job's result: everything that decides it.
func (j job) key() (string, error) {
	version, err := compilerVersion(j.variant.compiler(j.lang))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, version, j.commands(""))
	for _, f := range slices.Concat(j.files, j.libs) {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, f, len(data)) // the path too: it stands in the debug information
		h.Write(data)
	}
	return j.name + "-" + j.variant.Name + "-" + hex.EncodeToString(h.Sum(nil)[:8]), nil
}

var (
	versionMu sync.Mutex
	versions  = map[string]string{}
	building  sync.Map // key -> *sync.Mutex, so that one process builds a thing once
)

func compilerVersion(command string) (string, error) {
	versionMu.Lock()
	defer versionMu.Unlock()
	if v, ok := versions[command]; ok {
		return v, nil
	}
	out, err := exec.Command(command, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", command, err)
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	versions[command] = string(line)
	return versions[command], nil
}

// compile builds j into the cache, unless it is there, and returns the program's path.
func compile(j job) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	key, err := j.key()
	if err != nil {
		return "", err
	}
	lock, _ := building.LoadOrStore(key, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	dir := filepath.Join(cache, key)
	program := filepath.Join(dir, j.name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	tmp, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, args := range j.commands(tmp) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = tmp
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s as %s: %w\n%s\n%s", j.name, j.variant.Name, err, strings.Join(args, " "), out)
		}
	}
	// Another test binary may have built the same; then its folder stands and this one goes.
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(program); statErr != nil {
			return "", fmt.Errorf("keep %s: %w", j.name, err)
		}
	}
	return program, nil
}

// writeOnce writes a file whose name stands for its content, so that readers never see a part.
func writeOnce(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "write-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// SourceOf is the file that BuildSource compiles.
func SourceOf(t testing.TB, lang, name, source string) string {
	t.Helper()
	return sourceFile(t, lang, name, source)
}

// BuildIn compiles a C program in a folder, which is made, and returns it and its source.
func BuildIn(t testing.TB, dir, name, source string) (bin, file string) {
	t.Helper()
	bin, file = filepath.Join(dir, name), filepath.Join(dir, name+".c")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, []byte(source), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O0", "-o", bin, file).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", file, err, out)
	}
	return bin, file
}
