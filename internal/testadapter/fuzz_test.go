package testadapter

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// fuzzed runs an execution on a report and output, cut in two, and checks what holds for every adapter.
func fuzzed(t *testing.T, x Execution, ended map[string]int, open map[string]bool, report, out []byte) {
	t.Helper()
	step, err := x.Next()
	if err != nil || step == nil {
		t.Fatalf("no step: %v", err)
	}
	for _, b := range [][]byte{out[:len(out)/2], out[len(out)/2:]} {
		x.Output(Stdout, b)
		x.Output(Stderr, b)
	}
	for _, b := range [][]byte{report[:len(report)/3], report[len(report)/3:]} {
		x.Report(step.Reports[0], b)
	}
	x.End(Exit{Code: 1})
	for id, n := range ended {
		if n != 1 {
			t.Errorf("%q ended %d times", id, n)
		}
	}
	for id := range open {
		t.Errorf("%q has no end", id)
	}
	if len(ended) == 0 {
		t.Error("a run that failed shows nothing")
	}
}

func follow(ended map[string]int, open map[string]bool) func(Event) {
	return func(e Event) {
		switch e.Kind {
		case TestStarted:
			open[e.Test.ID] = true
		case TestEnded:
			ended[e.Test.ID]++
			delete(open, e.Test.ID)
		}
	}
}

func fuzzProject() *Project {
	return &Project{Root: "/project", FS: fstest.MapFS{"a.test.ts": {Data: []byte("test('one', () => {});\ntest('two', " +
		"() => {});\n")}}, LookPath: func(name string) (string, error) {
		return "/bin/" + name, nil
	}}
}

// FuzzReport gives the readers of our own reporters' lines what reporters did not write.
func FuzzReport(f *testing.F) {
	samples, _ := filepath.Glob("testdata/*/*.jsonl")
	for _, name := range samples {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b[:min(len(b), 20<<10)], []byte("Fatal Python error: x\nCurrent thread 0x1:\n  File \"/a\", line 1 in f\n"))
		}
	}
	f.Add([]byte(`{"e":"start","id":"a"}`+"\n"+`{"e":"died","file":"/a"}`+"\n"+
		`{"e":"end","status":"crashed","file":"/a","id":"/a","fails":true}`), []byte("x"))
	f.Fuzz(func(t *testing.T, report, out []byte) {
		for _, a := range []Adapter{Pytest{}, Unittest{}} {
			ended, open := map[string]int{}, map[string]bool{}
			x, err := a.Start(fuzzProject(), &Request{Dir: "/run"}, follow(ended, open))
			if err != nil {
				t.Fatal(err)
			}
			fuzzed(t, x, ended, open, append(report, "\n{\"e\":\"end\",\"id\":\"last\"}\n"...), out)
		}
	})
}

// FuzzJUnitRuns gives the readers of Bun's and Deno's reports and output what they did not write.
func FuzzJUnitRuns(f *testing.F) {
	f.Add([]byte(junitSample), []byte("a.test.ts:\n(pass) one [1ms]\n(fail) x > two (attempt 2)\n# Unhandled error "+
		"between tests\n----------\nerror: x\n----------\n 1 error\nRan 1 test across 1 file.\n"))
	f.Add([]byte("<testsuite>"), []byte("running 2 tests from ./a.test.ts\none ... ok (1ms)\ntwo ...\n\n ERRORS "+
		"\n\n./a.test.ts (uncaught error)\nerror: x\n at file:///project/a.test.ts:1:1\n\nok | 1 passed (1 step) | 2 failed\n"))
	f.Fuzz(func(t *testing.T, report, out []byte) {
		for _, a := range []Adapter{Bun{}, Deno{}} {
			ended, open := map[string]int{}, map[string]bool{}
			x, err := a.Start(fuzzProject(), &Request{Dir: "/run"}, follow(ended, open))
			if err != nil {
				t.Fatal(err)
			}
			fuzzed(t, x, ended, open, report, out)
		}
	})
}

// FuzzTexts reads stacks, sides of assertions and scripts of any shape.
func FuzzTexts(f *testing.F) {
	f.Add("    at Cart.add (/a/b.ts:1:2)\n    at async new x [as y] (file:///c d(1).js:3:4)\n",
		"- Expected - 1\n+ Received + 1\n\n  a\n- b\n")
	f.Add("at x (<anonymous>)", "Expected: 1\n  2\nReceived value: 3\n")
	f.Add("cross-env A='b c' npx jest --config x && npm run test | y", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		frames, _ := v8Stack(a)
		for _, at := range frames {
			if at.File == "" || at.Line < 0 {
				t.Errorf("frame %+v of %q", at, a)
			}
		}
		jestSides(b)
		pythonCrash(a)
		lineIn(a, b)
		k := packageJSON{Scripts: map[string]string{"test": a, "more": b}}
		for framework, script := range k.uses() {
			if k.Scripts[script] == "" {
				t.Errorf("%s in script %q of %q", framework, script, a)
			}
			k.command(framework, script)
		}
	})
}
