package classfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

var recorder = Recorder{Class: "rec/Rec", Record: "rec/Rec$T"}

// run runs a program and returns what it wrote.
func run(t *testing.T, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%.4000s", name, args, err, &out, &errs)
	}
	return out.String(), errs.String()
}

// weaveAll weaves every method of the classes below from into to, and checks that what is not changed stays as it was.
func weaveAll(t *testing.T, from, to string) (classes, methods int) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".class") || strings.HasPrefix(name, "rec/") ||
			strings.HasSuffix(name, "-info.class") {
			return err
		}
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		f, err := Parse(b)
		if err != nil {
			t.Errorf("Parse(%s): %v", name, err)
			return nil
		}
		if !bytes.Equal(f.Bytes(), b) {
			t.Errorf("%s is written otherwise than it was", name)
		}
		classes++
		for i := range f.Methods {
			if err := f.Weave(i, int32(methods*7), recorder); err == nil {
				methods++
			} else if !errors.Is(err, ErrNoCode) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("Weave(%s, %d): %v", name, i, err)
			}
		}
		out := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
		return os.WriteFile(out, f.Bytes(), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return classes, methods
}

func compileRecorder(t *testing.T) string {
	dir := t.TempDir()
	run(t, "javac", "-d", dir, "testdata/Rec.java")
	return dir
}

// TestShapes: classes that javac made for each JDK that is here run woven as they did, verified, and every call has an
// end.
func TestShapes(t *testing.T) {
	rec := compileRecorder(t)
	shapes := []struct {
		name    string
		from    int // version of Java
		methods int
		open    int // calls without an end
		flags   []string
	}{
		{"Shapes", 0, 50, 1, []string{"-g"}},
		{"Shapes", 0, 50, 1, []string{"-g:none"}},
		{"Shapes", 0, 50, 1, []string{"-g", "-parameters", "-XDstringConcat=inline"}},
		{"Modern", 21, 20, 0, []string{"-g"}},
		{"Newest", 25, 10, 1, []string{"-g"}},
	}
	for i, in := range strobetest.Javas(t) {
		for k, s := range shapes {
			if v, err := strconv.Atoi(in.Feature()); err != nil || v < s.from || i > 0 && s.from == 0 && k > 0 {
				continue
			}
			t.Run(fmt.Sprint(in.Name, s.name, s.flags), func(t *testing.T) {
				plain, woven := t.TempDir(), t.TempDir()
				strobetest.Javac(t, in, append(s.flags, "-d", plain, "testdata/"+s.name+".java")...)
				if _, methods := weaveAll(t, plain, woven); methods < s.methods {
					t.Errorf("%d methods were woven", methods)
				}
				// One constructor of Shapes is left by an exception of the one that it calls. A stack that overflows in the
				// recorder itself loses some of the thousands of ends, or begins.
				ends := []recordedEnds{{nil, s.open, s.open}}
				if s.name == "Shapes" {
					ends = append(ends, recordedEnds{[]string{"overflow"}, -20, 20})
				}
				for _, c := range ends {
					want, _ := run(t, in.Path, append([]string{"-cp", plain, s.name}, c.args...)...)
					got, said := run(t, in.Path, append([]string{"-Xverify:all", "-Xbootclasspath/a:" + rec, "-cp", woven, s.name},
						c.args...)...)
					if got != want {
						t.Errorf("%v: woven, it prints\n%s\nwant\n%s", c.args, got, want)
					}
					c.check(t, said, s.name)
				}
			})
		}
	}
}

// recordedEnds is how many calls without an end the recorder may count in a run with args.
type recordedEnds struct {
	args     []string
	min, max int
}

// check looks at what the recorder has counted.
func (c recordedEnds) check(t *testing.T, said, name string) {
	t.Helper()
	var begun, some, sum bool
	var open int
	if _, err := fmt.Sscanf(said[max(0, strings.Index(said, "begins=")):], "begins=%t exits=%d some=%t sum=%t", &begun, &open,
		&some, &sum); err != nil || open < c.min || open > c.max || !some || name == "Shapes" && !sum ||
		!begun && c.min == c.max {
		t.Errorf("%v: the recorder counts %s", c.args, said)
	}
}

// TestCompiler: a program of thousands of classes, Java's compiler, works woven as it does.
func TestCompiler(t *testing.T) {
	strobetest.NeedCommand(t, "javac", "java", "jimage")
	rec := compileRecorder(t)
	image := filepath.Join(javaHome(t), "lib", "modules")
	all, woven := t.TempDir(), t.TempDir()
	run(t, "jimage", "extract", "--include", "regex:/jdk.compiler/.*", "--dir", all, image)
	classes, methods := weaveAll(t, filepath.Join(all, "jdk.compiler"), woven)
	t.Logf("%d classes, %d methods", classes, methods)
	if classes < 500 {
		t.Errorf("the compiler has %d classes", classes)
	}
	plain, byWoven := t.TempDir(), t.TempDir()
	run(t, "javac", "-d", plain, "testdata/Shapes.java")
	run(t, "java", "-Xverify:all", "-Xbootclasspath/a:"+rec, "--add-reads", "jdk.compiler=ALL-UNNAMED",
		"--patch-module", "jdk.compiler="+woven,
		"-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", byWoven, "testdata/Shapes.java")
	want, err := os.ReadFile(filepath.Join(plain, "Shapes.class"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(byWoven, "Shapes.class")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the woven compiler makes another Shapes.class: %d bytes, want %d (%v)", len(got), len(want), err)
	}
}

// javaHome is the folder of the JDK whose java is first.
func javaHome(t *testing.T) string {
	t.Helper()
	_, said := run(t, "java", "-XshowSettings:properties", "-version")
	for line := range strings.Lines(said) {
		if name, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "java.home" {
			return strings.TrimSpace(v)
		}
	}
	t.Fatal("java does not say where it is")
	return ""
}

// TestMethod: names, types and lines of parameters are what the source has.
func TestMethod(t *testing.T) {
	strobetest.NeedCommand(t, "javac")
	dir := t.TempDir()
	run(t, "javac", "-g", "-d", dir, "testdata/Shapes.java")
	b, err := os.ReadFile(filepath.Join(dir, "Shapes.class"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if f.Name() != "Shapes" || f.SourceFile() != "Shapes.java" {
		t.Errorf("class %q of %q", f.Name(), f.SourceFile())
	}
	if outer, simple, ok := f.Inner("Shapes$Derived"); outer != "Shapes" || simple != "Derived" || !ok {
		t.Errorf("Inner = %q, %q, %v", outer, simple, ok)
	}
	for i := range f.Methods {
		m, err := f.Method(i)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != "many" {
			continue
		}
		var got []string
		for _, p := range m.Params {
			got = append(got, p.Name+string(p.Type))
		}
		if s := strings.Join(got, " "); s != "bB sS cC zZ iI jJ fF dD tL a[ o[" || m.Result != 'J' || !m.Static() {
			t.Errorf("many(%s) %c", s, m.Result)
		}
		if src, err := os.ReadFile("testdata/Shapes.java"); err != nil ||
			!strings.Contains(strings.Split(string(src), "\n")[m.Line-1], "i = 9;") {
			t.Errorf("many begins at line %d (%v)", m.Line, err)
		}
		return
	}
	t.Error("no method many")
}

func TestDescriptor(t *testing.T) {
	for in, want := range map[string]string{
		"()V": "V", "(IJ)D": "IJD", "([[ILa/b;)[La/b;": "[L[", "(": "", "()": "", "(V": "", "([V)V": "", "(La)V": "", "I": "",
		"()VV": "", "(I)[": "",
	} {
		params, result, err := parseDescriptor(in)
		got := string(params)
		if err == nil {
			got += string(result)
		} else {
			got = ""
		}
		if got != want {
			t.Errorf("parseDescriptor(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzWeave: whatever the bytes are, they are read or refused, and what is woven can be read again.
func FuzzWeave(f *testing.F) {
	strobetest.NeedCommand(f, "javac")
	dir := f.TempDir()
	if out, err := exec.Command("javac", "-g", "-d", dir, "testdata/Shapes.java").CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.class"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Bytes(), b) {
			t.Fatal("it is written otherwise than it was")
		}
		c.Inner("A$B")
		c.Enclosing()
		c.SourceFile()
		for i := range c.Methods {
			if c.Weave(i, int32(i), recorder) == nil {
				if _, err := readCode(c.attribute(c.Methods[i].Attributes, "Code")); err != nil {
					t.Fatalf("woven, method %d cannot be read: %v", i, err)
				}
			}
		}
		if _, err := Parse(c.Bytes()); err != nil {
			t.Fatalf("woven, it cannot be read: %v", err)
		}
	})
}
