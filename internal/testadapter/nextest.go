package testadapter

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Nextest runs `cargo nextest run`. Its results are its machine format, libtest's events on standard output (nexte.st,
// "machine-readable output"; still behind an environment variable), where nothing of the tests' own can stand, since
// nextest captures it; of how a process ended only the status lines on standard error tell, which therefore must not
// have tests' output between them.
//
// IDs are those of Cargo: "binary-id name".
type Nextest struct{}

func (Nextest) Name() string { return "nextest" }

func (Nextest) Detect(p *Project) Detection {
	d := Cargo{}.Detect(p)
	if d.Confidence == 0 {
		return d
	}
	if _, err := p.LookPath("cargo-nextest"); err != nil {
		return Detection{}
	}
	config := filepath.ToSlash(filepath.Join(d.Dir, ".config", "nextest.toml"))
	if isFile(p.FS, config) {
		return Detection{Confidence: 95, Evidence: append(d.Evidence, config, "cargo-nextest is installed"), Dir: d.Dir}
	}
	return Detection{Confidence: 40, Evidence: append(d.Evidence,
		"cargo-nextest is installed, and the project has no configuration for it"), Dir: d.Dir}
}

func (a Nextest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.ValidationError, "Leave command out, or take framework generic.",
			"cargo nextest has no command of its own to run tests with")
	}
	if _, err := p.LookPath("cargo-nextest"); err != nil {
		return nil, fault.New(fault.ValidationError,
			"Install it: cargo install cargo-nextest --locked; or take framework cargo.", "find the cargo-nextest command: %w",
			err)
	}
	dir := Cargo{}.Detect(p).Dir
	x := &nextestRun{native: newNative(p, r, emit), dir: filepath.Join(p.Root, dir), ids: map[string]string{},
		paths: map[string]string{}, dirs: map[string]string{}, words: map[string]string{},
		results: map[string]*nextestResult{}}
	x.base, x.args = x.dir, r.Args
	// Names have no spaces: this is an ID, and the other packages need not be built.
	if binary, _, isID := strings.Cut(r.Test, " "); isID && !slices.Contains(r.Args, "-p") &&
		!slices.Contains(r.Args, "--package") {
		pkg, _, _ := strings.Cut(binary, "::")
		x.args = append([]string{"-p", pkg}, r.Args...)
	}
	x.list()
	return x, nil
}

func (a Nextest) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := Rerun{Dir: filepath.Join(p.Root, Cargo{}.Detect(p).Dir), Test: t.ID, Framework: a.Name()}
	again.Argv = append([]string{"cargo", "nextest", "run"}, r.Args...)
	if binary, name, ok := strings.Cut(t.ID, " "); ok {
		again.Argv = append(again.Argv, "-E", nextestExpression(binary, name))
		if t.Status == Skipped {
			again.Argv = append(again.Argv, "--run-ignored", "all")
		}
	} else {
		again.Test = ""
	}
	return again
}

func nextestExpression(binary, name string) string {
	return fmt.Sprintf("binary_id(=%s) & test(=%s)", binary, name)
}

type nextestRun struct {
	native
	dir      string // absolute
	args     []string
	ids      map[string]string // binary-id by "package::binary"
	paths    map[string]string // of programs, by binary-id
	dirs     map[string]string // where they run
	tests    []string          // IDs
	words    map[string]string // the last status word by ID
	results  map[string]*nextestResult
	order    []string
	filtered bool
	keep     map[string]bool // IDs; nil: all. Ignored tests are told of whatever the filterset says.
	sum      *Totals
}

// nextestResult is what the last attempt's event said.
type nextestResult struct {
	event    libEvent
	attempts int
	failed   bool // an earlier attempt did
}

func (x *nextestRun) environ() []string {
	return []string{"NEXTEST_EXPERIMENTAL_LIBTEST_JSON=1", "NEXTEST_NO_INPUT_HANDLER=1"}
}

func (x *nextestRun) list() {
	var out, errs strings.Builder
	x.then(&task{
		step: &Step{Argv: append([]string{"cargo", "nextest", "list", "--message-format", "json"},
			nextestListArgs(x.args)...), Dir: x.dir, Env: x.environ(), Phase: Compiling, Drivers: nextestDrivers},
		stdout: func(line string) { out.WriteString(line) }, // one line, of megabytes in large workspaces
		stderr: func(line string) {
			keepLine(&errs, line)
			if text := strings.TrimSpace(line); strings.HasPrefix(text, "Compiling ") ||
				strings.HasPrefix(text, "Downloading ") {
				x.phase(Compiling, text)
			}
		},
		end: func(exit Exit) {
			if exit.Canceled {
				return
			}
			if exit.Code != 0 || !x.read(out.String()) {
				failures := x.compileErrors(errs.String(), "")
				if len(failures) == 0 {
					failures = []Failure{{Kind: "collect", Message: cargoSays(errs.String(), exit.Code)}}
				}
				x.broken("(build)", "(build)", "", failures...)
				return
			}
			x.selected()
		},
	})
}

var nextestDrivers = append([]string{"cargo-nextest"}, cargoDrivers...)

// nextestListArgs are the arguments that nextest list knows as well: not those of running.
func nextestListArgs(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch name, _, _ := strings.Cut(args[i], "="); name {
		case "--":
			return append(kept, args[i:]...)
		case "--retries", "-j", "--test-threads", "--failure-output", "--success-output", "--status-level",
			"--final-status-level", "--max-fail", "--no-tests":
			if !strings.Contains(args[i], "=") {
				i++
			}
		case "--no-fail-fast", "--fail-fast", "--no-capture", "--nocapture", "--hide-progress-bar":
		default:
			kept = append(kept, args[i])
		}
	}
	return kept
}

// read takes in the list, as nexte.st describes it.
func (x *nextestRun) read(text string) bool {
	var list struct {
		Suites map[string]struct {
			Package string                     `json:"package-name"`
			ID      string                     `json:"binary-id"`
			Binary  string                     `json:"binary-name"`
			Path    string                     `json:"binary-path"`
			Dir     string                     `json:"cwd"`
			Tests   map[string]json.RawMessage `json:"testcases"`
		} `json:"rust-suites"`
	}
	if json.Unmarshal([]byte(text), &list) != nil || list.Suites == nil {
		return false
	}
	for _, s := range list.Suites {
		x.ids[s.Package+"::"+s.Binary], x.paths[s.ID], x.dirs[s.ID] = s.ID, s.Path, s.Dir
		for name := range s.Tests {
			x.tests = append(x.tests, s.ID+" "+name)
		}
	}
	slices.Sort(x.tests)
	return true
}

// Programs is the file that has a test.
func (x *nextestRun) Programs(id string) []string {
	binary, _, _ := strings.Cut(id, " ")
	return []string{x.paths[binary]}
}

// selected chooses by a filterset, nextest's language of expressions.
func (x *nextestRun) selected() {
	var parts []string
	switch x.r.Level {
	case Unit:
		parts = append(parts, "(kind(lib) | kind(bin) | kind(proc-macro))")
	case Integration:
		parts = append(parts, `(kind(test) & !binary(/(?i)^e2e|[-_]e2e$|end[-_]to[-_]end/))`)
	case EndToEnd:
		parts = append(parts, `(kind(test) & binary(/(?i)^e2e|[-_]e2e$|end[-_]to[-_]end/))`)
	}
	if x.r.Test != "" {
		chosen := choose(x.r.Test, x.tests)
		if !slices.Contains(chosen, x.r.Test) { // a name without its binary
			var names []string
			for _, id := range x.tests {
				_, name, _ := strings.Cut(id, " ")
				names = append(names, name)
			}
			byName := choose(x.r.Test, names)
			chosen = nil
			for i, id := range x.tests {
				if slices.Contains(byName, names[i]) {
					chosen = append(chosen, id)
				}
			}
		}
		if len(chosen) == 0 {
			x.unmatched(x.tests, "")
			return
		}
		var any []string
		x.keep = map[string]bool{}
		for _, id := range chosen {
			x.keep[id] = true
			binary, name, _ := strings.Cut(id, " ")
			any = append(any, "("+nextestExpression(binary, name)+")")
		}
		parts = append(parts, "("+strings.Join(any, " | ")+")")
	}
	argv := slices.Concat([]string{"cargo", "nextest", "run", "--message-format", "libtest-json-plus", "--no-fail-fast",
		"--failure-output", "never", "--success-output", "never",
		"--status-level", "all", "--color", "never"}, x.args)
	if x.r.Traced && !slices.Contains(x.args, "-j") && !slices.Contains(x.args, "--test-threads") {
		argv = slices.Insert(argv, 3, "--test-threads=1")
	}
	if len(parts) > 0 {
		x.filtered = true
		at := slices.Index(argv, "--")
		if at < 0 {
			at = len(argv)
		}
		argv = slices.Insert(argv, at, "-E", strings.Join(parts, " & "))
	}
	t := &task{step: &Step{Argv: argv, Dir: x.dir, Env: x.environ(), Phase: Running, Drivers: nextestDrivers},
		stdout: x.line, stderr: x.status}
	t.end = func(exit Exit) { x.ends(exit, t) }
	x.then(t)
}

var (
	nextestRetry  = lazyregexp.MustCompile(`#(\d+)$`)
	nextestStatus = lazyregexp.MustCompile(
		`^ *((?:TRY \d+ )?[A-Z][A-Z0-9+-]*(?: \d+/\d+)?) \[[^\]]*\] (?:\( *\d+/\d+\) )?(\S+) (.+)$`)
	nextestSum   = lazyregexp.MustCompile(`^ *Summary \[[^\]]*\] .*?tests? run: (.*)$`)
	nextestCount = lazyregexp.MustCompile(`(\d+) (passed|failed|timed out|exec failed|skipped)`)
)

func (x *nextestRun) line(line string) {
	for _, e := range libEvents(strings.Replace(line, `{"type":"`, `{ "type": "`, 1)) {
		binary, name, ok := strings.Cut(e.Name, "$")
		if e.Type != "test" || !ok {
			continue
		}
		id, known := x.ids[binary]
		if !known {
			id = binary
		}
		attempt := 1
		if m := nextestRetry.FindStringSubmatch(name); m != nil {
			name, attempt = strings.TrimSuffix(name, m[0]), number(m[1])
		}
		e.Name = name
		key := id + " " + name
		if x.keep != nil && !x.keep[key] {
			continue
		}
		switch e.Event {
		case "started":
			x.started(&Test{ID: key, Name: name, Suite: id})
		case "ok", "failed", "ignored":
			r := x.results[key]
			if r == nil {
				r = &nextestResult{}
				x.results[key] = r
				x.order = append(x.order, key)
			} else {
				r.failed = r.failed || r.event.Event == "failed"
			}
			r.event, r.attempts = e, max(r.attempts+1, attempt)
			if e.Event != "failed" && !r.failed {
				x.tell(key)
			}
		}
	}
}

// status reads how a test ended: PASS, FAIL, SIGSEGV, ABORT, TIMEOUT, LEAK, FLAKY 2/3, TRY 1 FAIL.
func (x *nextestRun) status(line string) {
	if m := nextestSum.FindStringSubmatch(line); m != nil {
		x.sum = &Totals{}
		for _, c := range nextestCount.FindAllStringSubmatch(m[1], -1) {
			switch n := number(c[1]); c[2] {
			case "passed":
				x.sum.Passed = n
			case "skipped":
				x.sum.Skipped = n
			default:
				x.sum.Failed += n
			}
		}
		return
	}
	m := nextestStatus.FindStringSubmatch(line)
	if m == nil {
		return
	}
	if key := m[2] + " " + m[3]; m[1] != "START" && m[1] != "SLOW" {
		x.words[key] = m[1]
	}
}

// tell is a test's end. Of failed ones it comes when all has: another attempt may follow, and how the process ended is
// told elsewhere.
func (x *nextestRun) tell(key string) {
	r := x.results[key]
	binary, name, _ := strings.Cut(key, " ")
	t := &Test{ID: key, Name: name, Suite: binary, Duration: time.Duration(r.event.Seconds * float64(time.Second)),
		Output: r.event.Stdout, Attempts: r.attempts}
	switch r.event.Event {
	case "ok":
		t.Status, t.Flaky = Passed, r.failed
	case "ignored":
		t.Status, t.Reason = Skipped, r.event.Message
	default:
		t.Status, t.Fails = Failed, true
		x.cwd = x.dirs[binary]
		f := x.libFailure(t, nextestPlain(r.event))
		word := x.words[key]
		_, last, tried := strings.Cut(strings.TrimPrefix(word, "TRY "), " ")
		if strings.HasPrefix(word, "TRY ") && tried {
			word = last
		}
		switch {
		case strings.HasPrefix(word, "SIG") || word == "ABORT":
			t.Status = Crashed
			f = x.explain(r.event.Stdout, Failure{Kind: "crash", Message: "the test's process died of " + word,
				Signal: strings.TrimPrefix(word, "ABORT")}, "")[0]
			f.Kind, f.Signal = "crash", strings.TrimPrefix(word, "ABORT")
		case word == "TIMEOUT":
			t.Status = TimedOut
			f = Failure{Kind: "timeout", Message: "longer than nextest's slow-timeout allows"}
		case !strings.Contains(r.event.Stdout, "panicked at") && f.Kind == "assertion" && f.File == "":
			f.Kind = "exit"
			f.Message = "the test's process left with a code of its own; it wrote last:\n" +
				orElse(strings.TrimSpace(tail(r.event.Stdout, 2<<10)), "nothing")
			t.Status = Crashed
		}
		t.Failures = []Failure{f}
		t.File, t.Line = f.File, f.Line
	}
	x.finished(t)
}

// nextestPlain takes what libtest said of should_panic out of the output, where the harness of the one test wrote it.
func nextestPlain(e libEvent) libEvent {
	if _, text, ok := strings.Cut(e.Stdout, "\nnote: test did not panic as expected"); ok {
		text, _, _ = strings.Cut(text, "\n")
		e.Message = "test did not panic as expected" + text
	} else if _, text, ok := strings.Cut(e.Stdout, "\nnote: panic did not contain expected string\n"); ok {
		text, _, _ = strings.Cut(text, "\n\n")
		e.Message = "panic did not contain expected string\n" + text
	}
	return e
}

func (x *nextestRun) ends(exit Exit, t *task) {
	for _, key := range x.order {
		if !x.ended[key] {
			x.tell(key)
		}
	}
	x.unfinished(exit, t)
	if exit.Canceled || exit.TimedOut {
		return
	}
	const noTests = 4 // nextest's exit code for it
	switch {
	case len(x.ended) == 0 && exit.Code == noTests:
		x.note("nextest found no tests that match; it runs no doc tests (framework cargo does)")
	case len(x.ended) == 0 && exit.Code != 0:
		x.broken("(nextest)", "(nextest)", "", Failure{Kind: "exit", Message: cargoSays(t.last[Stderr].String(), exit.Code)})
	case x.sum != nil:
		if x.filtered || len(x.args) > 0 {
			x.sum.Skipped = -1 // it counts all that the filter left out
		}
		x.totals(*x.sum)
	}
	if x.r.Test == "" && x.r.Level == AllLevels {
		x.note("nextest runs no doc tests: framework cargo does")
	}
}
