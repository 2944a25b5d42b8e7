package testadapter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// whereItRuns is a test that tells, by failing, which environment's Python it runs in.
const whereItRuns = "import sys\n\n\ndef test_where():\n    raise Exception(\"it runs in \" + sys.prefix)\n"

// ranIn is the folder of the environment that a project's test ran in.
func ranIn(t *testing.T, p *testadapter.Project, environ ...string) string {
	t.Helper()
	all := ended(strobetest.RunAdapterIn(t, testadapter.Pytest{}, p, testadapter.Request{}, environ...))
	got := all["test_where.py::test_where"]
	if got == nil || len(got.Failures) == 0 {
		t.Fatalf("ended %q: %+v", keys(all), all["(run)"])
	}
	_, prefix, _ := strings.Cut(got.Failures[0].Message, "it runs in ")
	return strings.TrimSpace(prefix)
}

// environment makes a virtual environment that has what another one has.
func environment(t *testing.T, dir, from string) string {
	t.Helper()
	strobetest.NeedCommand(t, "python3")
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shares(t, dir, from)
	return dir
}

// shares lets an environment have what another one has.
func shares(t *testing.T, dir, from string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(site(t, dir), "other.pth"), []byte(site(t, from)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// site is where an environment's packages are.
func site(t *testing.T, env string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", env, found, err)
	}
	return found[0]
}

// TestPythonEnvironments: a project's tests run in its own environment, before the one that is active, before the
// machine's.
func TestPythonEnvironments(t *testing.T) {
	t.Parallel()
	from := strobetest.PythonEnv(t, "pytest")
	active := environment(t, filepath.Join(t.TempDir(), "active"), from)
	p := files(t, "pytest.ini", "[pytest]\n", "test_where.py", whereItRuns)
	if got := ranIn(t, p, "VIRTUAL_ENV="+active); got != active {
		t.Errorf("with VIRTUAL_ENV it ran in %q, want %q", got, active)
	}
	if got := ranIn(t, p, "VIRTUAL_ENV", "CONDA_PREFIX="+active); got != active {
		t.Errorf("with CONDA_PREFIX it ran in %q, want %q", got, active)
	}
	own := environment(t, filepath.Join(p.Root, ".venv"), from)
	if got := ranIn(t, p, "VIRTUAL_ENV="+active); got != own {
		t.Errorf("with .venv and VIRTUAL_ENV it ran in %q, want %q", got, own)
	}
}

const pyproject = "[project]\nname = \"shop\"\nversion = \"0.1.0\"\nrequires-python = \">=3.9\"\ndependencies = " +
	"[\"pytest>=8\"]\n"

// TestUV runs the real uv, which makes the environment when it is first run.
func TestUV(t *testing.T) {
	t.Parallel()
	uv := filepath.Join(strobetest.PythonEnv(t, "uv"), "bin", "uv")
	p := files(t, "pyproject.toml", pyproject+
		"\n[tool.uv]\npackage = false\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n", "test_where.py", whereItRuns)
	withTool(p, "uv", uv)
	cmd := exec.Command(uv, "lock", "--quiet")
	cmd.Dir = p.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := filepath.Join(p.Root, ".venv")
	for _, when := range []string{"at first", "then"} {
		if got := ranIn(t, p, "VIRTUAL_ENV"); got != want {
			t.Errorf("%s it ran in %q, want %q", when, got, want)
		}
	}
}

// TestPoetry runs the real Poetry where it is installed; it takes too long to install in every run.
func TestPoetry(t *testing.T) {
	t.Parallel()
	poetry, err := exec.LookPath("poetry")
	if err != nil {
		return
	}
	p := files(t, "pyproject.toml", strings.Replace(pyproject, `"pytest>=8"`, "", 1)+
		"\n[tool.poetry]\npackage-mode = false\n", "test_where.py", whereItRuns)
	withTool(p, "poetry", poetry)
	environs := filepath.Join(t.TempDir(), "environs")
	for _, args := range [][]string{{"lock"}, {"install"}} {
		cmd := exec.Command(poetry, append(args, "-n")...)
		cmd.Dir, cmd.Env = p.Root, append(os.Environ(), "POETRY_VIRTUALENVS_PATH="+environs)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	made, err := filepath.Glob(filepath.Join(environs, "shop-*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("environments %q, %v", made, err)
	}
	shares(t, made[0], strobetest.PythonEnv(t, "pytest"))
	if got := ranIn(t, p, "VIRTUAL_ENV", "POETRY_VIRTUALENVS_PATH="+environs); !strings.HasPrefix(got, environs) {
		t.Errorf("it ran in %q, not below %q", got, environs)
	}
}

// withTool has a project find a command that is not in PATH.
func withTool(p *testadapter.Project, name, at string) {
	look := p.LookPath
	p.LookPath = func(want string) (string, error) {
		if want == name {
			return at, nil
		}
		return look(want)
	}
}

// TestPytestMissing: an environment without pytest says how its own tool adds it.
func TestPytestMissing(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "python3")
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"plain": {nil, ".venv/bin/python3 -m pip install pytest"},
		"uv":    {[]string{"uv.lock", ""}, "uv add --dev pytest"},
		"table": {[]string{"pyproject.toml", "[tool.poetry.dependencies]\n"}, "poetry add --group dev pytest"},
	} {
		p := files(t, append(slices.Clone(c.files), "pytest.ini", "[pytest]\n", "test_a.py", "def test_a(): pass\n")...)
		if out, err := exec.Command("python3", "-m", "venv", "--without-pip",
			filepath.Join(p.Root, ".venv")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := ended(strobetest.RunAdapter(t, testadapter.Pytest{}, p, testadapter.Request{}))["(run)"]
		if got == nil || !strings.Contains(got.Failures[0].Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}
