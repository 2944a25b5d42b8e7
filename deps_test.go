// Package strobe_test checks what holds for the whole tree: who may import whom, package docs,
// platform files, unsafe, file lengths, and that generated documents are fresh.
//
// It has no place in the data path; the tree's root has no code of its own.
package strobe_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/strobe-debug/strobe"

// openToAll may be imported by every package and imports nothing of ours but itself and secret: shared
// types (event), errors (fault), checks (doctor), rendered values (value), names that may have been meant (near), files
// that somebody else named (plainfile), names of secrets (secret), regular expressions that wait until they are used
// (lazyregexp), sorts that are not hot (sorting), and files that are embedded (packed).
var openToAll = []string{"internal/event", "internal/fault", "internal/doctor", "internal/value", "internal/near",
	"internal/plainfile", "internal/lazyregexp", "internal/secret", "internal/sorting", "internal/packed"}

// mayImport is the import table of docs/architecture.md. A package without a row is an error; a
// new edge is a design change and wants a commit of its own with the reason.
var mayImport = map[string][]string{
	"cmd/strobe": {"internal/cli"},
	"internal/cli": {"internal/dap", "internal/daemon", "internal/export", "internal/query", "internal/store",
		"internal/settings", "internal/service", "internal/mcp", "internal/crash", "internal/install",
		"internal/collector", "internal/hunt", "internal/page", "internal/fleet", "internal/bucket",
		"internal/scenario", "internal/ui/display", "internal/follow", "internal/group", "internal/checkout"},
	"internal/group":  {}, // knows the tools by their answers alone
	"internal/follow": {}, // knows the tools by what they say alone
	"internal/hunt":   {"internal/symbol", "internal/ptrace"},
	// daemon/builtin.go sees both sides: it names every runtime, see runtimeFolders.
	"internal/daemon": {"internal/mcp", "internal/service", "internal/session", "internal/settings",
		"internal/store", "internal/collector", "internal/corefile", "internal/testadapter", "internal/natvis",
		"internal/group"},
	"internal/mcp":  {"internal/service", "internal/query", "internal/pager"},
	"internal/dap":  {"internal/service", "internal/collector"}, // the shapes of answers
	"internal/page": {},                                         // knows the daemon by its answers alone
	"internal/export": {"internal/store", "internal/record", "internal/crash", "internal/parquet", "internal/exchange",
		"internal/switches"},
	"internal/service": {"internal/session", "internal/query", "internal/collector", "internal/settings",
		"internal/testrun", "internal/testsetup", "internal/testadapter", "internal/tracediff", "internal/crash",
		"internal/hunt", "internal/iochan", "internal/scenario", // what channels there are
		"internal/ui", "internal/ui/desktop"},
	"internal/session": {"internal/collector", "internal/report", "internal/iochan", "internal/store",
		"internal/settings", "internal/crash", "internal/ui/display", "internal/checkout"},
	// user interfaces: what a session's program shows, and hands
	"internal/ui":         {},
	"internal/ui/dbus":    {},
	"internal/ui/x11":     {},
	"internal/ui/atspi":   {"internal/ui", "internal/ui/dbus"},
	"internal/ui/display": {"internal/ui/dbus", "internal/ui/x11"},
	"internal/ui/wayland": {"internal/ui/x11"},
	"internal/ui/desktop": {"internal/ui", "internal/ui/dbus", "internal/ui/x11", "internal/ui/atspi",
		"internal/ui/wayland"},
	"internal/query": {"internal/store", "internal/record", "internal/crash", "internal/columns",
		"internal/expr", // claims over recorded values
		"internal/switches", "internal/exchange"},
	"internal/exchange": {"internal/wire"},
	// whole sessions, put where those of many machines are
	"internal/fleet":    {"internal/bucket", "internal/export", "internal/store", "internal/parquet"},
	"internal/checkout": {},
	"internal/bucket":   {},
	"internal/columns":  {},
	"internal/pager":    {},
	"internal/parquet":  {},
	"internal/record":   {"internal/store"},
	"internal/store":    {},
	"internal/crash":    {},
	"internal/settings": {},
	"internal/install":  {},
	"internal/iochan":   {"internal/websocket", "internal/sound", "internal/sound/pulse", "internal/midi"},
	"internal/sound":    {},
	"internal/midi":     {},
	// the protocol of sound servers
	"internal/sound/pulse": {},
	// asks as debug_query does, sends by channels
	"internal/scenario": {"internal/query", "internal/iochan"},
	// the shape of what threads do
	"internal/collector": {"internal/waits", "internal/locks", "internal/crash"},
	// names of Go's code; the user's descriptions of types
	"internal/collector/native": {"internal/wire", "internal/collector", "internal/inspect", "internal/ptrace", "internal/ring",
		"internal/spool", "internal/hook", "internal/symbol", "internal/capture", "internal/expr", "internal/snapshot",
		"internal/unwind", "internal/waits", "internal/exception", "internal/step", "internal/spin", "internal/emulate",
		"internal/goroutine", "internal/natvis", "internal/crash", "internal/locks", "internal/switches"},
	"internal/agentlink":        {"internal/collector", "internal/crash"},
	"internal/collector/python": {"internal/collector", "internal/agentlink"},
	"internal/collector/js":     {"internal/collector", "internal/agentlink", "internal/websocket", "internal/iochan"},
	"internal/collector/jvm":    {"internal/collector", "internal/agentlink", "internal/classfile"},
	"internal/classfile":        {},
	"testdata/runtimes/tally":   {"internal/collector", "internal/agentlink"},
	"internal/snapshot": {"internal/symbol", "internal/natvis", "internal/capture", "internal/unwind",
		"internal/exception", "internal/expr", "internal/crash"},
	"internal/corefile": {"internal/natvis", "internal/collector", "internal/inspect", "internal/snapshot",
		"internal/symbol", "internal/unwind", "internal/waits"},
	"internal/inspect": {"internal/collector", "internal/snapshot", "internal/symbol", "internal/capture",
		"internal/expr", "internal/unwind"},
	// descriptions of libraries' types
	"internal/capture":   {"internal/symbol", "internal/ring", "internal/expr", "internal/natvis"},
	"internal/expr":      {"internal/symbol", "internal/value", "internal/ring"},
	"internal/ptrace":    {"internal/symbol"},
	"internal/hook":      {"internal/symbol"},
	"internal/unwind":    {"internal/symbol"},
	"internal/step":      {"internal/hook"},
	"internal/emulate":   {},
	"internal/natvis":    {},
	"internal/spin":      {"internal/emulate"},
	"internal/exception": {"internal/emulate", "internal/symbol", "internal/unwind"},
	"internal/waits":     {},
	"internal/locks":     {},
	"internal/switches":  {},
	"internal/goroutine": {"internal/symbol"}, // the type of addresses
	"internal/symbol":    {},
	"internal/ring":      {},
	"internal/spool":     {},
	"internal/report":    {},
	"internal/testrun": {"internal/testadapter", "internal/testsetup", "internal/session", "internal/settings",
		"internal/store", "internal/iochan", "internal/collector", "internal/tracediff", "internal/stuck", "internal/ptrace"},
	// goroutines are read by their program's memory
	"internal/stuck":       {"internal/collector", "internal/goroutine", "internal/ptrace"},
	"internal/testsetup":   {"internal/testadapter"}, // finds what a project has by the same reading
	"internal/testadapter": {"internal/report"},      // what a crashed test program said
	"internal/tracediff":   {"internal/store", "internal/record", "internal/crash"},
	"internal/event":       {},
	"internal/fault":       {},
	"internal/doctor":      {"internal/plainfile"}, // a binary to look at may be a pipe
	"internal/plainfile":   {},
	"internal/value":       {"internal/secret"},
	"internal/near":        {"internal/sorting"},
	"internal/wire":        {}, "internal/packed": {},
	"internal/websocket":  {},
	"internal/lazyregexp": {},
	"internal/sorting":    {},
	"internal/secret":     {"internal/lazyregexp"},
	// Fixtures: the interfaces and store only, and imported from tests only.
	"internal/strobetest":           {"internal/collector", "internal/iochan", "internal/store", "internal/testadapter"},
	"internal/strobetest/sigcorpus": {}, "internal/strobetest/typecorpus": {}, "internal/strobetest/ranlog": {}, "internal/strobetest/ports": {},
	// Tests only: the binary as its users meet it.
	"internal/acceptance": {},
}

// runtimeFolders hold a folder for each language runtime. internal/daemon may import those that have a row.
var runtimeFolders = []string{"internal/collector", exampleRuntimes}

// exampleRuntimes are examples of docs/extending.md, which no binary has that ships.
const exampleRuntimes = "testdata/runtimes"

// Generators and test programs below these folders are run by hand or by a test; they follow the
// table of the folder that they stand in.
var programFolders = map[string]string{
	"bench":                           "cmd/strobe",
	"hunts":                           "cmd/strobe",
	"release":                         "cmd/strobe",
	"internal/ring/gen":               "internal/ring",
	"internal/collector/native/agent": "internal/collector/native",
}

// platformPackages may have files for one GOOS or GOARCH; all else builds everywhere.
var platformPackages = []string{"internal/ptrace", "internal/ring", "internal/collector/native", "internal/iochan",
	"internal/daemon", "internal/testrun", "internal/spool", "internal/stuck", "internal/hunt", "internal/ui/display",
	"internal/ui/desktop", "internal/ui/wayland"}

// platformFiles stand elsewhere and still differ by platform, each for a reason.
var platformFiles = map[string]string{
	"internal/symbol/mapping.go":       "maps debug files into memory where the system can",
	"internal/symbol/mapping_other.go": "reads them where it cannot",
	"internal/install/owner_unix.go":   "keeps the owner of a file that is replaced",
	"internal/install/owner_other.go":  "has no owners to keep",
}

type goFile struct {
	path string // slash separated, relative to the root
	dir  string
	ast  *ast.File
	test bool
	gen  bool
	text string
}

func skipDir(p string) bool {
	name := path.Base(filepath.ToSlash(p))
	if p == "testdata" || path.Dir(filepath.ToSlash(p)) == "testdata" {
		return p != "testdata" && filepath.ToSlash(p) != exampleRuntimes
	}
	return name == "testdata" || name == "bin" || name == "out" || name == "web" || name == "editors" ||
		(strings.HasPrefix(name, ".") && name != ".") || strings.HasPrefix(name, "_")
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parsedFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parsedFiles reads the tree once for all tests.
var parsedFiles = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(p) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, src, parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(p)
		files = append(files, goFile{
			path: slash, dir: path.Dir(slash), ast: f, text: string(src),
			test: strings.HasSuffix(p, "_test.go"), gen: ast.IsGenerated(f),
		})
		return nil
	})
	return files, err
})

func (f goFile) ours() []string {
	var imports []string
	for _, spec := range f.ast.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		if rest, ok := strings.CutPrefix(name, modulePath+"/"); ok {
			imports = append(imports, rest)
		}
	}
	return imports
}

// ruleFor returns the row that holds for a folder.
func ruleFor(dir string) ([]string, bool) {
	if row, ok := mayImport[dir]; ok {
		if dir == "internal/daemon" {
			row = slices.Clone(row)
			for pkg := range mayImport {
				if slices.Contains(runtimeFolders, path.Dir(pkg)) {
					row = append(row, pkg)
				}
			}
		}
		return row, true
	}
	for folder, as := range programFolders {
		if dir == folder || strings.HasPrefix(dir, folder+"/") {
			return append([]string{as}, mayImport[as]...), true
		}
	}
	return nil, false
}

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.dir == "." {
			continue // this package sees all
		}
		allowed, ok := ruleFor(f.dir)
		if !ok {
			t.Errorf("%s: %s has no row in mayImport", f.path, f.dir)
			continue
		}
		for _, imp := range f.ours() {
			fixture := imp == "internal/strobetest" || strings.HasPrefix(imp, "internal/strobetest/")
			switch {
			case fixture && !f.test && !strings.HasPrefix(f.dir, "internal/strobetest"):
				t.Errorf("%s imports %s: fixtures are for tests only", f.path, imp)
			case fixture || f.test:
				// Tests may put parts together that the program keeps apart.
			case slices.Contains(openToAll, imp) && !slices.Contains(openToAll, f.dir):
			case slices.Contains(openToAll, f.dir) && imp == "internal/fault" && f.dir != "internal/event":
			case slices.Contains(allowed, imp):
			default:
				t.Errorf("%s imports %s; %s may import only %v and %v", f.path, imp, f.dir, allowed, openToAll)
			}
		}
	}
}

// TestImportTable keeps the table acyclic and free of names that do not exist any more.
func TestImportTable(t *testing.T) {
	var visit func(pkg string, trail []string)
	visit = func(pkg string, trail []string) {
		if slices.Contains(trail, pkg) {
			t.Fatalf("import table has a cycle: %v -> %s", trail, pkg)
		}
		row, ok := ruleFor(pkg)
		if !ok {
			t.Fatalf("%v -> %s has no row", trail, pkg)
		}
		for _, next := range row {
			visit(next, append(slices.Clone(trail), pkg))
		}
	}
	for pkg := range mayImport {
		visit(pkg, nil)
	}
}

func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.test && f.dir != "." {
			continue
		}
		documented[f.dir] = documented[f.dir] || f.ast.Doc.Text() != ""
	}
	for _, dir := range sortedKeys(documented) {
		if !documented[dir] {
			t.Errorf("%s has no package comment above a package clause", dir)
		}
	}
}

var (
	goosArch     = `(linux|darwin|windows|freebsd|netbsd|openbsd|android|ios|js|wasip1|plan9|amd64|arm64|arm|386|riscv64|ppc64le|s390x|unix)`
	platformFile = regexp.MustCompile(`_` + goosArch + `(_test)?\.go$`)
	buildLine    = regexp.MustCompile(`(?m)^//go:build .*\b` + goosArch + `\b`)
)

func TestPlatformFiles(t *testing.T) {
	for _, f := range goFiles(t) {
		if slices.Contains(platformPackages, f.dir) || platformFiles[f.path] != "" {
			continue
		}
		if platformFile.MatchString(f.path) {
			t.Errorf("%s is for one platform; only %v may have such files", f.path, platformPackages)
		}
		// Tests may be bound to the platform that their targets run on.
		if !f.test && buildLine.MatchString(f.text) && !ownsProgram(f.dir) {
			t.Errorf("%s has a platform build line; only %v may", f.path, platformPackages)
		}
	}
}

func ownsProgram(dir string) bool {
	for folder := range programFolders {
		if dir == folder || strings.HasPrefix(dir, folder+"/") {
			return true
		}
	}
	return strings.HasPrefix(dir, "internal/strobetest")
}

func TestUnsafe(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.gen || strings.HasSuffix(strings.TrimSuffix(f.path, "_test.go"), "_unsafe") ||
			strings.Contains(path.Base(f.path), "_unsafe") {
			continue
		}
		for _, spec := range f.ast.Imports {
			if spec.Path.Value == `"unsafe"` {
				t.Errorf("%s imports unsafe; only *_unsafe.go may", f.path)
			}
		}
	}
}

// tracked lists the text files of the tree that people write.
func tracked(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "bin" || name == "out" || name == ".git" || name == "dist" || name == "node_modules" ||
				name == "uftrace.data" {
				return fs.SkipDir
			}
			return nil
		}
		for _, s := range suffixes {
			if strings.HasSuffix(name, s) {
				files = append(files, filepath.ToSlash(p))
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestWords keeps out notes to self and the paths of one developer's machine. The words are put
// together here so that this file does not name them.
func TestWords(t *testing.T) {
	notes := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	machine := regexp.MustCompile(`/wo` + `rk/|/tmp/br` + `ief|/ro` + `ot/|/ho` + `me/[a-z]{3,}`)
	for _, p := range tracked(t, ".go", ".c", ".h", ".S", ".cpp", ".rs", ".sh", ".md", ".txtar", ".sql", ".ts", ".py",
		"Makefile", "run") {
		file, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20)
		for n := 1; lines.Scan(); n++ {
			if m := notes.FindString(lines.Text()); m != "" && !strings.Contains(p, "testdata/") {
				t.Errorf("%s:%d: %s: do it, or write it under what is missing in the docs", p, n, m)
			}
			if m := machine.FindString(lines.Text()); m != "" {
				t.Errorf("%s:%d: %q is a path of one machine", p, n, m)
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		file.Close()
	}
}

// TestSkips: a skip is an assertion about the machine, which strobetest makes, and fails where CI has promised what is
// lacking.
func TestSkips(t *testing.T) {
	call := regexp.MustCompile(`\b(t|b|f|tb)\.Skip(f|Now)?\(`)
	for _, f := range goFiles(t) {
		if f.path == "deps_test.go" || strings.HasPrefix(f.dir, "internal/strobetest") {
			continue
		}
		for i, line := range strings.Split(f.text, "\n") {
			fuzz := strings.Contains(line, "t.Skip()") && strings.Contains(f.text, "f.Fuzz(") // an input that says nothing
			if call.MatchString(line) && !fuzz {
				t.Errorf("%s:%d skips: use strobetest.Need… or Lack", f.path, i+1)
			}
		}
	}
}

func TestNoSleeps(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test && f.path != "deps_test.go" && strings.Contains(f.text, "time.Sleep(") {
			t.Errorf("%s sleeps: wait for a condition with a deadline, as strobetest.Eventually does", f.path)
		}
	}
}

// TestEveryCodeIsTested asks that a code which the program can answer with is named by some test.
func TestEveryCodeIsTested(t *testing.T) {
	files := goFiles(t)
	codes := map[string]*errorCode{}
	for _, f := range files {
		if f.path == "internal/fault/fault.go" {
			readCodes(f.ast, codes)
		}
	}
	var tests strings.Builder
	for _, p := range tracked(t, "_test.go", ".txtar") {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(src)
	}
	for _, name := range sortedKeys(codes) {
		made := slices.ContainsFunc(files, func(f goFile) bool {
			return !f.test && strings.Contains(f.text, "fault.New(fault."+name+",")
		})
		if made && !strings.Contains(tests.String(), "fault."+name) && !strings.Contains(tests.String(), codes[name].wire) {
			t.Errorf("%s is made by the program and named by no test", codes[name].wire)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
