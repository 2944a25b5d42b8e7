package testadapter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// pytestProject is the suite of testdata with its environment, as a user has it.
func pytestProject(t *testing.T) *testadapter.Project {
	t.Helper()
	env, dir := strobetest.PythonEnv(t, "pytest"), strobetest.Suite(t, "pytest")
	if err := os.Symlink(env, filepath.Join(dir, ".venv")); err != nil {
		t.Fatal(err)
	}
	return strobetest.ProjectAt(dir)
}

// TestPytestEndsEarly: where pytest does not run all tests, the results say so.
func TestPytestEndsEarly(t *testing.T) {
	t.Parallel()
	p := pytestProject(t)
	if err := os.WriteFile(filepath.Join(p.Root, "broken_test.py"), []byte("import no_such_module\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"no test was run, since pytest stops where files do not load": {"broken_test.py", "tests"},
		"pytest ended early, and other tests were not run: stopping after 1 failures": {"-x", "tests",
			"--continue-on-collection-errors"},
		"": {"broken_test.py"},
	} {
		if got := notes(strobetest.RunAdapter(t, testadapter.Pytest{}, p,
			testadapter.Request{Args: args})); !strings.HasPrefix(got, want) || want == "" && strings.Contains(got, "run") {
			t.Errorf("%q noted %q, want %q", args, got, want)
		}
	}
}

func TestPytestSuite(t *testing.T) {
	t.Parallel()
	p := pytestProject(t)
	a := testadapter.Pytest{}
	if d := a.Detect(p); d.Confidence != 94 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	args := []string{"--continue-on-collection-errors"}
	dir := t.TempDir()
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Args: args, Dir: dir})
	keep(t, dir, p.Root)
	golden(t, "pytest/suite.txt", told(events), p.Root, "ROOT")
	// The same through pytest-xdist, whose workers run the tests: the same results, in whatever order.
	golden(t, "pytest/suite.txt", told(strobetest.RunAdapter(t, a, p, testadapter.Request{Args: append(args, "-n2")})),
		p.Root, "ROOT")
	if *update {
		return
	}
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool {
		return x.File == "tests/test_params.py" || x.Name == "test_own_failure" || x.Name == "test_deep" ||
			x.Name == "test_setup_error"
	})
}

// What earlier versions report of the same suite: pytest 7 on Python 3.8 and pytest 8 on 3.11, both with
// pytest-subtests.
func TestPytestVersions(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "pytest"))
	for _, version := range []string{"7.4.4", "8.4.2"} {
		events := replayed(t, testadapter.Pytest{}, p, reportOf(t, "pytest", version), testadapter.Exit{Code: 1})
		golden(t, "pytest/"+version+".txt", told(events), p.Root, "ROOT")
	}
}

// What a test does to its process shows with that test.
func TestPytestEnds(t *testing.T) {
	t.Parallel()
	p := pytestProject(t)
	a := testadapter.Pytest{}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"exits", []string{"ends/test_exits.py"}}, {"crashes", []string{"ends/test_crashes.py"}},
		{"crashes-xdist", []string{"ends/test_crashes.py", "-n1", "--max-worker-restart=0"}},
		{"hangs", []string{"ends/test_hangs.py", "--timeout-method=signal", "-p", "no:rerunfailures"}},
		{"stops", []string{"ends/test_stops.py"}},
		{"unknown-option", []string{"--no-such-option"}}, {"nothing", []string{"shop.py"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden(t, "pytest/"+c.name+".txt", told(strobetest.RunAdapter(t, a, p, testadapter.Request{Args: c.args})), p.Root,
				"ROOT")
		})
	}
}

func TestPytestSelects(t *testing.T) {
	t.Parallel()
	p := pytestProject(t)
	a := testadapter.Pytest{}
	for _, c := range []struct {
		test string
		want []string
	}{
		{"test_passes", []string{"tests/test_plain.py::test_passes"}}, // its name, not what begins with it
		{"test_number", []string{"tests/test_params.py::test_number[100]", "tests/test_params.py::test_number[10]",
			"tests/test_params.py::test_number[1]"}},
		{"TestGroup::test_in_class", []string{"tests/test_plain.py::TestGroup::test_in_class"}},
		{"TestInner", []string{"tests/test_plain.py::TestGroup::TestInner::test_deep"}},
		{"_unexpected", []string{"tests/test_plain.py::test_passes_strictly_unexpected",
			"tests/test_plain.py::test_passes_unexpectedly"}},
		{"no such test", nil},
	} {
		events := strobetest.RunAdapter(t, a, p, testadapter.Request{Test: c.test, Args: []string{"--ignore=tests/sub"}})
		slices.Sort(c.want)
		if got := keys(ended(events)); !slices.Equal(got, c.want) {
			t.Errorf("%q ran %q, want %q", c.test, got, c.want)
		}
		if none := strings.Contains(notes(events), "no test matches"); none != (c.want == nil) {
			t.Errorf("%q noted %q", c.test, notes(events))
		}
	}
}

func TestPytestLevels(t *testing.T) {
	t.Parallel()
	p := pytestProject(t)
	a := testadapter.Pytest{}
	want := map[testadapter.Level]string{testadapter.Integration: "tests/test_params.py::test_talks",
		testadapter.EndToEnd: "tests/test_params.py::test_as_met"}
	for level, id := range want {
		if got := keys(ended(strobetest.RunAdapter(t, a, p,
			testadapter.Request{Level: level, Args: []string{"--ignore=tests/sub"}}))); !slices.Equal(got, []string{id}) {
			t.Errorf("%s ran %q", level, got)
		}
	}
	unit := ended(strobetest.RunAdapter(t, a, p,
		testadapter.Request{Level: testadapter.Unit, Args: []string{"--ignore=tests/sub"}}))
	if len(unit) < 20 || unit[want[testadapter.Integration]] != nil {
		t.Errorf("unit ran %q", keys(unit))
	}
	bare := files(t, "test_a.py", "def test_a(): pass\n")
	for _, level := range []testadapter.Level{testadapter.Unit, testadapter.Integration, testadapter.EndToEnd} {
		if _, err := a.Start(bare, &testadapter.Request{Level: level, Dir: t.TempDir()},
			nil); fault.CodeOf(err) != fault.Unsupported {
			t.Errorf("%s of a project without levels: %v", level, err)
		}
	}
}

func TestPythonDetection(t *testing.T) {
	const unit = "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n"
	for _, c := range []struct {
		name             string
		files            []string
		pytest, unittest int
		dir              string
	}{
		{"nothing", []string{"main.py", "print()"}, 0, 0, ""},
		{"pytest.ini", []string{"pytest.ini", "[pytest]\n", "tests/test_a.py", unit}, 94, 20, ""},
		{"pyproject", []string{"pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q\"\n"}, 94, 0, ""},
		{"pyproject of another", []string{"pyproject.toml", "[tool.black]\n"}, 0, 0, ""},
		{"setup.cfg", []string{"setup.cfg", "[tool:pytest]\n"}, 94, 0, ""},
		{"conftest", []string{"tests/conftest.py", "", "tests/test_a.py", ""}, 90, 0, ""},
		{"requirement", []string{"requirements.txt", "requests\npytest>=7\n", "tests/test_a.py", unit}, 86, 20, ""},
		{"another package", []string{"requirements.txt", "pytest-httpserver-like\n", "tests/test_a.py", unit}, 30, 75, ""},
		{"bare", []string{"test_a.py", "def test_a(): pass\n"}, 72, 0, ""},
		{"unittest", []string{"tests/test_a.py", unit}, 30, 75, ""},
		{"below", []string{"services/api/pyproject.toml", "[tool.pytest.ini_options]\n", "services/api/tests/test_a.py", ""},
			92, 0, "services/api"},
		{"vendored", []string{"node_modules/x/pytest.ini", "", ".venv/lib/test_a.py", "import pytest"}, 0, 0, ""},
	} {
		p := files(t, c.files...)
		got := testadapter.Pytest{}.Detect(p)
		if got.Confidence != c.pytest || got.Dir != c.dir || (got.Confidence > 0) != (len(got.Evidence) > 0) {
			t.Errorf("%s: pytest: %+v, want %d in %q", c.name, got, c.pytest, c.dir)
		}
		if u := (testadapter.Unittest{}).Detect(p); u.Confidence != c.unittest {
			t.Errorf("%s: unittest: %+v, want %d", c.name, u, c.unittest)
		}
	}
}

// The Python that a project's tests run with.
func TestPythonFound(t *testing.T) {
	tools := map[string]string{"uv": "/bin/uv", "poetry": "/bin/poetry", "pipenv": "/bin/pipenv",
		"python3": "/usr/bin/python3"}
	for _, c := range []struct {
		name  string
		files []string
		tools []string
		want  string // its command, ROOT for the root; "" is a fault
	}{
		{"venv before lock", []string{".venv/pyvenv.cfg", "", ".venv/bin/python3", "", "uv.lock", ""},
			[]string{"uv", "python3"}, "ROOT/.venv/bin/python3"},
		{"uv", []string{"uv.lock", ""}, []string{"uv", "python3"}, "/bin/uv run python"},
		{"uv that is not there", []string{"uv.lock", ""}, []string{"python3"}, "/usr/bin/python3"},
		{"poetry", []string{"poetry.lock", ""}, []string{"poetry", "python3"}, "/bin/poetry run python"},
		{"pipenv", []string{"Pipfile", ""}, []string{"pipenv"}, "/bin/pipenv run python"},
		{"the machine's", nil, []string{"python3"}, "/usr/bin/python3"},
		{"none", nil, nil, ""},
	} {
		p := files(t, append(c.files, "pytest.ini", "[pytest]\n")...)
		p.Environ = nil
		p.LookPath = func(name string) (string, error) {
			if slices.Contains(c.tools, name) {
				return tools[name], nil
			}
			return "", exec.ErrNotFound
		}
		x, err := testadapter.Pytest{}.Start(p, &testadapter.Request{Dir: t.TempDir()}, nil)
		if c.want == "" {
			if fault.CodeOf(err) != fault.LaunchFailed {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		step, _ := x.Next()
		want := append(strings.Fields(strings.ReplaceAll(c.want, "ROOT", p.Root)), "-m", "pytest", "-p", "strobe_pytest")
		if !slices.Equal(step.Argv, want) {
			t.Errorf("%s: %q, want %q", c.name, step.Argv, want)
		}
	}
}
