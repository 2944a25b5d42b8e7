package testadapter

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// interpreter is how a project's Python is started.
type interpreter struct {
	argv    []string // before -m
	drivers []string
	adds    string // the command that adds a package for tests to it, without the package
}

// pythonTools make environments of a project's own. Each shows by its lock file or its table in pyproject.toml; "run"
// runs in it.
var pythonTools = []struct {
	name, lock string
	table      *regexp.Regexp
	adds       string
}{
	{"uv", "uv.lock", regexp.MustCompile(`(?m)^\[tool\.uv[\].]`), "uv add --dev"},
	{"poetry", "poetry.lock", regexp.MustCompile(`(?m)^\[tool\.poetry[\].]`), "poetry add --group dev"},
	{"pipenv", "Pipfile", nil, "pipenv install --dev"},
}

// pythonTool is the tool that a folder, or one above it, is kept by: its index, -1 where none is.
func (p *Project) pythonTool(dir string) int {
	for _, at := range upward(dir) {
		for i, tool := range pythonTools {
			if p.isFile(path.Join(at, tool.lock)) {
				return i
			}
		}
		manifest := p.read(path.Join(at, "pyproject.toml"))
		for i, tool := range pythonTools {
			if tool.table != nil && tool.table.MatchString(manifest) {
				return i
			}
		}
	}
	return -1
}

// python finds the Python that a project's tests run with: the environment that stands in the project, then the one
// that its lock file belongs to, then the one that is active, then the machine's.
func (p *Project) python(dir string) (*interpreter, error) {
	tool, adds := p.pythonTool(dir), ""
	if tool >= 0 {
		adds = pythonTools[tool].adds
	}
	for _, at := range upward(dir) {
		for _, name := range []string{".venv", "venv", "env"} {
			env := path.Join(at, name)
			if !p.isFile(path.Join(env, "pyvenv.cfg")) {
				continue
			}
			for _, bin := range []string{"bin/python3", "bin/python"} {
				if p.isFile(path.Join(env, bin)) {
					return &interpreter{argv: []string{filepath.Join(p.Root, env, bin)}, adds: adds}, nil
				}
			}
		}
	}
	if tool >= 0 {
		if exe, err := p.LookPath(pythonTools[tool].name); err == nil {
			return &interpreter{argv: []string{exe, "run", "python"}, drivers: []string{pythonTools[tool].name}, adds: adds}, nil
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if env := p.environ(name); env != "" {
			exe := filepath.Join(env, "bin", "python")
			if info, err := os.Stat(exe); err == nil && info.Mode().IsRegular() {
				return &interpreter{argv: []string{exe}}, nil
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		if exe, err := p.LookPath(name); err == nil {
			return &interpreter{argv: []string{exe}}, nil
		}
	}
	return nil, fault.New(fault.LaunchFailed, "Install Python, or make a virtual environment in .venv.",
		"no Python was found: neither an environment in the project nor python3 in PATH")
}

// pythonPath is the variable that puts our directory before the project's own paths.
func (p *Project) pythonPath(dir string) string {
	if old := p.environ("PYTHONPATH"); old != "" {
		dir += string(os.PathListSeparator) + old
	}
	return "PYTHONPATH=" + dir
}

var (
	pythonTest   = lazyregexp.MustCompile(`^(test_.*|.*_test|tests)\.py$`)
	importsUnit  = lazyregexp.MustCompile(`(?m)^\s*(import unittest|from unittest\b|from django\.test\b)`)
	importsTest  = lazyregexp.MustCompile(`(?m)^\s*(import pytest|from pytest\b)`)
	bareTest     = lazyregexp.MustCompile(`(?m)^(async )?def test_?\w*\(`)
	pytestTable  = lazyregexp.MustCompile(`(?m)^\[tool\.pytest(\.ini_options)?\]`)
	pytestNeeded = lazyregexp.MustCompile(`(?mi)(^|["'\s])pytest([\s"'<>=~!,;\[]|$)`)
)

// pythonTests is what the test files of a folder look like.
type pythonTests struct {
	files            []string
	unittest, pytest int // files that are of it
}

func (p *Project) pythonTests(dir string) pythonTests {
	const most = 40
	t := pythonTests{files: p.files(dir, pythonTest.Get(), most)}
	for _, name := range t.files {
		text := p.read(name)
		if importsUnit.MatchString(text) {
			t.unittest++
		}
		if importsTest.MatchString(text) || bareTest.MatchString(text) {
			t.pytest++
		}
	}
	return t
}

// bestPython asks for each folder where a Python project may stand. Of two the one at Root is taken.
func (p *Project) bestPython(detectIn func(p *Project, dir string) Detection) (best Detection) {
	for _, dir := range p.pythonDirs() {
		d := detectIn(p, dir)
		if dir != "." {
			d.Confidence -= 2
			d.Dir = dir
		}
		if d.Confidence > best.Confidence {
			best = d
		}
	}
	return best
}

// pythonDirs are where a Python project may stand: Root, and the folders one and two below it that say that they are
// one.
func (p *Project) pythonDirs() []string {
	dirs := []string{"."}
	for _, pattern := range []string{"*", "*/*"} {
		for _, marker := range []string{"pyproject.toml", "pytest.ini", "setup.py", "setup.cfg", "requirements.txt"} {
			for _, name := range p.glob(path.Join(pattern, marker)) {
				dir := path.Dir(name)
				hidden := slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
					return strings.HasPrefix(part, ".") || slices.Contains(skippedFolders, part)
				})
				// of the project above it
				part := marker == "requirements.txt" && slices.Contains([]string{"tests", "test", "docs"}, path.Base(dir))
				if !hidden && !part && !slices.Contains(dirs, dir) && len(dirs) < 50 {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs
}

var (
	fatalPython = lazyregexp.MustCompile(`Fatal Python error: ([^\n]*)`)
	fatalFrame  = lazyregexp.MustCompile(`(?m)^  File "([^"\n]+)", line (\d+) in (.*)$`)
)

// pythonCrash reads what Python's faulthandler wrote of a crash: the thread that it names current is the first or the
// last.
func pythonCrash(text string) (string, []Frame) {
	m := fatalPython.FindStringSubmatch(text)
	why := ""
	if m != nil {
		why = m[1]
	}
	_, stack, ok := strings.Cut(text, "Current thread ")
	if !ok {
		return why, nil
	}
	stack, _, _ = strings.Cut(stack, "\n\n")
	stack, _, _ = strings.Cut(stack, "\nThread ")
	var frames []Frame
	for _, m := range fatalFrame.FindAllStringSubmatch(stack, 100) {
		line, err := strconv.Atoi(m[2])
		if err == nil {
			frames = append(frames, Frame{Function: m[3], File: m[1], Line: line})
		}
	}
	return why, frames
}
