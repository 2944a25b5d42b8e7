package strobetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var suiteBuild sync.Mutex

// BuiltSuite is BuiltFolder of testdata/suites/NAME.
func BuiltSuite(t testing.TB, name string, commands ...[]string) string {
	t.Helper()
	return BuiltFolder(t, filepath.Join("suites", name), commands...)
}

// BuiltFolder returns a copy of a folder of testdata in the cache, in which some commands have run, once for its files
// and commands. It stands where it was built, since build folders know their own paths; tests must not write into it.
func BuiltFolder(t testing.TB, folder string, commands ...[]string) string {
	t.Helper()
	suiteBuild.Lock() // tests that run side by side share what is built
	defer suiteBuild.Unlock()
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(Root(t), "testdata", folder)
	h := sha256.New()
	for _, argv := range commands {
		NeedCommand(t, argv[0])
		version, err := compilerVersion(argv[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h, version, argv)
	}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintln(h, path, len(data))
		h.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(strings.Replace(filepath.ToSlash(folder), "suites", "suite", 1), "/", "-")
	dir := filepath.Join(cache, name+"-"+hex.EncodeToString(h.Sum(nil)[:8]))
	done := filepath.Join(dir, ".built")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q in %s: %v\n%s", argv, dir, err, out)
		}
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Catch2Source returns a folder with the two amalgamated files of Catch2 version 3, out of Debian's source package.
// Debian 12 has version 2 alone, so that the package of Debian 13 is fetched by an apt of its own: nothing of the
// machine's is changed, and apt verifies what comes.
func Catch2Source(t testing.TB) string {
	t.Helper()
	return cached(t, "catch2-debian-13", func(dir string) error {
		NeedCommand(t, "apt-get", "tar")
		tmp, err := os.MkdirTemp("", "strobe-apt-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		if err := fetchDebian(tmp, "trixie", "catch2"); err != nil {
			return err
		}
		archives, err := filepath.Glob(filepath.Join(tmp, "catch2_*.orig.tar.*"))
		if err != nil || len(archives) != 1 {
			return fmt.Errorf("find the source archive: %q, %v", archives, err)
		}
		if err := quietly(tmp, "tar", "xf", archives[0], "--wildcards", "--strip-components=2",
			"*/extras/catch_amalgamated.*"); err != nil {
			return err
		}
		return errors.Join(
			copyFile(filepath.Join(tmp, "catch_amalgamated.hpp"), filepath.Join(dir, "catch_amalgamated.hpp")),
			copyFile(filepath.Join(tmp, "catch_amalgamated.cpp"), filepath.Join(dir, "catch_amalgamated.cpp")))
	})
}
