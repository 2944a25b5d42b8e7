package strobetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Larger programs whose sources are not ours: fetched from registries that carry them when a test
// wants them, kept in the registries' own caches, never committed. Versions are pinned; the Go
// checksum database and cargo's index verify what comes.
const (
	sqliteModule = "github.com/mattn/go-sqlite3@v1.14.32" // carries the SQLite 3.50 amalgamation
	luaCrate     = "lua-src"                              // carries Lua 5.4
	luaVersion   = "548.1.1"
)

// SQLiteSource returns a folder with sqlite3.c and sqlite3.h.
func SQLiteSource(t testing.TB) string {
	t.Helper()
	dir := cached(t, "sqlite-"+strings.ReplaceAll(filepath.Base(sqliteModule), "@", "-"), func(dir string) error {
		module, err := goModule(sqliteModule)
		if err != nil {
			return err
		}
		return errors.Join(
			copyFile(filepath.Join(module, "sqlite3-binding.c"), filepath.Join(dir, "sqlite3.c")),
			copyFile(filepath.Join(module, "sqlite3-binding.h"), filepath.Join(dir, "sqlite3.h")),
			// The binding's file includes its header by its own name.
			copyFile(filepath.Join(module, "sqlite3-binding.h"), filepath.Join(dir, "sqlite3-binding.h")))
	})
	return dir
}

// LuaSource returns a folder with Lua 5.4's C files.
func LuaSource(t testing.TB) string {
	t.Helper()
	return cached(t, "lua-"+luaVersion, func(dir string) error {
		crate, err := crateSource(luaCrate, luaVersion)
		if err != nil {
			return err
		}
		folders, err := filepath.Glob(filepath.Join(crate, "lua-5.4*"))
		if err != nil || len(folders) == 0 {
			return fmt.Errorf("find Lua 5.4 in %s: %v", crate, err)
		}
		from := folders[0]
		if _, err := os.Stat(filepath.Join(from, "src", "lapi.c")); err == nil {
			from = filepath.Join(from, "src")
		}
		for _, pattern := range []string{"*.c", "*.h"} {
			files, _ := filepath.Glob(filepath.Join(from, pattern))
			for _, f := range files {
				if err := copyFile(f, filepath.Join(dir, filepath.Base(f))); err != nil {
					return err
				}
			}
		}
		_, err = os.Stat(filepath.Join(dir, "lapi.c"))
		return err
	})
}

// Workload is one larger program with a deterministic task of its own.
type Workload struct {
	Path   string
	Args   []string
	Source string // folder of the sources: the projectRoot under which @usercode finds everything
}

// SQLiteWorkload builds SQLite with a driver that creates, fills, indexes, joins, updates and checks
// an in-memory database and prints the results. The optional argument is the number of rows.
func SQLiteWorkload(t testing.TB, variant string) Workload {
	t.Helper()
	src := SQLiteSource(t)
	driver := filepath.Join(TargetsDir(t), "corpora", "sqlite_driver.c")
	v := variantFor(t, variant, "c")
	path, err := compile(job{name: "sqlite", lang: "c", variant: v,
		files: []string{driver, filepath.Join(src, "sqlite3.c")},
		flags: []string{"-I" + src, "-DSQLITE_THREADSAFE=1", "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_ENABLE_FTS5", "-w"}})
	if err != nil {
		t.Fatal(err)
	}
	return Workload{Path: path, Args: []string{"300"}, Source: src}
}

// LuaWorkload builds Lua with a script of recursion, strings, tables, closures, coroutines,
// errors through pcall (longjmp) and garbage collection.
func LuaWorkload(t testing.TB, variant string) Workload {
	t.Helper()
	src := LuaSource(t)
	v := variantFor(t, variant, "c")
	all, err := filepath.Glob(filepath.Join(src, "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(TargetsDir(t), "corpora", "lua_driver.c")}
	for _, f := range all {
		if base := filepath.Base(f); base != "lua.c" && base != "luac.c" && base != "onelua.c" && base != "ltests.c" {
			files = append(files, f)
		}
	}
	path, err := compile(job{name: "lua", lang: "c", variant: v, files: files,
		flags: []string{"-DLUA_USE_POSIX", "-I" + src, "-w"}})
	if err != nil {
		t.Fatal(err)
	}
	return Workload{Path: path, Args: []string{filepath.Join(TargetsDir(t), "corpora", "workload.lua")}, Source: src}
}

// cached fills a folder of the cache once; fill writes into a folder that becomes it.
func cached(t testing.TB, name string, fill func(dir string) error) string {
	t.Helper()
	NeedTime(t)
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	NeedNetwork(t)
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		t.Fatalf("fetch %s: %v", name, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goModule downloads a module through the go command and returns its folder.
func goModule(module string) (string, error) {
	tmp, err := os.MkdirTemp("", "strobe-module-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	out, err := Fetch(func() *exec.Cmd {
		cmd := exec.Command("go", "mod", "download", "-json", module)
		cmd.Dir = tmp // outside our module, whose go.mod must not change
		return cmd
	})
	if err != nil {
		return "", err
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return got.Dir, nil
}

// crateSource downloads a crate through cargo and returns its folder.
func crateSource(name, version string) (string, error) {
	tmp, err := os.MkdirTemp("", "strobe-crate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	manifest := fmt.Sprintf("[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n%s = "+
		"\"=%s\"\n", name, version)
	if err := errors.Join(
		os.WriteFile(filepath.Join(tmp, "Cargo.toml"), []byte(manifest), 0o600),
		os.Mkdir(filepath.Join(tmp, "src"), 0o700),
		os.WriteFile(filepath.Join(tmp, "src", "lib.rs"), nil, 0o600)); err != nil {
		return "", err
	}
	if err := quietly(tmp, "cargo", "fetch", "--quiet"); err != nil {
		return "", err
	}
	meta := exec.Command("cargo", "metadata", "--format-version=1", "--offline")
	meta.Dir = tmp
	out, err := meta.Output()
	if err != nil {
		return "", fmt.Errorf("ask cargo where %s is: %w", name, err)
	}
	var got struct {
		Packages []struct {
			Name     string `json:"name"`
			Manifest string `json:"manifest_path"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("read cargo's metadata: %w", err)
	}
	for _, p := range got.Packages {
		if p.Name == name {
			return filepath.Dir(p.Manifest), nil
		}
	}
	// A program without a library is nobody's dependency; cargo fetched it all the same.
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		home = filepath.Join(user, ".cargo")
	}
	found, err := filepath.Glob(filepath.Join(home, "registry", "src", "*", name+"-"+version))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("cargo neither names %s nor has it in %s: %v", name, home, err)
	}
	return found[0], nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
