package testsetup

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func pythonFamily() *family {
	return &family{
		name: "python", sources: regexp.MustCompile(`\.py$`),
		markers: []marker{{name: "pyproject.toml", system: "pyproject"}, {name: "setup.py", system: "setuptools"},
			{name: "setup.cfg", system: "setuptools"}, {name: "Pipfile", system: "pipenv"},
			{name: "requirements*.txt", system: "pip"}, {name: "pytest.ini", system: "pip"}, {name: "tox.ini", system: "pip"},
			{name: "manage.py", system: "pip"}},
		isTest: func(name string, text func() string) bool {
			return testadapter.PythonTests.MatchString(path.Base(name))
		},
		language:   func(*testadapter.Project, *found) string { return "python" },
		frameworks: func(*setup) []string { return []string{"pytest", "unittest"} },
		plan:       (*setup).python,
	}
}

var (
	pythonDef    = lazyregexp.MustCompile(`(?m)^(?:async )?(?:def|class) ([A-Za-z]\w*)`)
	pythonRuns   = lazyregexp.MustCompile(`(?m)^([A-Za-z_][\w.]*\(|while |for |with |raise |input\()`)
	dependencies = lazyregexp.MustCompile(`(?m)^dependencies\s*=\s*\[\s*[^\]\s]`)
	pytestConfig = lazyregexp.MustCompile(`(?m)^\[tool\.pytest`)
	// Files that are no modules of the project's own.
	pythonTools = []string{"setup.py", "conftest.py", "manage.py", "noxfile.py", "tasks.py", "__main__.py", "fabfile.py"}
)

func (s *setup) python() error {
	s.need("python3", "", "python3")
	manager := s.pythonManager()
	run := s.environment(manager)
	source, module, name := s.pythonTarget()
	if s.want == "unittest" {
		s.runs(run+" -m unittest", run+" -m unittest {name}")
	} else {
		s.runs(run+" -m pytest", run+" -m pytest -k {name}")
	}
	if s.has {
		return nil
	}
	s.miss("a test: there is no test_*.py")
	if module == "" && len(s.f.sources) == 0 {
		s.file("greeting.py", "def greeting(name):\n    return f\"Hello, {name}!\"\n")
		module, name = "greeting", "greeting"
	}
	s.pythonTest(module, name)
	switch config := s.p.Read(s.at("pyproject.toml")); {
	case s.want == "unittest":
		init := ""
		if source != "." {
			init = fmt.Sprintf("import pathlib\nimport sys\n\nsys.path.insert(0, "+
				"str(pathlib.Path(__file__).resolve().parents[1] / %q))\n", source)
		}
		// Without it unittest's discovery does not enter the folder from the project's.
		s.Files[s.at("tests/__init__.py")] = init
		if s.p.Has(s.at("tests/__init__.py")) {
			delete(s.Files, s.at("tests/__init__.py"))
		}
	case s.p.Has(s.at("pytest.ini")), s.p.Has(s.at("pytest.toml")), pytestConfig.MatchString(config):
	case config != "":
		s.change("pyproject.toml", fmt.Sprintf("\n[tool.pytest.ini_options]\npythonpath = [%q]\ntestpaths = [\"tests\"]\n",
			source))
	default:
		s.file("pytest.ini", fmt.Sprintf("[pytest]\npythonpath = %s\ntestpaths = tests\n", source))
	}
	return nil
}

// pythonManager is what keeps the project's packages, by its lock file or configuration; "" is pip in a virtual
// environment.
func (s *setup) pythonManager() string {
	config := s.p.Read(s.at("pyproject.toml"))
	for _, m := range []struct{ name, lock, table string }{{"uv", "uv.lock", "[tool.uv"},
		{"poetry", "poetry.lock", "[tool.poetry"}, {"pdm", "pdm.lock", "[tool.pdm"}, {"pipenv", "Pipfile", ""}} {
		if !s.p.Has(s.at(m.lock)) && (m.table == "" || !strings.Contains("\n"+config, "\n"+m.table)) {
			continue
		}
		if m.name != "pipenv" {
			s.Detected.BuildSystem = m.name
		}
		if s.installed(m.name) {
			return m.name
		}
		s.miss("%s, which keeps this project's packages, is not in PATH: a virtual environment stands in", m.name)
	}
	return ""
}

// environment plans the Python that has the framework, and is how that is started.
func (s *setup) environment(manager string) string {
	pytest := s.want == "pytest"
	named := regexp.MustCompile(`(?mi)^\s*["']?pytest\b`).MatchString(s.p.Read(s.at("pyproject.toml")) + "\n" +
		s.p.Read(s.at("Pipfile")))
	venv := s.venv()
	if venv != "" && (!pytest || s.inEnvironment(venv, "pytest")) {
		return venv + "/bin/python"
	}
	if manager != "" {
		if pytest {
			s.miss("pytest in the environment of %s", manager)
			add := map[string]string{"uv": "uv add --dev pytest", "poetry": "poetry add --group dev pytest",
				"pdm": "pdm add -dG test pytest", "pipenv": "pipenv install --dev pytest"}
			if named {
				add = map[string]string{"uv": "uv sync", "poetry": "poetry install", "pdm": "pdm install",
					"pipenv": "pipenv install --dev"}
			}
			s.step(add[manager])
		}
		return manager + " run python"
	}
	if venv == "" && !pytest && !s.hasRequirements() {
		return "python3"
	}
	active := s.p.Variable("VIRTUAL_ENV")
	switch {
	case venv == "" && active != "" && s.r.Exists(filepath.Join(active, "bin", "python")) && s.f.dir == ".":
		if pytest && !s.inActive(active, "pytest") {
			s.miss("pytest in %s", active)
			s.step(quote(filepath.Join(active, "bin", "python")) + " -m pip install pytest")
		}
		return quote(filepath.Join(active, "bin", "python"))
	case venv == "":
		s.miss("a virtual environment: no .venv")
		if python, err := s.p.LookPath("python3"); err == nil && python == "/usr/bin/python3" &&
			s.r.Exists("/etc/debian_version") && !s.ensurePip() {
			s.miss("python3-venv, without which environments have no pip")
			s.first = appendNew(s.first, s.debian("python3-venv"))
		}
		s.step("python3 -m venv .venv")
		venv = ".venv"
	}
	install := ""
	if s.p.Has(s.at("requirements.txt")) {
		install += " -r requirements.txt"
	}
	if dependencies.MatchString(tomlTable(s.p.Read(s.at("pyproject.toml")), "project")) || s.p.Has(s.at("setup.py")) {
		install += " -e ."
	}
	if pytest {
		s.miss("pytest in %s", venv)
		install += " pytest"
	}
	if install != "" {
		s.step(venv + "/bin/python -m pip install" + install)
	}
	return venv + "/bin/python"
}

func (s *setup) hasRequirements() bool {
	return s.p.Has(s.at("requirements.txt")) ||
		dependencies.MatchString(tomlTable(s.p.Read(s.at("pyproject.toml")), "project"))
}

// venv is the project's own virtual environment, below its folder.
func (s *setup) venv() string {
	for _, name := range []string{".venv", "venv", "env"} {
		if s.p.Has(s.at(name + "/pyvenv.cfg")) {
			return name
		}
	}
	return ""
}

// inEnvironment says whether a package is installed in an environment below the project's folder.
func (s *setup) inEnvironment(venv, pkg string) bool {
	return s.inActive(filepath.Join(s.p.Root, s.f.dir, venv), pkg)
}

func (s *setup) inActive(env, pkg string) bool {
	names, err := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages", pkg, "__init__.py"))
	return err == nil && len(names) > 0
}

func (s *setup) ensurePip() bool {
	names, err := filepath.Glob("/usr/lib/python3*/ensurepip/__init__.py")
	return err == nil && len(names) > 0
}

// pythonTarget is a module to import: where imports begin (below the project's folder), its dotted name, and a function
// or class of its own. Modules that do something when they are imported are left alone.
func (s *setup) pythonTarget() (source, module, name string) {
	source = "."
	if len(inside(s.f.sources, s.at("src"))) > 0 {
		source = "src"
	}
	prefix := path.Join(s.f.dir, source) + "/"
	if path.Join(s.f.dir, source) == "." {
		prefix = ""
	}
	best := -1
	for _, file := range s.f.own() {
		below, ok := strings.CutPrefix(file, prefix)
		folder := path.Dir(below)
		if !ok || slices.Contains(pythonTools, path.Base(below)) || !s.importable(prefix, folder) ||
			strings.HasPrefix(below, "docs/") {
			continue
		}
		text := s.p.Read(file)
		if pythonRuns.MatchString(strings.ReplaceAll(text, "\nif __name__", "\n#")) {
			continue
		}
		score, found := 0, ""
		for _, m := range pythonDef.FindAllStringSubmatch(text, 100) {
			if found == "" || found == "main" {
				found, score = m[1], 4
			}
		}
		if found == "main" {
			score = 2
		}
		if score -= min(strings.Count(below, "/"), 1); score > best {
			dotted := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(below, ".py"), "/__init__"), "/", ".")
			best, module, name = score, dotted, found
		}
	}
	return source, module, name
}

var identifier = lazyregexp.MustCompile(`^[A-Za-z_]\w*$`)

// importable says whether a folder's modules are in packages, by names that can be imported.
func (s *setup) importable(prefix, folder string) bool {
	if folder == "." {
		return true
	}
	at := ""
	for _, part := range strings.Split(folder, "/") {
		if at = path.Join(at, part); !identifier.MatchString(part) || !s.p.Has(prefix+at+"/__init__.py") {
			return false
		}
	}
	return true
}

// pythonTest writes the test.
func (s *setup) pythonTest(module, name string) {
	short := module[strings.LastIndex(module, ".")+1:]
	test, imports, check := orWord(name, orWord(short, "first")), "", "assert 1 + 1 == 2"
	switch {
	case module != "" && name != "":
		imports, check = fmt.Sprintf("from %s import %s\n", module, name), fmt.Sprintf("assert callable(%s)", name)
	case module != "":
		imports, check = fmt.Sprintf("import %s\n", module), fmt.Sprintf("assert %s.__name__ == %q", module, module)
	}
	comment := "# Begin here: call it, and compare its result with what it must be."
	if name == "greeting" && len(s.f.sources) == 0 {
		comment, check = "# This is a beginning: change both.", `assert greeting("Ada") == "Hello, Ada!"`
	}
	snake := strings.ToLower(regexp.MustCompile(`([a-z\d])([A-Z])`).ReplaceAllString(test, "${1}_$2"))
	file := s.fresh("tests/test_"+snake, ".py")
	if s.want == "unittest" {
		check = regexp.MustCompile(`^assert `).ReplaceAllString(check, "")
		check = "self.assertTrue(" + check + ")"
		if left, right, equal := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(check, "self.assertTrue("), ")"),
			" == "); equal {
			check = fmt.Sprintf("self.assertEqual(%s, %s)", left, right)
		}
		if imports != "" {
			imports = "\n" + imports
		}
		s.file(file, fmt.Sprintf("import unittest\n%s\n\nclass First(unittest.TestCase):\n    def test_%s(self):\n        "+
			"%s\n        %s\n", imports, snake, comment, check))
		return
	}
	if imports != "" {
		imports += "\n\n"
	}
	s.file(file, fmt.Sprintf("%sdef test_%s():\n    %s\n    %s\n", imports, snake, comment, check))
}
