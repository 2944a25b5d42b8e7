package strobetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Projects of others with large suites of tests, fetched as corpora.go says. Each test gets a copy of its own to write
// in.
const (
	tomlModule    = "github.com/pelletier/go-toml/v2@v2.2.3"
	testifyModule = "github.com/stretchr/testify@v1.10.0"
	glamVersion   = "0.34.2"
)

// TOMLProject is a Go module with some 2,300 tests and subtests, which pass.
func TOMLProject(t testing.TB) string { return moduleProject(t, tomlModule) }

// TestifyProject is a Go module with some 700 tests and subtests, of which some fail with a Go that is newer.
func TestifyProject(t testing.TB) string { return moduleProject(t, testifyModule) }

func moduleProject(t testing.TB, module string) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", "@", "-").Replace(module)
	return ownCopy(t, cached(t, "project-"+name, func(dir string) error {
		from, err := goModule(module)
		if err != nil {
			return err
		}
		return os.CopyFS(filepath.Join(dir, "src"), os.DirFS(from))
	}))
}

// GlamProject is a crate of Rust with some 3,400 tests.
func GlamProject(t testing.TB) string {
	t.Helper()
	NeedCommand(t, "cargo")
	return ownCopy(t, cached(t, "project-glam-"+glamVersion, func(dir string) error {
		from, err := crateSource("glam", glamVersion)
		if err != nil {
			return err
		}
		return os.CopyFS(filepath.Join(dir, "src"), os.DirFS(from))
	}))
}

// PythonProject is a distribution from PyPI with what its tests need beside it: its folder, and the environment in
// which they run.
type PythonProject struct {
	Root string
	Env  map[string]string
}

// PackagingProject has some 27,000 tests of pytest.
func PackagingProject(t testing.TB) PythonProject {
	t.Helper()
	return pythonProject(t, "packaging", "24.2", "pytest==8.3.4", "pretend==1.0.9")
}

// AttrsProject has some 1,300 tests of pytest, of which some fail because it is not installed.
func AttrsProject(t testing.TB) PythonProject {
	t.Helper()
	return pythonProject(t, "attrs", "23.2.0", "pytest==8.3.4", "hypothesis==6.122.1", "cloudpickle==3.1.0")
}

func pythonProject(t testing.TB, name, version string, needs ...string) PythonProject {
	t.Helper()
	NeedCommand(t, "python3", "tar")
	made := cached(t, "project-"+name+"-"+version, func(dir string) error {
		python := filepath.Join(dir, "env", "bin", "python")
		if err := errors.Join(
			quietly(dir, "python3", "-m", "venv", filepath.Join(dir, "env")),
			quietly(dir, python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"},
				needs...)...),
			quietly(dir, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-binary", ":all:",
				"--no-deps", name+"=="+version)); err != nil {
			return err
		}
		if err := quietly(dir, "tar", "xzf", fmt.Sprintf("%s-%s.tar.gz", name, version)); err != nil {
			return err
		}
		return os.Rename(filepath.Join(dir, name+"-"+version), filepath.Join(dir, "src"))
	})
	root := ownCopy(t, made)
	return PythonProject{root, map[string]string{"PATH": filepath.Join(made, "env", "bin") + string(os.PathListSeparator) +
		os.Getenv("PATH"), "PYTHONPATH": filepath.Join(root, "src")}}
}

// PythonWith returns the interpreter of an environment with these packages of PyPI, which is made once.
func PythonWith(t testing.TB, packages ...string) string {
	t.Helper()
	NeedCommand(t, "python3")
	sum := sha256.Sum256([]byte(strings.Join(packages, "\n")))
	made := cached(t, "python-with-"+hex.EncodeToString(sum[:6]), func(dir string) error {
		env := filepath.Join(dir, "env")
		return errors.Join(quietly(dir, "python3", "-m", "venv", env), quietly(dir, filepath.Join(env, "bin", "python"),
			append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...))
	})
	return filepath.Join(made, "env", "bin", "python")
}

// NodePackage returns the folder of a package of npm, such as name@1.2.3, which is fetched once.
func NodePackage(t testing.TB, name, version string) string {
	t.Helper()
	NeedCommand(t, "npm")
	made := cached(t, "npm-"+name+"-"+version, func(dir string) error {
		return quietly(dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir,
			name+"@"+version)
	})
	return filepath.Join(made, "node_modules", name)
}

// ownCopy copies the sources of a project that is in the cache.
func ownCopy(t testing.TB, made string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(made, "src"))); err != nil {
		t.Fatal(err)
	}
	return dir
}
