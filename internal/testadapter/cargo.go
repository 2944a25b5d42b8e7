package testadapter

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Cargo runs what `cargo test` runs, in its steps: cargo builds and tells of every executable (`--message-format json`,
// the Cargo book, "external tools"), a runner of ours writes down the environment that cargo gives each, and then they
// run one after another with libtest's JSON, which the standard library offers behind RUSTC_BOOTSTRAP: an empty value
// is enough for it and changes no compiler. libtest's log file says which results are real, since tests can write to
// the standard output that the JSON goes to. Doc tests are run by cargo, as rustdoc compiles them.
//
// An ID is "binary name": the binary as cargo-nextest names it (package, package::test, package::bin/name,
// package::doc/lib).
type Cargo struct{}

func (Cargo) Name() string { return "cargo" }

var cargoDrivers = []string{"cargo", "rustc", "rustdoc", "rustup", "build-script-build", "build-script-main", "cc",
	"ld", "rust-lld", "ld.lld",
	"gcc", "clang", "collect2", "sh", "env", "git"}

func (Cargo) Detect(p *Project) Detection {
	if isFile(p.FS, "Cargo.toml") {
		return Detection{Confidence: 90, Evidence: []string{"Cargo.toml"}}
	}
	if found := below(p.FS, 3, func(name string) bool { return path.Base(name) == "Cargo.toml" }); len(found) > 0 {
		return Detection{Confidence: 70, Evidence: found[:1], Dir: path.Dir(found[0])}
	}
	return Detection{}
}

func (a Cargo) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.ValidationError, "Leave command out, or take framework generic.",
			"cargo test has no command of its own to run tests with")
	}
	if _, err := p.LookPath("cargo"); err != nil {
		return nil, fault.New(fault.ValidationError, "Install Rust by rustup (rustup.rs) or set PATH in env.",
			"find the cargo command: %w", err)
	}
	x := &cargoRun{native: newNative(p, r, emit), args: splitCargoArgs(r.Args),
		dir: filepath.Join(p.Root, a.Detect(p).Dir)}
	x.metadata()
	return x, nil
}

// Rerun runs one test by cargo as a person would.
func (a Cargo) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := Rerun{Dir: filepath.Join(p.Root, a.Detect(p).Dir), Test: t.ID, Framework: a.Name()}
	id, name, _ := strings.Cut(t.ID, " ")
	args := splitCargoArgs(r.Args)
	again.Argv = append(append([]string{"cargo", "test"}, args.common...), cargoBinary(id)...)
	switch {
	case id == "(cargo)": // nothing could be built
		again.Argv, again.Test = append(append([]string{"cargo", "test", "--no-run"}, args.common...), args.packages...), ""
	case name == "(program)": // its process, not one of its tests
		again.Argv, again.Test = append(append(again.Argv, "--"), args.test...), ""
	case name == "" || name == "(build)":
		again.Argv, again.Test = append(again.Argv, "--no-run"), ""
	case strings.HasSuffix(id, "::doc/lib"):
		again.Argv = append(append(again.Argv, "--", docFilter(name)), libtestOptions(args.test)...)
	case name != "(main)":
		again.Argv = append(append(again.Argv, "--", name, "--exact"), libtestOptions(args.test)...)
		if t.Status == Skipped {
			again.Argv = append(again.Argv, "--ignored")
		}
	}
	return again
}

// libtestOptions are those of the arguments behind -- that do not select tests.
func libtestOptions(args []string) (kept []string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--skip" && i+1 < len(args):
			i++
		case arg == "--exact" || strings.HasPrefix(arg, "--skip=") || !strings.HasPrefix(arg, "-") || arg == "--ignored":
		case slices.Contains([]string{"--test-threads", "--color", "--format", "--logfile", "-Z", "--shuffle-seed",
			"--bench"}, arg) && i+1 < len(args):
			kept = append(kept, arg, args[i+1])
			i++
		default:
			kept = append(kept, arg)
		}
	}
	return kept
}

// cargoArgs are a user's arguments of cargo test.
type cargoArgs struct {
	common    []string // --release, --features …
	packages  []string // -p …, --workspace, --exclude …
	targets   []string // --lib, --test x …
	doc       bool     // --doc is among targets
	filter    string   // cargo test FILTER
	test      []string // behind --
	unnatural bool     // --no-run, --help: it would run nothing
}

var (
	cargoTargets  = lazyregexp.MustCompile(`^--(lib|bins?|tests?|examples?|bench(es)?|all-targets|doc)(=.*)?$`)
	cargoPackages = lazyregexp.MustCompile(`^(-p|--package|--exclude|--workspace|--all)(=.*)?$`)
	// Options that take the next argument as their value.
	cargoValues = []string{"-p", "--package", "--exclude", "--bin", "--test", "--example", "--bench", "-F", "--features",
		"-j", "--jobs", "--profile",
		"--target", "--target-dir", "--manifest-path", "--config", "-Z", "--color", "--message-format", "-C"}
)

func splitCargoArgs(args []string) cargoArgs {
	var a cargoArgs
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			a.test = args[i+1:]
			break
		}
		group := args[i : i+1]
		if slices.Contains(cargoValues, args[i]) && i+1 < len(args) {
			group = args[i : i+2]
			i++
		}
		switch {
		case cargoTargets.MatchString(group[0]):
			a.targets = append(a.targets, group...)
			a.doc = a.doc || group[0] == "--doc"
		case cargoPackages.MatchString(group[0]):
			a.packages = append(a.packages, group...)
		case group[0] == "--no-run" || group[0] == "--help" || group[0] == "-h":
			a.unnatural = true
		case strings.HasPrefix(group[0], "--message-format"), group[0] == "--no-fail-fast":
		case !strings.HasPrefix(group[0], "-"):
			a.filter = group[0]
		default:
			a.common = append(a.common, group...)
		}
	}
	return a
}

// cargoID names an executable as cargo-nextest does.
func cargoID(pkg string, kinds []string, target string) string {
	switch {
	case slices.Contains(kinds, "test"):
		return pkg + "::" + target
	case slices.Contains(kinds, "bin"), slices.Contains(kinds, "example"), slices.Contains(kinds, "bench"):
		return pkg + "::" + kinds[0] + "/" + target
	}
	return pkg
}

// cargoBinary are the arguments that select what a binary's ID names.
func cargoBinary(id string) []string {
	pkg, target, found := strings.Cut(id, "::")
	kind, name, of := strings.Cut(target, "/")
	switch {
	case !found:
		return []string{"-p", pkg, "--lib"}
	case target == "doc/lib":
		return []string{"-p", pkg, "--doc"}
	case of:
		return []string{"-p", pkg, "--" + kind, name}
	case target == "(build)":
		return []string{"-p", pkg, "--no-run"}
	}
	return []string{"-p", pkg, "--test", target}
}

// cargoMetadata is what `cargo metadata` says, format version 1.
type cargoMetadata struct {
	Packages []struct {
		ID, Name, Version string
		Manifest          string `json:"manifest_path"`
		Targets           []cargoTarget
	}
	Members  []string `json:"workspace_members"`
	Defaults []string `json:"workspace_default_members"`
	Root     string   `json:"workspace_root"`
}

type cargoTarget struct {
	Kind    []string
	Name    string
	Source  string `json:"src_path"`
	Test    bool
	Doctest bool
}

// cargoMessage is a line of `cargo test --no-run --message-format json`.
type cargoMessage struct {
	Reason     string
	Package    string `json:"package_id"`
	Manifest   string `json:"manifest_path"`
	Target     cargoTarget
	Executable string
	Profile    struct{ Test bool }
	Message    rustMessage
	Success    *bool
}

// rustMessage is a compiler's message, as rustc --error-format json has it.
type rustMessage struct {
	Level    string
	Message  string
	Rendered string
	Code     *struct{ Code string }
	Spans    []struct {
		File    string `json:"file_name"`
		Line    int    `json:"line_start"`
		Column  int    `json:"column_start"`
		Primary bool   `json:"is_primary"`
		Label   string
	}
}

func (n *native) rustFailure(m *rustMessage) Failure {
	f := Failure{Kind: "compile", Message: m.Message}
	if m.Code != nil {
		f.Message = m.Code.Code + ": " + m.Message
	}
	for _, s := range m.Spans {
		if s.Primary {
			f.File, f.Line, f.Column = n.in(n.base, s.File), s.Line, s.Column
			if s.Label != "" {
				f.Message += ": " + s.Label
			}
			break
		}
	}
	if len(m.Spans) == 0 { // a linker's: what it said stands only in the text
		f.Message = orElse(tail(strings.TrimSpace(m.Rendered), MaxOutput), f.Message)
	}
	return f
}

// endToEnd says whether an integration test's name is one of end-to-end tests.
func endToEnd(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	return strings.HasPrefix(name, "e2e") || strings.HasSuffix(name, "_e2e") || strings.Contains(name, "end_to_end")
}

var (
	tomlTable   = lazyregexp.MustCompile(`^\s*\[\[?\s*([\w.-]+)\s*\]?\]`)
	tomlName    = lazyregexp.MustCompile(`^\s*name\s*=\s*["']([^"']+)["']`)
	tomlHarness = lazyregexp.MustCompile(`^\s*harness\s*=\s*false\b`)
)

// ownHarness finds the targets of a manifest that have `harness = false`: cargo metadata does not tell. "lib" stands
// for [lib].
func ownHarness(manifest []byte) map[string]bool {
	own := map[string]bool{}
	kind, name, off := "", "", false
	done := func() {
		if off && kind == "lib" {
			own["lib"] = true
		} else if off && name != "" {
			own[kind+"/"+name] = true
		}
		name, off = "", false
	}
	for line := range strings.Lines(string(manifest)) {
		if m := tomlTable.FindStringSubmatch(line); m != nil {
			done()
			kind = m[1]
		} else if m := tomlName.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if tomlHarness.MatchString(line) {
			off = true
		}
	}
	done()
	return own
}

// cargoFailure is the error of a cargo command that failed as a whole, with the place where a build script panicked.
func (n *native) cargoFailure(stderr string, code int) Failure {
	f := Failure{Kind: "compile", Message: cargoSays(stderr, code)}
	of, at := buildScript.FindStringSubmatch(f.Message), panickedAt.FindStringSubmatch(f.Message)
	if of != nil && at != nil {
		f.File, f.Line, f.Column = n.in(of[1], at[1]), number(at[2]), number(at[3])
		if n.below(n.in(n.base, at[1])) && n.exists(n.in(n.base, at[1])) { // a workspace's scripts are compiled at its root
			f.File = n.in(n.base, at[1])
		}
		f.Message, _, _ = strings.Cut(f.Message, "\n  stack backtrace:")
	}
	return f
}

var (
	buildScript = lazyregexp.MustCompile("custom build command for `[^`]*\\((/[^`]*)\\)`")
	panickedAt  = lazyregexp.MustCompile(`panicked at ([^\s:]+):(\d+):(\d+)`)
)

// cargoSays is the error of a cargo command that failed as a whole.
func cargoSays(stderr string, code int) string {
	_, text, found := strings.Cut("\n"+stderr, "\nerror: ")
	if !found {
		text = stderr
	}
	return fmt.Sprintf("cargo left with code %d: %s", code, strings.TrimSpace(text))
}
