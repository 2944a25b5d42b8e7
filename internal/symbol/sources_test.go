package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRelativeSources: builds whose debug information names no directory that exists are found from the program, and
// from the project where the program was taken elsewhere.
func TestRelativeSources(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, "src", "a.c")
	build, elsewhere := filepath.Join(root, "build"), t.TempDir()
	for dir, text := range map[string]string{"src/a.c": "int twice(int x) { return 2 * x; }\nint main(void) { return twice(0); }\n",
		"build/empty": "", "go.mod": "module example.com/a\n\ngo 1.21\n",
		"in/a.go": "package in\n\n//go:noinline\nfunc Twice(x int) int { return 2 * x }\n",
		"main.go": "package main\n\nimport \"example.com/a/in\"\n\nfunc main() { in.Twice(0) }\n"} {
		path := filepath.Join(root, dir)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, function, source string
		argv                   []string
	}{
		{"whole", "twice", source, []string{"gcc", "-g", "-ffile-prefix-map=" + root + "=.", source}},
		{"relative", "twice", source, []string{"gcc", "-g", "-ffile-prefix-map=" + root + "=.", "../src/a.c"}},
		{"version4", "twice", source, []string{"gcc", "-gdwarf-4", "-ffile-prefix-map=" + root + "=.", source}},
		{"clang", "twice", source, []string{"clang", "-g", "-ffile-prefix-map=" + root + "=.", source}},
		{"bazel", "twice", source, []string{"gcc", "-g", "-ffile-prefix-map=" + root + "=/proc/self/cwd", source}},
		{"go", "example.com/a/in.Twice", filepath.Join(root, "in/a.go"), []string{"go", "build", "-trimpath"}},
		{"stripped go", "example.com/a/in.Twice", filepath.Join(root, "in/a.go"),
			[]string{"go", "build", "-trimpath", "-ldflags=-s -w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := filepath.Join(build, c.name)
			argv := append(c.argv[:len(c.argv):len(c.argv)], "-o", program)
			cmd := exec.Command(argv[0], argv[1:]...)
			if cmd.Dir = build; argv[0] == "go" {
				cmd.Dir = root
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", argv, err, out)
			}
			cache := t.TempDir()
			for range 2 { // the second is of the cache
				foundSource(t, program, cache, root, c.function, c.source)
			}
			taken := filepath.Join(elsewhere, c.name)
			if err := os.Rename(program, taken); err != nil {
				t.Fatal(err)
			}
			foundSource(t, taken, cache, root, c.function, "")
		})
	}
}

// foundSource wants the function to be the project's, and where source is not empty its file.
func foundSource(t *testing.T, program, cache, root, function, source string) {
	t.Helper()
	m, err := Open(program, Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	set, err := ParseSet([]string{"@usercode"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Functions() {
		if f.Name != function {
			continue
		}
		if source != "" && f.File != source {
			t.Errorf("%s: %s is of %q, want %q", program, function, f.File, source)
		}
		if !set.Match(&f, root) || set.Match(&f, t.TempDir()) {
			t.Errorf("%s: %s of %q: of the project %v", program, function, f.File, set.Match(&f, root))
		}
		return
	}
	t.Errorf("%s has no %s", program, function)
}
