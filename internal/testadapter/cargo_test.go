package testadapter_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// cargoSuite is a copy of the suite below testdata, which is built into the cache.
func cargoSuite(t *testing.T) *testadapter.Project {
	t.Helper()
	t.Setenv("CARGO_TARGET_DIR", cargoTarget(t))
	return parallelCargo(t)
}

// parallelCargo is the suite for a test that gives the place to build in itself, as cargoTarget says it.
func parallelCargo(t *testing.T) *testadapter.Project {
	t.Helper()
	strobetest.NeedCommand(t, "cargo", "rustc", "rustdoc")
	return strobetest.ProjectAt(strobetest.Suite(t, "cargo"))
}

func cargoTarget(t *testing.T) string {
	t.Helper()
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "cargo-suite")
}

// backtraces are off, so that messages are the same everywhere.
func noBacktraces(t *testing.T) { t.Setenv("RUST_BACKTRACE", "0") }

var (
	rustThread = regexp.MustCompile(`\(\d+\) (panicked|has overflowed)`)
	rustTime   = regexp.MustCompile(`finished in [0-9.]+s`)
	// Whichever thread panics first in a process says this.
	rustNote = regexp.MustCompile("note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace" +
		`(?:\\n)?`)
)

func toldRust(events []testadapter.Event) string {
	text := rustThread.ReplaceAllString(told(events), "(TID) $1")
	return rustTime.ReplaceAllString(rustNote.ReplaceAllString(text, ""), "finished in TIME")
}

func TestCargoSuite(t *testing.T) {
	p := cargoSuite(t)
	noBacktraces(t)
	events := strobetest.RunAdapter(t, testadapter.Cargo{}, p,
		testadapter.Request{Args: []string{"-p", "shop", "-p", "plain"}})
	golden(t, "cargo/shop.txt", toldRust(events), p.Root, "ROOT")
	if *update {
		return
	}
	alone(t, testadapter.Cargo{}, p, ended(events), func(x *testadapter.Test) bool {
		return slices.Contains([]string{"tests::passes", "passes", "tests::cases::größe_zwei", "src/lib.rs - sum (line 9)",
			"custom"}, x.Name) ||
			strings.HasPrefix(x.Name, "shop/src/lib.rs - sum (line 9)")
	})
}

// TestCargoUncaptured: with --nocapture libtest's report has no panics, and standard error has them.
func TestCargoUncaptured(t *testing.T) {
	p := cargoSuite(t)
	noBacktraces(t)
	got := ended(strobetest.RunAdapter(t, testadapter.Cargo{}, p,
		testadapter.Request{Args: []string{"-p", "shop", "--lib", "--", "--nocapture"}}))
	if x := got["shop tests::assert_sides"]; x == nil || len(x.Failures) != 1 || x.Failures[0].Expected == "" ||
		x.Failures[0].Kind != "assertion" {
		t.Errorf("%q: %+v", keys(got), x)
	}
}

// TestCargoCrashes: each program's end is told with the test that ran, and hides no failure that came before.
func TestCargoCrashes(t *testing.T) {
	p := cargoSuite(t)
	noBacktraces(t)
	// One thread: with more, the failure beside the crash may or may not have ended.
	events := strobetest.RunAdapter(t, testadapter.Cargo{}, p,
		testadapter.Request{Args: []string{"-p", "crash", "--", "--test-threads=1"}})
	golden(t, "cargo/crash.txt", toldRust(events), p.Root, "ROOT")
}

// TestCargoBroken: what builds runs, and what does not is told with the compiler's messages.
func TestCargoBroken(t *testing.T) {
	p := cargoSuite(t)
	noBacktraces(t)
	events := strobetest.RunAdapter(t, testadapter.Cargo{}, p, testadapter.Request{Args: []string{"-p", "broken"}})
	golden(t, "cargo/broken.txt", toldRust(events), p.Root, "ROOT")
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool {
		return e.Kind == testadapter.PhaseChanged && e.Phase == testadapter.Compiling
	}) {
		t.Error("no phase of compiling")
	}
}

// TestCargoDocPlace: a doc test that fails has the line of its text. What rustdoc says is a line of the program that it
// makes of it, which may be any line of the file.
func TestCargoDocPlace(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cargo")
	root := t.TempDir()
	const filler = 30
	text := strings.Repeat("const _: i32 = 1;\n", filler) +
		"/// ```\n/// assert_eq!(docs::one(), 2);\n/// ```\npub fn one() -> i32 { 1 }\n"
	if err := errors.Join(os.Mkdir(filepath.Join(root, "src"), 0o700),
		os.WriteFile(filepath.Join(root, "src/lib.rs"), []byte(text), 0o600),
		os.WriteFile(filepath.Join(root, "Cargo.toml"),
			[]byte("[package]\nname = \"docs\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	all := ended(strobetest.RunAdapterIn(t, testadapter.Cargo{}, strobetest.ProjectAt(root),
		testadapter.Request{Args: []string{"--doc"}}, "RUST_BACKTRACE=1"))
	for id, x := range all {
		if f := x.Failures; len(f) != 1 || f[0].File != "src/lib.rs" || f[0].Line != filler+1 || f[0].Actual != "1" {
			t.Errorf("%s: %+v", id, f)
		}
	}
	if len(all) != 1 {
		t.Errorf("ran %q", keys(all))
	}
}

func TestCargoSelect(t *testing.T) {
	p := cargoSuite(t)
	for want, ids := range map[string][]string{
		"passes":                 {"shop::bin/till passes"}, // the whole name, before it is a part of others
		"tests::passes":          {"shop tests::passes"},
		"sides":                  {"shop tests::assert_sides", "shop tests::sides_of_many_lines"},
		"größe":                  {"shop tests::cases::größe_zwei"},
		"custom":                 {"shop::custom (main)"},
		"shop::e2e_order orders": {"shop::e2e_order orders"},
		"sum (line 5)":           {"shop::doc/lib shop/src/lib.rs - sum (line 5)"},
		"no_such_test":           {},
		"shop tests::passed":     {},
	} {
		t.Run(want, func(t *testing.T) {
			events := strobetest.RunAdapter(t, testadapter.Cargo{}, p,
				testadapter.Request{Test: want, Args: []string{"-p", "shop"}})
			if got := keys(ended(events)); !slices.Equal(got, ids) {
				t.Errorf("%q ran %q, want %q", want, got, ids)
			}
			if len(ids) == 0 && !strings.Contains(notes(events), "no test matches") {
				t.Errorf("notes = %q", notes(events))
			}
			if want == "shop tests::passed" && !strings.Contains(notes(events), "near it: shop tests::passes") {
				t.Errorf("notes = %q", notes(events))
			}
		})
	}
}

func TestCargoLevels(t *testing.T) {
	p := cargoSuite(t)
	for level, want := range map[testadapter.Level][]string{
		testadapter.Unit:        {"shop", "shop::bin/till"},
		testadapter.Integration: {"shop::custom", "shop::custom_ok", "shop::environment"},
		testadapter.EndToEnd:    {"shop::e2e_order"},
	} {
		suites := map[string]bool{}
		for _, x := range ended(strobetest.RunAdapter(t, testadapter.Cargo{}, p,
			testadapter.Request{Level: level, Args: []string{"-p", "shop"}})) {
			suites[x.Suite] = true
		}
		if !slices.Equal(keys(suites), want) {
			t.Errorf("%s ran %q, want %q", level, keys(suites), want)
		}
	}
}

// TestCargoNothing: a workspace without tests, and one that cargo cannot read.
func TestCargoNothing(t *testing.T) {
	p := cargoSuite(t)
	if events := strobetest.RunAdapter(t, testadapter.Cargo{}, p,
		testadapter.Request{Args: []string{"-p", "plain"}}); len(ended(events)) != 0 {
		t.Errorf("ended %q", keys(ended(events)))
	}
	if err := os.WriteFile(filepath.Join(p.Root, "shop", "Cargo.toml"),
		[]byte("[package]\nname = \"shop\"\nversion = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ended(strobetest.RunAdapter(t, testadapter.Cargo{}, p, testadapter.Request{}))["(cargo)"]
	if got == nil || got.Status != testadapter.Errored || got.Failures[0].File != "shop/Cargo.toml" ||
		got.Failures[0].Line != 3 {
		t.Errorf("(cargo) = %+v", got)
	}
}

func TestCargoRerun(t *testing.T) {
	p := projectOf(mapFS(map[string]string{"Cargo.toml": "[package]\n"}))
	r := &testadapter.Request{Args: []string{"--release", "-p", "other", "--", "--nocapture"}}
	for id, want := range map[string][]string{
		"shop tests::a": {"cargo", "test", "--release", "-p", "shop", "--lib", "--", "tests::a",
			"--exact", "--nocapture"},
		"shop::bin/till a": {"cargo", "test", "--release", "-p", "shop", "--bin", "till", "--", "a",
			"--exact", "--nocapture"},
		"shop::it a": {"cargo", "test", "--release", "-p", "shop", "--test", "it", "--", "a",
			"--exact", "--nocapture"},
		"shop::custom (main)": {"cargo", "test", "--release", "-p", "shop", "--test", "custom"},
		"shop::doc/lib src/lib.rs - (line 7)": {"cargo", "test", "--release", "-p", "shop", "--doc", "--", "7)",
			"--nocapture"},
	} {
		got := testadapter.Cargo{}.Rerun(p, r, &testadapter.Test{ID: id, Status: testadapter.Failed})
		if !slices.Equal(got.Argv, want) || got.Test != id || got.Framework != "cargo" {
			t.Errorf("Rerun(%q) = %+v, want %q", id, got, want)
		}
	}
}

// cargoSteps are what cargo and one test program of version 1.70 wrote, whose panics are of the older form: the message
// in quotes.
func cargoSteps(list, run, log string, exit testadapter.Exit) []recorded {
	return []recorded{
		{stdout: `{"packages":[{"name":"shop","version":"0.1.0","id":"shop 0.1.0 (path+file:///project)","manifest_path":"/project/Cargo.toml",` +
			`"targets":[{"kind":["lib"],"name":"shop","src_path":"/project/src/lib.rs","doctest":false,"test":true}]}],` +
			`"workspace_members":["shop 0.1.0 (path+file:///project)"],"workspace_root":"/project"}` + "\n"},
		{stdout: `{"reason":"compiler-artifact","package_id":"shop 0.1.0 (path+file:///project)","manifest_path":"/project/Cargo.toml",` +
			`"target":{"kind":["lib"],"name":"shop","src_path":"/project/src/lib.rs"},"profile":{"test":true},"executable":"/project/target/debug/deps/shop-1"}` + "\n" +
			`{"reason":"build-finished","success":true}` + "\n"},
		{report: "CARGO_PKG_NAME=shop\x00"},
		{stdout: list},
		{stdout: run, report: log, exit: exit},
	}
}

const cargoList = `{ "type": "test", "event": "discovered", "name": "a", "ignore": false, "source_path": "src/lib.rs", "start_line": 3 }
{ "type": "test", "event": "discovered", "name": "b", "ignore": false, "source_path": "src/lib.rs", "start_line": 9 }
`

// TestCargoRecorded is about what is hard to make happen: older panics, the time of the run being over, a report that
// is broken.
func TestCargoRecorded(t *testing.T) {
	p := projectOf(mapFS(map[string]string{"Cargo.toml": "[package]\n"}))
	started := `{ "type": "test", "event": "started", "name": "a" }` + "\n" +
		`{ "type": "test", "event": "started", "name": "b" }` + "\n"
	panics := `{ "type": "test", "name": "a", "event": "failed", "stdout": "thread 'a' panicked at 'assertion failed: ` +
		"`(left == right)`" +
		`\n  left: ` + "`1`" + `,\n right: ` + "`2`" + `: it''s wrong', src/lib.rs:4:5\nnote: run with ` +
		"`RUST_BACKTRACE=1`" + ` environment variable to display a backtrace\n" }` + "\n"
	suite := `{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 0, "measured": 0, "filtered_out": 0, "exec_time": 0.1 }` + "\n"
	for name, steps := range map[string][]recorded{
		"old-panic": cargoSteps(cargoList, started+panics+`{ "type": "test", "name": "b", "event": "ok" }`+"\n"+suite,
			"failed a\nok b\n", testadapter.Exit{Code: 101}),
		"timeout": cargoSteps(cargoList, started+`{ "type": "test", "event": "timeout", "name": "a" }`+"\n"+
			`{ "type": "test", "name": "b", "event": "ok" }`+"\n",
			"ok b\n", testadapter.Exit{TimedOut: true, Signal: "SIGKILL"}),
		// "timeout" only says that a test takes long.
		"slow": cargoSteps(cargoList, started+`{ "type": "test", "event": "timeout", "name": "a" }`+"\n"+
			`{ "type": "test", "name": "a", "event": "ok" }`+"\n"+
			`{ "type": "test", "name": "b", "event": "ok" }`+"\n", "ok a\nok b\n", testadapter.Exit{}),
		"broken-json": cargoSteps(cargoList, started+`{ "type": "test", "name": "a", "event": "fai`+"\x00garbage\n"+
			`{ "type": "test", "name": "b", "event": "ok" }`+"\n"+suite,
			"failed: reason\nof two lines a\nok b\n", testadapter.Exit{Code: 101}),
		"no-log": cargoSteps(cargoList, started+panics+`{ "type": "test", "name": "b", "event": "ok" }`+"\n"+suite, "",
			testadapter.Exit{Code: 101}),
		"canceled": cargoSteps(cargoList, started, "", testadapter.Exit{Canceled: true, Signal: "SIGTERM"}),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "cargo/"+name+".txt", told(replay(t, testadapter.Cargo{}, p, testadapter.Request{}, steps...)))
		})
	}
}

func FuzzCargo(f *testing.F) {
	f.Add(cargoList, `{ "type": "test", "event": "started", "name": "a" }`+"\n"+
		`{ "type": "test", "name": "a", "event": "ok" }`+"\n", "ok a\n")
	f.Add(cargoList,
		`{ "type": "test", "name": "b", "event": "failed", "stdout": "thread 'b' panicked at x.rs:1:1:\nm\n" }`,
		"failed: a\nb b\n")
	p := projectOf(mapFS(map[string]string{"Cargo.toml": "[package]\n"}))
	f.Fuzz(func(t *testing.T, list, run, log string) {
		var events []testadapter.Event
		r := &testadapter.Request{Dir: "/private"}
		x, err := testadapter.Cargo{}.Start(p, r, func(e testadapter.Event) { events = append(events, e) })
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range cargoSteps(list, run, log, testadapter.Exit{Code: 101}) {
			step, err := x.Next()
			if err != nil || step == nil {
				break
			}
			x.Output(testadapter.Stdout, []byte(one.stdout))
			for _, name := range step.Reports {
				x.Report(name, []byte(one.report))
			}
			x.End(one.exit)
		}
		once(t, events)
		abuse(t, testadapter.Cargo{}, p, testadapter.Request{}, []byte(run), testadapter.Exit{Code: 101})
	})
}
