package testadapter

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Maven runs the tests of Surefire, and Failsafe's as level integration: JUnit 4, everything of the JUnit platform,
// TestNG. An extension of ours, given on the command line, has the listener in the tests' class path; no file of the
// project changes.
type Maven struct{}

func (Maven) Name() string { return "maven" }

// Detect looks for a pom.xml.
func (Maven) Detect(p *Project) Detection {
	dir := p.buildRoot("pom.xml")
	switch {
	case dir == "":
		return Detection{}
	case p.isDir(path.Join(dir, "src/test")) || strings.Contains(p.read(path.Join(dir, "pom.xml")), "<modules>"):
		return Detection{Confidence: 88, Evidence: []string{path.Join(dir, "pom.xml")}, Dir: strings.TrimPrefix(dir, ".")}
	}
	return Detection{Confidence: 40, Evidence: []string{path.Join(dir, "pom.xml") + ", without src/test"},
		Dir: strings.TrimPrefix(dir, ".")}
}

// buildRoot is the folder of a build file: Root, or one directly below it.
func (p *Project) buildRoot(names ...string) string {
	if p.first(".", names...) != "" {
		return "."
	}
	for _, name := range names {
		for _, at := range p.glob("*/" + name) {
			if dir := path.Dir(at); !strings.HasPrefix(dir, ".") && !slices.Contains(skippedFolders, dir) {
				return dir
			}
		}
	}
	return ""
}

var wrapperURL = lazyregexp.MustCompile(`(?m)^distributionUrl=.*/([^/]+?)(?:-bin|-all)?\.\w+\s*$`)

// wrapped is the command of a build tool: the project's wrapper where what it would download is there, else the
// installed one, else the wrapper.
func (p *Project) wrapped(dir, script, properties, dists, tool, hint string) (string, error) {
	there := p.isFile(path.Join(dir, script))
	if m := wrapperURL.FindStringSubmatch(p.read(path.Join(dir, properties))); there && m != nil {
		found, err := filepath.Glob(filepath.Join(p.environ("HOME"), dists, m[1]+"*"))
		if there = err == nil && len(found) > 0; there {
			return filepath.Join(p.Root, dir, script), nil
		}
		there = true
	}
	at, err := p.command(tool, hint)
	if err != nil && there {
		return filepath.Join(p.Root, dir, script), nil
	}
	return at, err
}

func (p *Project) maven(dir string) (string, error) {
	return p.wrapped(dir, "mvnw", ".mvn/wrapper/maven-wrapper.properties", ".m2/wrapper/dists", "mvn",
		"Install Maven (Debian: apt-get install maven), or give its folder in PATH with env.")
}

// Start prepares a run.
func (a Maven) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.Unsupported, `Leave out command, or give framework generic. Maven's own arguments go `+
			`into args: ["-Pfast"].`, "maven does not run a given program")
	}
	dir := a.Detect(p).dir()
	tool, err := p.maven(dir)
	if err != nil {
		return nil, err
	}
	phase, property := "test", "-Dtest="
	jar, report := inDir(r, "strobe_jvm.jar"), inDir(r, "strobe_jvm.jsonl")
	argv := []string{tool, "-B", "-fae", "-Dmaven.ext.class.path=" + jar}
	switch r.Level {
	case AllLevels, Unit:
	case Integration:
		if !a.failsafe(p, dir) {
			return nil, noLevel("maven", "no pom.xml of the project names maven-failsafe-plugin", r.Level)
		}
		phase, property = "verify", "-Dit.test="
		argv = append(argv, "-Dstrobe.surefire=skip")
	default:
		return nil, noLevel("maven", "it has unit tests (Surefire) and integration tests (Failsafe)", r.Level)
	}
	x := &jvmRun{tool: "Maven", sources: newJVMSources(p, dir),
		scripted: &scripted{p: p, r: r, res: newResults(p, emit)}}
	x.wire, x.exits = x.wired, x.exit
	if r.Test != "" {
		x.choice = x.sources.choice(r.Test)
		if x.res.keep = x.choice.keep; x.none() {
			return x, nil
		}
		argv = append(argv, a.chosen(x.sources, dir, x.choice.targets, property)...)
	}
	argv = append(argv, r.Args...)
	if !slices.ContainsFunc(r.Args, mavenPhase) {
		argv = append(argv, phase)
	}
	x.steps = []*Step{{Argv: argv, Dir: filepath.Join(p.Root, dir), Phase: Running, Builds: true,
		Drivers: mavenDrivers, Reports: []string{report},
		Files: map[string][]byte{jar: reporter("strobe_jvm.jar"), report: nil}}}
	return x, nil
}

// mavenDrivers: Maven's own JVM is told from those of tests by its main class.
var mavenDrivers = []string{"sh", "dash", "bash", "env", "mvn", "mvnw",
	"java org.codehaus.plexus.classworlds.launcher.Launcher", "java org.apache.maven.wrapper.MavenWrapperMain"}

// mavenPhase says whether an argument is a phase that runs tests, or a goal of a plugin.
func mavenPhase(arg string) bool {
	return slices.Contains([]string{"test", "package", "integration-test", "verify", "install"}, arg) ||
		!strings.HasPrefix(arg, "-") && strings.Contains(arg, ":")
}

func (Maven) failsafe(p *Project, dir string) bool {
	poms := append([]string{path.Join(dir, "pom.xml")}, p.glob(path.Join(dir, "**", "pom.xml"))...)
	return slices.ContainsFunc(poms, func(name string) bool {
		return strings.Contains(p.read(name), "maven-failsafe-plugin")
	})
}

// chosen are the arguments that run some classes or methods: those of their modules, and what these need.
func (Maven) chosen(s *jvmSources, dir string, targets []jvmTarget, property string) []string {
	if len(targets) == 0 {
		return nil
	}
	var patterns, modules []string
	for _, t := range targets {
		pattern := t.class
		if t.method != "" {
			pattern += "#" + t.method
			if !t.plain { // JUnit 4 calls a case of a parametrised test method[0]
				pattern += "+" + t.method + "[*]"
			}
		}
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
		if t.file == "" {
			modules = append(modules, dir)
		} else if m := s.module(t.file, "pom.xml"); !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
	}
	argv := []string{property + strings.Join(patterns, ",")}
	if !slices.Contains(modules, dir) {
		argv = append(argv, "-Dsurefire.failIfNoSpecifiedTests=false")
		for i, m := range modules {
			if rel, err := filepath.Rel(dir, m); err == nil {
				modules[i] = rel
			}
		}
		argv = append(argv, "-pl", strings.Join(modules, ","), "-am")
	}
	return argv
}

// Rerun runs one method, which is as little as Surefire can.
func (a Maven) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	again := Rerun{Argv: []string{"mvn"}, Dir: filepath.Join(p.Root, dir), Framework: a.Name()}
	if tool, err := p.maven(dir); err == nil && strings.HasSuffix(tool, "mvnw") {
		again.Argv[0] = "./mvnw"
	}
	phase, property := "test", "-Dtest="
	if r.Level == Integration {
		phase, property = "verify", "-Dit.test="
	}
	if !outside(t.ID) {
		again.Test = t.ID
		s := newJVMSources(p, dir)
		targets := s.choice(t.ID).targets
		for i := range targets {
			targets[i].plain = !strings.HasSuffix(t.ID, "]") || strings.Contains(t.ID, "(")
		}
		again.Argv = append(again.Argv, a.chosen(s, dir, targets, property)...)
	}
	again.Argv = append(again.Argv, r.Args...)
	if !slices.ContainsFunc(r.Args, mavenPhase) {
		again.Argv = append(again.Argv, phase)
	}
	return again
}
