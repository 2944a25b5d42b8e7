package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

const goStatements = `package main

//go:noinline
func work(n int, c chan int) { defer done(n); c <- n }

//go:noinline
func done(n int) { println(n) }

func main() {
	c := make(chan int)
	go work(3, c)
	defer func() { done(9) }()
	<-c
}
`

// TestGoStatements: what is the project's of a Go program is the same with debug information and without. Keeps out:
// twice the calls of a stripped program, of functions that the compiler made of its go and defer statements.
func TestGoStatements(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": goStatements, "go.mod": "module example.com/a\n\ngo 1.22\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := ParseSet([]string{"@usercode"})
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-ldflags=", "-ldflags=-s -w"} {
		cmd := exec.Command("go", "build", flags, "-o", "prog", ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		m, err := Open(filepath.Join(dir, "prog"), Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var got []string
		for _, f := range m.Functions() {
			if set.Match(&f, dir) {
				got = append(got, f.Name)
			}
		}
		slices.Sort(got)
		if want := []string{"main.done", "main.main", "main.main.func1", "main.work"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}
