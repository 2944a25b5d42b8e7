package strobetest

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firstJava is the first JDK whose programs are traced.
const firstJava = 17

var javaVersion = regexp.MustCompile(`version "((\d+)[^"]*)"`)

// Javas are the JDKs of this machine from 17 on, the oldest first. Path is their java; javac stands beside it.
func Javas(t testing.TB) []Interpreter {
	t.Helper()
	NeedCommand(t, "java", "javac")
	paths, err := filepath.Glob("/usr/lib/jvm/*/bin/javac")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := exec.LookPath("javac"); err == nil {
		paths = append(paths, p)
	}
	found := map[string]Interpreter{}
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		p = filepath.Join(filepath.Dir(p), "java")
		said, err := exec.Command(p, "-version").CombinedOutput()
		m := javaVersion.FindSubmatch(said)
		if err == nil && m != nil && byVersion(string(m[2]), strconv.Itoa(firstJava)) >= 0 {
			found[string(m[2])] = Interpreter{Name: "java " + string(m[2]), Version: string(m[1]), Path: p}
		}
	}
	var all []Interpreter
	for _, in := range found {
		all = append(all, in)
	}
	if len(all) == 0 {
		Lack(t, "no JDK from %d on is here", firstJava)
	}
	slices.SortFunc(all, func(a, b Interpreter) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return all
}

// CompileJava compiles a folder of sources with the JDK of an interpreter, and returns the folder of the classes.
func CompileJava(t testing.TB, in Interpreter, sources string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sources, "*.java"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", sources, err)
	}
	dir := t.TempDir()
	javac := filepath.Join(filepath.Dir(in.Path), "javac")
	if out, err := exec.Command(javac, append([]string{"-g", "-d", dir}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return dir
}
