package strobetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whole is a program from a registry that was made for its users and not for our tests: fetched, built and run as they
// do, by make soak.
type Whole struct {
	Name, Lang string // Lang is c, cpp or rust
	// From is debian:PACKAGE, the upstream archive of Debian's source package; crate:NAME@VERSION, a published program; or
	// suite:FOLDER, a project below testdata/whole that stands on published libraries.
	From string
	// Optimised says that parameters are where DWARF says at a function's first instruction, not behind its prologue.
	Optimised bool
	Needs     []string // Debian packages, for the message where the build fails
	Build     string   // shell commands in the folder of the sources
	Program   string   // what they build, below that folder
	// Script is what is run: shell commands in an empty folder, in which $P is the program and $S the folder of the
	// sources. Most are one command; a server's has a client, too.
	Script string
	// Args and Stdin are a run of the program itself, whose calls are compared with gdb's: the same calls each time. {S}
	// is the folder of the sources.
	Args  []string
	Stdin string
	Files map[string]string // in the folder of a run, by name
	// Suite is the program's own tests: shell commands in the folder of the sources, the same result each time; "" for
	// none.
	Suite string
	// Unset lists what is no value of the program's making: parameters that it hands over before it has written them,
	// members by addresses, functions whose result is the number of a file (gdb holds some) or of a process.
	Unset []string
	// Early says that much of what is compared is called before main: gdb looks from the first instruction on.
	Early bool
	// Blurred lists, as regular expressions, what differs in output from run to run.
	Blurred []string
}

// Built is a Whole as it stands in the cache.
type Built struct{ Source, Program string }

// BuildWhole fetches and builds a program once, and keeps it in the cache, where it was built: debug information has
// its folder.
func BuildWhole(t testing.TB, w Whole) Built {
	t.Helper()
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(fmt.Appendln(nil, w.From, w.Build))
	dir := filepath.Join(cache, "whole-"+w.Name+"-"+hex.EncodeToString(sum[:6]))
	built := Built{Source: dir, Program: filepath.Join(dir, w.Program)}
	done := filepath.Join(dir, ".built")
	if _, err := os.Stat(done); err == nil {
		return built
	}
	NeedNetwork(t)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := fetchWhole(t, w, dir); err != nil {
		t.Fatalf("fetch %s: %v", w.Name, err)
	}
	cmd := exec.Command("sh", "-e", "-c", w.Build)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(dir, "target"),
		"WHOLE="+filepath.Join(Root(t), "testdata", "whole")), func(v string) bool {
		return strings.HasPrefix(v, "CGO_ENABLED=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s (it needs the Debian packages %v): %v\n%s", w.Name, w.Needs, err, out[max(0, len(out)-4000):])
	}
	if _, err := os.Stat(built.Program); err != nil {
		t.Fatalf("build %s: %v", w.Name, err)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return built
}

// fetchWhole puts a program's sources into dir.
func fetchWhole(t testing.TB, w Whole, dir string) error {
	kind, what, _ := strings.Cut(w.From, ":")
	switch kind {
	case "debian":
		return debianSource("bookworm", what, dir)
	case "crate":
		name, version, _ := strings.Cut(what, "@")
		from, err := crateSource(name, version)
		if err != nil {
			return err
		}
		return os.CopyFS(dir, os.DirFS(from))
	case "suite":
		return os.CopyFS(dir, os.DirFS(filepath.Join(Root(t), "testdata", "whole", what)))
	}
	return fmt.Errorf("%q is no source", w.From)
}

// debianSource unpacks the upstream archive of a source package into dir. The package is fetched by an apt with sources
// of its own: nothing of the machine's is changed, and apt verifies what comes.
func debianSource(suite, name, dir string) error {
	tmp, err := os.MkdirTemp("", "strobe-apt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fetchDebian(tmp, suite, name); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(tmp, "*.orig.tar.*"))
	archives = slices.DeleteFunc(archives, func(a string) bool { return strings.HasSuffix(a, ".asc") })
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("find the source archive: %q, %v", archives, err)
	}
	from := filepath.Join(tmp, "unpacked")
	if err := errors.Join(os.Mkdir(from, 0o700), quietly(tmp, "tar", "xf", archives[0], "-C", from)); err != nil {
		return err
	}
	if tops, err := os.ReadDir(from); err == nil && len(tops) == 1 && tops[0].IsDir() { // most archives are one folder
		from = filepath.Join(from, tops[0].Name())
	}
	return quietly(tmp, "cp", "-a", from+"/.", dir) // with its links
}

// fetchDebian downloads the files of a source package of one of Debian's suites into tmp.
func fetchDebian(tmp, suite, name string) error {
	sources := "Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: " + suite +
		"\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
	options := []string{"-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=" +
		filepath.Join(tmp, "etc"),
		"-o", "Dir::State::Lists=" + filepath.Join(tmp, "lists"), "-o", "Dir::Cache=" + filepath.Join(tmp, "cache"),
		"-o", "APT::Sandbox::User="}
	if err := errors.Join(os.MkdirAll(filepath.Join(tmp, "etc"), 0o700),
		os.MkdirAll(filepath.Join(tmp, "lists", "partial"), 0o700),
		os.MkdirAll(filepath.Join(tmp, "cache", "archives", "partial"), 0o700),
		os.WriteFile(filepath.Join(tmp, "etc", suite+".sources"), []byte(sources), 0o600)); err != nil {
		return err
	}
	if err := quietly(tmp, "apt-get", append(options, "update")...); err != nil {
		return err
	}
	return quietly(tmp, "apt-get", append(options, "source", "--download-only", name)...)
}
