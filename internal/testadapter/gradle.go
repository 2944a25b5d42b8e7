package testadapter

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Gradle runs the task test of a project and of those below it, by a build of its own that ends with it: no daemon is
// asked and none stays. An init script of ours tells what happens and says which tests; no file of the project changes.
type Gradle struct{}

func (Gradle) Name() string { return "gradle" }

// Detect looks for a build or its settings.
func (Gradle) Detect(p *Project) Detection {
	dir := p.buildRoot("settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle")
	if dir == "" {
		return Detection{}
	}
	evidence := path.Join(dir, p.first(dir, "build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"))
	d := Detection{Confidence: 40, Evidence: []string{evidence + ", without src/test"}, Dir: strings.TrimPrefix(dir, ".")}
	if p.isDir(path.Join(dir, "src/test")) || len(p.glob(path.Join(dir, "**", "src/test"))) > 0 {
		d.Confidence, d.Evidence = 87, []string{evidence}
	}
	return d
}

func (p *Project) gradle(dir string) (string, error) {
	return p.wrapped(dir, "gradlew", "gradle/wrapper/gradle-wrapper.properties", ".gradle/wrapper/dists", "gradle",
		"Install Gradle, or give its folder in PATH with env.")
}

// Start prepares a run.
func (a Gradle) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.Unsupported, `Leave out command, or give framework generic. Gradle's own arguments go `+
			`into args: ["-Pfast"].`, "gradle does not run a given program")
	}
	if r.Level != AllLevels && r.Level != Unit {
		return nil, noLevel("gradle", `task test is what is run; give another in args: ["integrationTest"]`, r.Level)
	}
	dir := a.Detect(p).dir()
	tool, err := p.gradle(dir)
	if err != nil {
		return nil, err
	}
	x := &jvmRun{tool: "Gradle", sources: newJVMSources(p, dir),
		scripted: &scripted{p: p, r: r, res: newResults(p, emit)}}
	x.wire, x.exits = x.wired, x.exit
	script, report := inDir(r, "strobe_gradle.gradle"), inDir(r, "strobe_gradle.jsonl")
	settings := map[string]any{"report": report}
	if r.Test != "" {
		x.choice = x.sources.choice(r.Test)
		if x.res.keep = x.choice.keep; x.none() {
			return x, nil
		}
		settings["patterns"] = gradlePatterns(x.choice.targets)
	}
	argv := []string{tool, "--no-daemon", "--console=plain", "--continue", "--init-script", script,
		"-Dorg.gradle.configuration-cache=false"}
	argv = append(argv, r.Args...)
	if !gradleTask(r.Args) {
		argv = append(argv, a.tasks(p, dir, x.choice)...)
	}
	x.steps = []*Step{{Argv: argv, Dir: filepath.Join(p.Root, dir), Phase: Running,
		Builds: true, Drivers: gradleDrivers, Reports: []string{report},
		Files: map[string][]byte{script: reporter("strobe_gradle.groovy"), report: nil,
			inDir(r, "strobe_config.json"): config(settings)}}}
	return x, nil
}

// gradleTask says whether arguments name a task.
func gradleTask(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}

// tasks are those that run what was chosen: of the projects that have it, where their paths are their folders.
func (Gradle) tasks(p *Project, dir string, c *jvmChoice) (tasks []string) {
	settings := p.read(path.Join(dir, p.first(dir, "settings.gradle.kts", "settings.gradle")))
	if c == nil || strings.Contains(settings, "projectDir") {
		return []string{"test"}
	}
	for _, t := range c.targets {
		above, _, ok := strings.Cut(t.file, "src/")
		m, err := filepath.Rel(dir, orDot(strings.TrimSuffix(above, "/")))
		if !ok || err != nil {
			return []string{"test"}
		}
		task := ":test"
		if m != "." {
			task = ":" + strings.ReplaceAll(m, "/", ":") + ":test"
		}
		if !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// gradleDrivers: Gradle's own JVMs are told from those of tests by their main classes.
var gradleDrivers = []string{"sh", "dash", "bash", "env", "java org.gradle.wrapper.GradleWrapperMain",
	"java org.gradle.launcher.GradleMain", "java org.gradle.launcher.daemon.bootstrap.GradleDaemon"}

// gradlePatterns are what Gradle's filters take: a case of a parametrised test is not among it.
func gradlePatterns(targets []jvmTarget) (patterns []string) {
	for _, t := range targets {
		switch {
		case t.method == "":
			patterns = append(patterns, t.class, t.class+"$*")
		case t.plain:
			patterns = append(patterns, t.class+"."+t.method)
		default: // JUnit 4 calls a case of a parametrised test method[0]
			patterns = append(patterns, t.class+"."+t.method, t.class+"."+t.method+"[*")
		}
	}
	return patterns
}

// Rerun runs one method, which is as little as Gradle can.
func (a Gradle) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	again := Rerun{Argv: []string{"gradle"}, Dir: filepath.Join(p.Root, dir), Framework: a.Name()}
	if tool, err := p.gradle(dir); err == nil && strings.HasSuffix(tool, "gradlew") {
		again.Argv[0] = "./gradlew"
	}
	again.Argv = append(again.Argv, "--no-daemon")
	if outside(t.ID) {
		if again.Argv = append(again.Argv, r.Args...); !gradleTask(r.Args) {
			again.Argv = append(again.Argv, "test")
		}
		return again
	}
	again.Test = t.ID
	choice := newJVMSources(p, dir).choice(t.ID)
	if !gradleTask(r.Args) {
		again.Argv = append(again.Argv, a.tasks(p, dir, choice)...)
	}
	again.Argv = append(again.Argv, r.Args...)
	for _, one := range choice.targets { // behind the task, whose options they are
		one.plain = !strings.HasSuffix(t.ID, "]") || strings.Contains(t.ID, "(")
		for _, pattern := range gradlePatterns([]jvmTarget{one}) {
			again.Argv = append(again.Argv, "--tests", pattern)
		}
	}
	return again
}
