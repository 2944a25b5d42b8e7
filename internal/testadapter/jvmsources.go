package testadapter

import (
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/near"
)

// jvmSources are the source files of a Java or Kotlin project. A stack names only a class and its file's base name: the
// path is found here.
type jvmSources struct {
	p     *Project
	files map[string][]string // by base name
	lines map[string][]string // of the file that was read last
	cut   bool                // there are more files than are looked at
}

const maxJVMWalk = 200_000 // entries of folders

var jvmEndings = []string{".java", ".kt", ".groovy", ".scala"}

func newJVMSources(p *Project, dir string) *jvmSources {
	s := &jvmSources{p: p, files: map[string][]string{}, lines: map[string][]string{}}
	left := maxJVMWalk
	_ = fs.WalkDir(p.FS, path.Clean(dir), func(at string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			s.cut = true
			return fs.SkipAll
		}
		switch base := path.Base(at); {
		case err != nil:
			return fs.SkipDir
		case d.IsDir():
			// A package may be called build, too: only what is built beside src is left out.
			if at != "." && (strings.HasPrefix(base, ".") || base == "node_modules" ||
				!strings.Contains(at, "src/") && (base == "target" || base == "build" || base == "out")) {
				return fs.SkipDir
			}
		case slices.Contains(jvmEndings, path.Ext(base)):
			s.files[base] = append(s.files[base], at)
		}
		return nil
	})
	return s
}

// packageOf is a class's package as a path, and its outermost class's name.
func packageOf(class string) (dir, outer string) {
	i := strings.LastIndexByte(class, '.')
	outer, _, _ = strings.Cut(class[i+1:], "$")
	return strings.ReplaceAll(class[:max(i, 0)], ".", "/"), outer
}

// find is the path of a class's file, of which the base name may be known; "" where it is not the project's. Of several
// the one in module is taken.
func (s *jvmSources) find(class, base, module string) string {
	dir, outer := packageOf(class)
	var found []string
	for _, name := range []string{base, outer + ".java", outer + ".kt", outer + ".groovy", outer + ".scala"} {
		if found = s.files[name]; len(found) > 0 || base != "" {
			break
		}
	}
	best, most := "", -1
	for _, at := range found {
		folder := "/" + path.Dir(at)
		score := 0
		switch {
		case dir == "" || strings.HasSuffix(folder, "/"+dir):
			score = 100
		case strings.HasSuffix(at, ".java"):
			continue // Java's folders are its packages
		default: // Kotlin leaves out what all packages begin with
			words := strings.Split(dir, "/")
			for n := len(words) - 1; n > 0 && score == 0; n-- {
				if strings.HasSuffix(folder, "/"+strings.Join(words[len(words)-n:], "/")) {
					score = n
				}
			}
			if score == 0 && !strings.HasSuffix(folder, "/kotlin") {
				continue
			}
		}
		if module == "." || strings.HasPrefix(at, module+"/") {
			score += 1000
		}
		if score > most {
			best, most = at, score
		}
	}
	return best
}

// line is where a method stands; 0: not known.
func (s *jvmSources) line(file, method string) int {
	if file == "" || method == "" {
		return 0
	}
	lines := s.lines[file]
	if lines == nil {
		clear(s.lines)
		lines = strings.Split(s.p.read(file), "\n")
		s.lines[file] = lines
	}
	for i, line := range lines {
		if m := jvmMethod.FindStringSubmatch(line); m != nil && m[1]+m[2] == method {
			return i + 1
		}
	}
	return 0
}

// jvmMethod is a declaration of a test: void in Java, fun in Kotlin, also between backticks; def in Groovy.
var jvmMethod = regexp.MustCompile("^\\s*(?:[\\w@()\".]+\\s+)*?(?:void|fun|def|[\\w.]+<.*>)\\s+" +
	"(?:(\\w+)|[`\"]([^`\"]+)[`\"])\\s*\\(")

// module is the folder of the nearest of some build files above a source file.
func (s *jvmSources) module(file string, builds ...string) string {
	for _, dir := range upward(path.Dir(file)) {
		if s.p.first(dir, builds...) != "" {
			return dir
		}
	}
	return "."
}

// jvmChoice is what of a request: classes and methods for the build tool, which knows no cases, and whether a test is
// meant.
type jvmChoice struct {
	want    string // without its module
	module  string // below Root; "": any
	targets []jvmTarget
	keep    func(t *Test) bool
}

// jvmTarget is a class, or one of its methods; plain is one that is known to have no cases, or JUnit 5's.
type jvmTarget struct {
	class, method, file string
	plain               bool
}

// choice finds what a text means: module::class#method(types)[case], a class with or without package, Class.method,
// else a part of methods' names.
func (s *jvmSources) choice(text string) *jvmChoice {
	c := &jvmChoice{want: text}
	if module, rest, ok := strings.Cut(text, "::"); ok && s.p.isDir(module) {
		c.module, c.want = path.Clean(module), rest
	}
	class, method, exact := strings.Cut(c.want, "#")
	if !exact {
		if i := strings.LastIndexByte(class, '.'); i > 0 && s.classFile(class, c.module) == "" &&
			s.classFile(class[:i], c.module) != "" {
			class, method = class[:i], class[i+1:]
			c.want = class + "#" + method
		}
	}
	file := s.classFile(class, c.module)
	if file == "" && !exact {
		c.targets = s.declared(text)
		c.keep = func(t *Test) bool { return strings.Contains(t.Name, text) || strings.Contains(t.ID, text) }
		return c
	}
	if i := strings.IndexAny(method, "(["); i > 0 {
		method = method[:i]
	}
	if file != "" && !strings.Contains(class, ".") {
		class = s.packageIn(file) + class
	}
	c.targets = []jvmTarget{{class: class, method: method, file: file}}
	c.keep = func(t *Test) bool { return c.means(t.ID) }
	return c
}

// means says whether an ID is what was asked for, one of its cases, or of its class.
func (c *jvmChoice) means(id string) bool {
	module, rest, ok := strings.Cut(id, "::")
	if !ok {
		module, rest = ".", id
	}
	if c.module != "" && module != c.module {
		return false
	}
	class, method, _ := strings.Cut(rest, "#")
	wantClass, wantMethod, _ := strings.Cut(c.want, "#")
	if class != wantClass && !strings.HasSuffix(class, "."+wantClass) {
		inner := strings.HasPrefix(class, wantClass+"$") || strings.Contains(class, "."+wantClass+"$")
		return wantMethod == "" && inner
	}
	tail, ok := strings.CutPrefix(method, wantMethod)
	// A class that did not begin (@BeforeAll) is told instead of its methods.
	return method == "" || ok && (tail == "" || wantMethod == "" || strings.ContainsAny(tail[:1], "(["))
}

// classFile is the file of a class that is named with or without its package.
func (s *jvmSources) classFile(class, module string) string {
	if class == "" || strings.ContainsAny(class, " /") {
		return ""
	}
	if strings.Contains(class, ".") {
		return s.find(class, "", orDot(module))
	}
	outer, _, _ := strings.Cut(class, "$")
	for _, ending := range jvmEndings {
		for _, at := range s.files[outer+ending] {
			if module == "" || module == "." || strings.HasPrefix(at, module+"/") {
				return at
			}
		}
	}
	return ""
}

var jvmPackage = regexp.MustCompile(`(?m)^package\s+([\w.]+)`)

// packageIn is the package that a file declares, with a dot.
func (s *jvmSources) packageIn(file string) string {
	if m := jvmPackage.FindStringSubmatch(s.p.read(file)); m != nil {
		return m[1] + "."
	}
	return ""
}

// declared are what of test files a text means: methods whose names contain it, else whole classes where it stands, as
// in the name that a test is shown by. A method of a class within another is known by its class only.
func (s *jvmSources) declared(text string) (list []jvmTarget) {
	const most = 100
	for file, body := range s.tests() {
		if !strings.Contains(body, text) || len(list) >= most {
			continue
		}
		base := path.Base(file)
		whole := jvmTarget{class: s.packageIn(file) + strings.TrimSuffix(base, path.Ext(base)), file: file}
		n := len(list)
		for line := range strings.Lines(body) {
			m := jvmMethod.FindStringSubmatch(line)
			if m == nil || !strings.Contains(m[1]+m[2], text) {
				continue
			}
			one := whole
			if one.method = m[1] + m[2]; strings.HasPrefix(line, "     ") || strings.HasPrefix(line, "\t\t") {
				list = append(list[:n], whole)
				break
			}
			list = append(list, one)
		}
		if len(list) == n {
			list = append(list, whole)
		}
	}
	return list
}

// tests are the files that may have tests, and what they hold.
func (s *jvmSources) tests() iter.Seq2[string, string] {
	return func(yield func(file, body string) bool) {
		for _, base := range slices.Sorted(maps.Keys(s.files)) {
			for _, file := range s.files[base] {
				if (strings.Contains("/"+file, "/src/test/") || strings.Contains(base, "Test")) && !yield(file, s.p.read(file)) {
					return
				}
			}
		}
	}
}

// near are names of tests that are like a text.
func (s *jvmSources) near(text string) []string {
	var names []string
	for file, body := range s.tests() {
		class := strings.TrimSuffix(path.Base(file), path.Ext(file))
		names = append(names, class)
		for line := range strings.Lines(body) {
			if m := jvmMethod.FindStringSubmatch(line); m != nil && len(names) < maxNear {
				names = append(names, class+"#"+m[1]+m[2])
			}
		}
	}
	return near.Parts(text, names, 5)
}

// moduleOf is the folder that a JVM's tests ran for, below Root.
func (x *jvmRun) moduleOf(dir string) string {
	rel := x.res.rel(dir)
	if filepath.IsAbs(rel) {
		return "."
	}
	return orDot(rel)
}
