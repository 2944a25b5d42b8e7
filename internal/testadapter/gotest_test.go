package testadapter_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// goSuite is the suite below testdata, or one made of some of its folders.
func goSuite(t *testing.T, folders ...string) *testadapter.Project {
	t.Helper()
	strobetest.NeedCommand(t, "go")
	root := strobetest.Suite(t, "go")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && len(folders) > 0 && !slices.Contains(folders, e.Name()) {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return strobetest.ProjectAt(root)
}

func TestGoSuite(t *testing.T) {
	p := goSuite(t)
	events := strobetest.RunAdapter(t, testadapter.Go{}, p, testadapter.Request{Args: []string{"-timeout=2s"}})
	stacks := regexp.MustCompile(`(\n    output: "panic: [^\\]*).*`) // its lines are of the Go that is installed
	golden(t, "go/suite.txt", stacks.ReplaceAllString(told(events), "$1…"), p.Root, "ROOT")
}

func TestGoAlone(t *testing.T) {
	t.Parallel()
	p := goSuite(t, "alpha", "beta")
	a := testadapter.Go{}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool {
		return strings.HasPrefix(x.Name, "TestTable/") || x.Name == "FuzzSeeds/seed#1" || x.Name == "TestDeep/one/two" ||
			x.Name == "ExampleAdd_wrong" || x.Name == "TestFail"
	})
	// What a person would type does the same.
	for _, x := range ended(events) {
		if x.Name == "TestTable/[brackets](x)" {
			again := a.Rerun(p, &testadapter.Request{}, x)
			want := []string{"go", "test", "-v", "-count=1", "-run", `^TestTable$/^\[brackets\]\(x\)$`, "./alpha"}
			if !slices.Equal(again.Argv, want) || again.Dir != p.Root {
				t.Errorf("Rerun = %+v, want %q", again, want)
			}
		}
	}
}

// TestGoSelect: a name means the tests of that name in every package, and only where there is none those that contain
// it.
func TestGoSelect(t *testing.T) {
	t.Parallel()
	p := goSuite(t, "alpha", "beta")
	for want, ids := range map[string][]string{
		"TestPass": {"example.com/suite/alpha::TestPass", "example.com/suite/beta::TestPass"},
		"PassM":    {"example.com/suite/beta::TestPassMore"},
		"TestDeep/one/two": {"example.com/suite/alpha::TestDeep", "example.com/suite/alpha::TestDeep/one",
			"example.com/suite/alpha::TestDeep/one/two"},
		"TestPas": {"example.com/suite/alpha::TestPass", "example.com/suite/beta::TestPass",
			"example.com/suite/beta::TestPassMore"},
		"TestTable/a/b":      {"example.com/suite/alpha::TestTable", "example.com/suite/alpha::TestTable/a/b"},
		"TestDeep/one two":   {"example.com/suite/alpha::TestDeep"}, // a group: nothing is counted
		"TestPasses":         nil,
		"no/such::TestNever": nil,
	} {
		t.Run(strings.ReplaceAll(want, "/", "_"), func(t *testing.T) {
			events := strobetest.RunAdapter(t, testadapter.Go{}, p, testadapter.Request{Test: want})
			got := ended(events)
			delete(got, "no/such::(build)") // no such package: said as go says it
			if !slices.Equal(keys(got), ids) && !(len(got) == 0 && len(ids) == 0) {
				t.Errorf("%q ran %q, want %q", want, keys(got), ids)
			}
			if deep := got["example.com/suite/alpha::TestDeep"]; deep != nil && !deep.Group {
				t.Errorf("only its subtest was asked for: %+v", deep)
			}
			if want == "TestDeep/one two" && !strings.Contains(notes(events),
				`no test matches "TestDeep/one two"; near it: TestDeep`) {
				t.Errorf("notes = %q", notes(events))
			}
			if want == "TestPasses" && !strings.Contains(notes(events), `no test matches "TestPasses"; near it: TestPass, `) {
				t.Errorf("notes = %q", notes(events))
			}
		})
	}
}

func TestGoLevels(t *testing.T) {
	t.Parallel()
	p := goSuite(t, "alpha", "beta", "tagged", "integration")
	for level, want := range map[testadapter.Level][]string{
		testadapter.Integration: {"example.com/suite/integration::TestByFolder", "example.com/suite/tagged::TestTagged"},
		testadapter.Unit: {"example.com/suite/beta::TestPass", "example.com/suite/beta::TestPassMore",
			"example.com/suite/beta::TestShort", "example.com/suite/tagged::TestPlain"},
	} {
		got := ended(strobetest.RunAdapter(t, testadapter.Go{}, p, testadapter.Request{Level: level}))
		ids := slices.DeleteFunc(keys(got), func(id string) bool { return strings.Contains(id, "/alpha::") })
		if !slices.Equal(ids, want) {
			t.Errorf("%s ran %q, want %q", level, ids, want)
		}
		if short := got["example.com/suite/beta::TestShort"]; short != nil &&
			(short.Status != testadapter.Skipped || short.Reason != "long") {
			t.Errorf("unit tests are run with -short: %+v", short)
		}
	}
	_, err := testadapter.Go{}.Start(p, &testadapter.Request{Level: testadapter.EndToEnd}, func(testadapter.Event) {})
	if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.Unsupported {
		t.Errorf("e2e: %v", err)
	}
}

// TestGoCache: results from go's cache are told as such, and a traced run does not take them.
func TestGoCache(t *testing.T) {
	p := goSuite(t, "beta")
	var texts []string
	for _, r := range []testadapter.Request{{}, {}, {Traced: true}} {
		events := strobetest.RunAdapter(t, testadapter.Go{}, p, r)
		if n := len(ended(events)); n != 3 {
			t.Errorf("%d tests ended, want 3", n)
		}
		texts = append(texts, notes(events))
	}
	if !strings.Contains(texts[1], "1 packages are as go's cache has them") || texts[2] != "" {
		t.Errorf("notes = %q", texts)
	}
}

func TestGoRace(t *testing.T) {
	strobetest.NeedCommand(t, "gcc") // the race detector is linked with C
	p := goSuite(t, "odd")
	t.Setenv("CGO_ENABLED", "1")
	got := ended(strobetest.RunAdapter(t, testadapter.Go{}, p,
		testadapter.Request{Args: []string{"-race"}}))["example.com/suite/odd::TestRace"]
	if got == nil || got.Status != testadapter.Failed || len(got.Failures) != 1 {
		t.Fatalf("TestRace = %+v", got)
	}
	f := got.Failures[0]
	if f.Kind != "race" || f.File != "odd/race_test.go" || (f.Line != 8 && f.Line != 9) {
		t.Errorf("failure = %+v", f)
	}
}

// TestGoNothing: no tests at all, and a module that go cannot load.
func TestGoNothing(t *testing.T) {
	t.Parallel()
	p := goSuite(t, "none")
	if events := strobetest.RunAdapter(t, testadapter.Go{}, p, testadapter.Request{}); len(ended(events)) != 0 {
		t.Errorf("ended %q", keys(ended(events)))
	}
	if err := os.WriteFile(filepath.Join(p.Root, "go.mod"), []byte("module example.com/suite\n\ngo 1.21\nrequire (\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	got := ended(strobetest.RunAdapter(t, testadapter.Go{}, p, testadapter.Request{}))["::(go)"]
	if got == nil || got.Status != testadapter.Errored || !strings.Contains(got.Failures[0].Message, "go.mod:4") {
		t.Errorf("(go) = %+v", got)
	}
}

// TestGoRecorded reads what other versions of Go wrote: before 1.24, errors of compilers stand on standard error.
func TestGoRecorded(t *testing.T) {
	p := projectOf(os.DirFS(filepath.Join(strobetest.Root(t), "testdata", "suites", "go")))
	failed := testadapter.Exit{Code: 1}
	for name, steps := range map[string][]recorded{
		"go1.21": {
			{stdout: recording(t, "go/go1.21.stdout"), stderr: recording(t, "go/go1.21.stderr"), exit: failed},
			{stdout: recording(t, "go/go1.21-list.stdout")}, // of the packages whose process ended before its tests had
		},
		"go1.26-build": {{stdout: recording(t, "go/go1.26-build.stdout"), exit: failed}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "go/"+name+".txt", told(replay(t, testadapter.Go{}, p, testadapter.Request{}, steps...)))
		})
	}
}

func FuzzGo(f *testing.F) {
	f.Add([]byte(recording(f, "go/go1.21.stdout")))
	f.Add([]byte(recording(f, "go/go1.26-build.stdout")))
	p := projectOf(mapFS(map[string]string{"go.mod": "module example.com/suite\n",
		"alpha/a_test.go": "package alpha\nfunc TestFail(t *testing.T) {}\n"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		abuse(t, testadapter.Go{}, p, testadapter.Request{}, data, testadapter.Exit{Code: 1})
		abuse(t, testadapter.Go{}, p, testadapter.Request{Test: "x"}, data, testadapter.Exit{TimedOut: true})
	})
}

// TestGoModules: a package is selected by its path, also one whose process failed before its tests; modules of their
// own within the project are named and never taken for packages of the project's; a signal is told by its name.
func TestGoModules(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/top\n\ngo 1.21\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\nfunc TestTwo(t " +
			"*testing.T) {}\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { " +
			"os.Exit(4) }\nfunc TestX(t *testing.T) {}\n",
		"k/k_test.go": "package k\n\nimport (\n\t\"os\"\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestKill(t " +
			"*testing.T) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }\n",
		"sub/mod/go.mod":    "module example.com/sub\n\ngo 1.21\n",
		"sub/mod/m_test.go": "package mod\n\nimport \"testing\"\n\nfunc TestSub(t *testing.T) {}\n",
		"testdata/x/go.mod": "module example.com/none\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700),
			os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := strobetest.ProjectAt(root)
	const all = "not run: sub/mod, of modules of their own"
	for _, c := range []struct {
		r    testadapter.Request
		want []string
		note string
	}{
		{testadapter.Request{}, []string{"a::TestOne", "a::TestTwo", "b::(package)", "k::TestKill"}, all},
		{testadapter.Request{Level: testadapter.Unit}, []string{"a::TestOne", "a::TestTwo", "b::(package)", "k::TestKill"},
			all},
		{testadapter.Request{Test: "./a"}, []string{"a::TestOne", "a::TestTwo"}, ""},
		{testadapter.Request{Test: "example.com/top/b::(package)"}, []string{"b::(package)"}, ""},
	} {
		events := strobetest.RunAdapter(t, testadapter.Go{}, p, c.r)
		got := ended(events)
		for i, id := range c.want {
			c.want[i] = "example.com/top/" + id
		}
		if !slices.Equal(keys(got), c.want) || !strings.HasPrefix(notes(events), c.note) || c.note == "" &&
			notes(events) != "" {
			t.Errorf("%+v ran %q and noted %q; want %q, %q", c.r, keys(got), notes(events), c.want, c.note)
		}
		if one := got["example.com/top/k::TestKill"]; one != nil &&
			(one.Failures[0].Kind != "crash" || one.Failures[0].Signal != "SIGKILL") {
			t.Errorf("TestKill: %+v", one.Failures)
		}
		if one := got["example.com/top/b::(package)"]; one != nil &&
			!strings.HasPrefix(one.Failures[0].Message, "the package's process failed before a test ran") {
			t.Errorf("b: %q", one.Failures[0].Message)
		}
	}
}
