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

// nextestArgs are the packages of the suite that nextest is recorded with.
var nextestArgs = []string{"-p", "shop", "-p", "crash"}

func nextestRecorded(t testing.TB) []recorded {
	return []recorded{{stdout: recording(t, "nextest/list.json")},
		{stdout: recording(t, "nextest/run.stdout"), stderr: recording(t, "nextest/run.stderr"),
			exit: testadapter.Exit{Code: 100}}}
}

// TestNextest reads what cargo-nextest 0.9.151 wrote of the suite; it takes too long to install in every run. Where it
// is installed it runs, and must tell the same.
func TestNextest(t *testing.T) {
	p := projectOf(os.DirFS(filepath.Join(strobetest.Root(t), "testdata", "suites", "cargo")))
	a := testadapter.Nextest{}
	if d := a.Detect(p); d.Confidence != 40 {
		t.Errorf("Detect = %+v", d)
	}
	events := replay(t, a, p, testadapter.Request{Args: nextestArgs}, nextestRecorded(t)...)
	golden(t, "nextest/suite.txt", toldRust(events))
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool {
		return e.Kind == testadapter.OwnTotals && e.Totals.Failed == 12
	}) {
		t.Error("no totals of nextest's own")
	}
	if _, err := exec.LookPath("cargo-nextest"); err == nil {
		nextestReal(t)
	}
}

func nextestReal(t *testing.T) {
	t.Helper()
	noBacktraces(t)
	p := cargoSuite(t)
	// nextest asks a harness of its own for its tests, and these do not answer.
	manifest := filepath.Join(p.Root, "shop", "Cargo.toml")
	b, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(b), "[[test]]")
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"custom.rs", "custom_ok.rs"} {
		if err := os.Remove(filepath.Join(p.Root, "shop", "tests", name)); err != nil {
			t.Fatal(err)
		}
	}
	a := testadapter.Nextest{}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Args: nextestArgs})
	golden(t, "nextest/suite.txt", toldRust(events), p.Root, "/project")
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool {
		return slices.Contains([]string{"tests::passes", "passes", "tests::cases::größe_zwei", "b_segfault",
			"tests::assert_sides"}, x.Name)
	})
	events = strobetest.RunAdapter(t, a, p, testadapter.Request{Args: []string{"-p", "broken"}})
	if got := ended(events)["(build)"]; got == nil || got.Failures[0].File != "broken/tests/types.rs" ||
		got.Failures[0].Line != 3 {
		t.Errorf("(build) = %+v of %q", got, keys(ended(events)))
	}
	events = strobetest.RunAdapter(t, a, p, testadapter.Request{Level: testadapter.EndToEnd, Args: nextestArgs})
	if got := keys(ended(events)); !slices.Equal(got, []string{"shop::e2e_order orders"}) {
		t.Errorf("e2e ran %q", got)
	}
}

// TestNextestRetries: a test that fails and then passes is flaky, one that goes on failing fails once, and one that
// takes too long is told so.
func TestNextestRetries(t *testing.T) {
	p := projectOf(mapFS(map[string]string{"Cargo.toml": "[package]\n"}))
	list := `{"rust-suites":{"s":{"package-name":"s","binary-id":"s","binary-name":"s","testcases":{"flaky":{},"bad":{},"slow":{}}}}}`
	event := func(event, name string) string {
		return `{"type":"test","event":"` + event + `","name":"s::s$` + name + `","exec_time":0.1,"stdout":"out"}` + "\n"
	}
	run := event("started", "flaky") + event("failed", "flaky") + event("started", "bad") + event("failed", "bad") +
		event("started", "flaky#2") + event("ok", "flaky#2") +
		event("started", "bad#2") + event("failed", "bad#2") + event("started", "slow") + event("failed", "slow")
	status := "  TRY 1 FAIL [   0.1s] ( ---- ) s flaky\n  TRY 2 PASS [   0.1s] (1/3) s flaky\n  TRY 2 SIGSEGV [   0.1s] " +
		"(2/3) s bad\n     TIMEOUT [   0.1s] (3/3) s slow\n" +
		"     Summary [   0.3s] 3 tests run: 1 passed (1 flaky), 1 failed, 1 timed out, 0 skipped\n"
	events := replay(t, testadapter.Nextest{}, p, testadapter.Request{}, recorded{stdout: list},
		recorded{stdout: run, stderr: status, exit: testadapter.Exit{Code: 100}})
	golden(t, "nextest/retries.txt", told(events))
}

func FuzzNextest(f *testing.F) {
	for _, r := range nextestRecorded(f) {
		f.Add([]byte(r.stdout), []byte(r.stderr))
	}
	p := projectOf(mapFS(map[string]string{"Cargo.toml": "[package]\n"}))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		list := `{"rust-suites":{"s":{"package-name":"s","binary-id":"s","binary-name":"s","testcases":{"a":{}}}}}`
		replay(t, testadapter.Nextest{}, p, testadapter.Request{}, recorded{stdout: list},
			recorded{stdout: string(stdout), stderr: string(stderr)})
		abuse(t, testadapter.Nextest{}, p, testadapter.Request{}, stdout, testadapter.Exit{Code: 4})
	})
}
