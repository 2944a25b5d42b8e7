package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// debugpyVersion is the release of debugpy that is compared with.
const debugpyVersion = "1.8.22"

// dapProgram is a program that adapters debug.
type dapProgram struct {
	what   string
	source string
	binary string   // or the interpreter
	args   []string // before the program's own
	text   string   // of the source
	throws string   // label or name of a filter of exceptions, in small letters, of those that each adapter has
	lists  []string // parts of data that have 1,000 elements
}

// line is the number of the line that ends with a comment.
func (p *dapProgram) line(comment string) int {
	for i, line := range strings.Split(p.text, "\n") {
		if strings.HasSuffix(line, "// "+comment) || strings.HasSuffix(line, "# "+comment) {
			return i + 1
		}
	}
	panic("no line of " + p.source + " ends with " + comment)
}

// dapAdapter is an adapter, and what it is told to launch.
type dapAdapter struct {
	name, id string
	command  []string
	launch   func(p *dapProgram, args []string) map[string]any
	ours     bool
	can      map[string]any // what it said that it offers
}

// dapPair is a program, Strobe's adapter and others that debug it.
type dapPair struct {
	program  *dapProgram
	adapters []*dapAdapter // Strobe's first
}

// dap does the same steps of the same programs with Strobe's adapter and others.
func (b *bench) dap() error {
	pairs, err := b.dapPairs()
	if err != nil {
		return err
	}
	var text strings.Builder
	for i := range pairs {
		if err := b.dapFigures(&text, &pairs[i]); err != nil {
			return err
		}
	}
	capabilityTable(&text, pairs)
	b.dapBehaviours(&text, pairs)
	if flag.Lookup("json").Value.String() == "true" { // its figures are among the measures
		return nil
	}
	_, err = os.Stdout.WriteString(text.String())
	return err
}

// dapPairs are the programs, built, and the adapters that are there.
func (b *bench) dapPairs() ([]dapPair, error) {
	dir, err := filepath.Abs(filepath.Join("bench", "testdata", "dap"))
	if err != nil {
		return nil, err
	}
	cc, py := filepath.Join(dir, "shop.cc"), filepath.Join(dir, "shop.py")
	bin := filepath.Join(b.dir, "shop")
	if out, err := exec.Command("g++", "-g", "-O0", cc, "-o", bin).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build shop.cc: %w: %s", err, out)
	}
	ours := func() *dapAdapter {
		return &dapAdapter{name: "Strobe", id: "strobe", command: []string{b.strobe, "dap"}, ours: true,
			launch: launchBinary}
	}
	native := dapPair{&dapProgram{what: "a C++ program", source: cc, binary: bin, lists: []string{"array", "list"},
		throws: "c++ throw"}, []*dapAdapter{ours()}}
	if a := newestLLDB(); a != nil {
		native.adapters = append(native.adapters, a)
	}
	if a := newGDB(); a != nil {
		native.adapters = append(native.adapters, a)
	}
	pairs := []dapPair{native}
	if python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: python3 is not installed: no program of Python's is debugged")
	} else {
		p := dapPair{&dapProgram{what: "a Python program", source: py, binary: strings.TrimSpace(string(python)),
			args: []string{py}, lists: []string{"list"}, throws: "raised"}, []*dapAdapter{ours()}}
		if a := debugpy(p.program); a != nil {
			p.adapters = append(p.adapters, a)
		}
		pairs = append(pairs, p)
	}
	for i := range pairs {
		text, err := os.ReadFile(pairs[i].program.source)
		if err != nil {
			return nil, err
		}
		pairs[i].program.text = string(text)
	}
	return pairs, nil
}

func launchBinary(p *dapProgram, args []string) map[string]any {
	return map[string]any{"program": p.binary, "args": append(append([]string{}, p.args...), args...),
		"cwd": filepath.Dir(p.source)}
}

var lastNumber = regexp.MustCompile(`(\d+)$`)

// newestLLDB finds lldb's adapter, of the highest version that is installed: it was lldb-vscode before 18.
func newestLLDB() *dapAdapter {
	var found []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, name := range []string{"lldb-dap", "lldb-vscode"} {
			one, _ := filepath.Glob(filepath.Join(dir, name)) // the patterns are well formed
			more, _ := filepath.Glob(filepath.Join(dir, name+"-[0-9]*"))
			found = append(append(found, one...), more...)
		}
	}
	if len(found) == 0 {
		fmt.Fprintln(os.Stderr, "bench: no lldb-dap and no lldb-vscode is installed: skipped; Debian has it in lldb-NN")
		return nil
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(lastNumber.FindString(path)) // none: 0
		return n
	}
	path := slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	launch := func(p *dapProgram, args []string) map[string]any {
		m := launchBinary(p, args)
		m["disableASLR"] = false // a container need not allow it
		return m
	}
	return &dapAdapter{name: filepath.Base(path), id: "lldb-dap", command: []string{path}, launch: launch}
}

// newGDB is gdb, where it has an adapter.
func newGDB() *dapAdapter {
	out, err := exec.Command("gdb", "--version").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: gdb is not installed: skipped")
		return nil
	}
	first, _, _ := strings.Cut(string(out), "\n")
	version := first[strings.LastIndexByte(first, ' ')+1:]
	major, _, _ := strings.Cut(version, ".")
	if n, _ := strconv.Atoi(major); n < 14 {
		fmt.Fprintf(os.Stderr, "bench: gdb %s has no adapter, which came with gdb 14: skipped\n", version)
		return nil
	}
	return &dapAdapter{name: "gdb " + version, id: "gdb", command: []string{"gdb", "-nx", "-q", "--interpreter=dap"},
		launch: launchBinary}
}

// debugpy finds debugpy below the user's cache, or has pip put it there.
func debugpy(p *dapProgram) *dapAdapter {
	cache, err := os.UserCacheDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no debugpy: skipped:", err)
		return nil
	}
	dir := filepath.Join(cache, "strobe-bench", "debugpy")
	python := filepath.Join(dir, "bin", "python")
	version := func() string {
		out, err := exec.Command(python, "-c", "import debugpy; print(debugpy.__version__)").Output()
		if err != nil {
			return "" // it is not there
		}
		return strings.TrimSpace(string(out))
	}
	if version() != debugpyVersion {
		for _, c := range [][]string{{p.binary, "-m", "venv", dir},
			{python, "-m", "pip", "install", "-q", "debugpy==" + debugpyVersion}} {
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "bench: no debugpy: skipped: %s: %v: %.300s\n", strings.Join(c, " "), err, out)
				return nil
			}
		}
	}
	launch := func(p *dapProgram, args []string) map[string]any {
		return map[string]any{"program": p.source, "args": args, "python": []string{p.binary},
			"console": "internalConsole", "cwd": filepath.Dir(p.source)}
	}
	return &dapAdapter{name: "debugpy " + version(), id: "debugpy", command: []string{python, "-m", "debugpy.adapter"},
		launch: launch}
}
