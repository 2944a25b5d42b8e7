package strobetest

import (
	"maps"
	"os"
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

// Javas are the JDKs of this machine from 17 on, the oldest first: those of /usr/lib/jvm, the first of PATH, and those
// whose homes STROBE_TEST_JAVAS lists. Path is their java; one may be without a compiler.
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
	for _, home := range filepath.SplitList(os.Getenv("STROBE_TEST_JAVAS")) {
		paths = append(paths, filepath.Join(home, "bin", "java"))
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
	all := slices.Collect(maps.Values(found))
	if len(all) == 0 {
		Lack(t, "no JDK from %d on is here", firstJava)
	}
	slices.SortFunc(all, func(a, b Interpreter) int { return byVersion(a.Feature(), b.Feature()) })
	return all
}

// JavasFrom are those of Javas from a version on: those that have what came with it. CI promises none: Debian's own JDK
// is older.
func JavasFrom(t testing.TB, version int) []Interpreter {
	t.Helper()
	all := slices.DeleteFunc(Javas(t), func(in Interpreter) bool {
		return byVersion(in.Feature(), strconv.Itoa(version)) < 0
	})
	if len(all) == 0 {
		t.Skipf("%sno JDK from %d on is here", LeftToSoak, version)
	}
	return all
}

// Feature is a JDK's version as one number: 21.
func (in Interpreter) Feature() string { return strings.TrimPrefix(in.Name, "java ") }

// Javac compiles sources for a JDK into a folder: by its own compiler, or by the newest that is here.
func Javac(t testing.TB, in Interpreter, args ...string) {
	t.Helper()
	javac := filepath.Join(filepath.Dir(in.Path), "javac")
	if _, err := os.Stat(javac); err != nil {
		all := Javas(t)
		for i := len(all) - 1; i >= 0 && err != nil; i-- {
			javac = filepath.Join(filepath.Dir(all[i].Path), "javac")
			_, err = os.Stat(javac)
		}
		args = append([]string{"--release", in.Feature()}, args...)
	}
	if out, err := exec.Command(javac, args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
}

// CompileJava compiles a folder of sources for a JDK, and returns the folder of the classes.
func CompileJava(t testing.TB, in Interpreter, sources string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sources, "*.java"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", sources, err)
	}
	dir := t.TempDir()
	Javac(t, in, append([]string{"-g", "-d", dir}, files...)...)
	return dir
}
