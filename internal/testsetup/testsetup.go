// Package testsetup knows how a project gets its first test: what is there of one, what is missing, the commands, files
// and changes that lead to a test which runs, and how debug_test is then called. One file per family of languages.
//
// It stands beside the data path, before a test run (internal/testrun): it reads the project's files, looks for
// commands in PATH and for installed headers, and starts and writes nothing. Whoever asked writes the files, makes the
// changes, runs the steps.
//
// What it proposes is found by the adapters (internal/testadapter) by the same reading of files. Functions are safe for
// concurrent use.
package testsetup

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Languages are those that a first test can be made in.
var Languages = []string{"c", "c++", "go", "javascript", "python", "rust", "typescript"}

// Request is what is asked.
type Request struct {
	Project  *testadapter.Project
	Adapters []testadapter.Adapter
	// Language and Framework are preferences; "": what the project has.
	Language, Framework string
	// Exists says whether a file of the machine is there, such as an installed header; nil: as the file system says.
	Exists func(name string) bool
}

// Plan is the way to a test that runs. Files are written first, then changes made, then steps run, one after the other
// in Root.
type Plan struct {
	Detected Detected `json:"detected"`
	Missing  []string `json:"missing"`
	// Files are new files below Root: path, content.
	Files map[string]string `json:"files,omitempty"`
	// ConfigChanges are existing files below Root: text to append, or of .json files an object to merge.
	ConfigChanges map[string]string `json:"configChanges,omitempty"`
	Steps         []string          `json:"steps"` // for a shell in Root
	RunCommand    string            `json:"runCommand,omitempty"`
	RerunTemplate string            `json:"rerunTemplate,omitempty"` // {name} stands for the test's name
	Next          *Next             `json:"next,omitempty"`          // arguments of debug_test
	Hint          string            `json:"hint"`
}

// Detected is what is there.
type Detected struct {
	Language    string   `json:"language,omitempty"`
	Languages   []string `json:"otherLanguages,omitempty"`
	BuildSystem string   `json:"buildSystem,omitempty"`
	Framework   string   `json:"framework,omitempty"` // the project's own; "" where it has none
	Dir         string   `json:"dir,omitempty"`       // of a package within Root
	Evidence    []string `json:"evidence,omitempty"`
	TestFiles   int      `json:"testFiles"`
	Tests       []string `json:"tests,omitempty"` // the first of them
}

// Next are the arguments of the debug_test call that runs the test.
type Next struct {
	ProjectRoot string `json:"projectRoot"`
	Framework   string `json:"framework"`
}

// shownTests is how many test files are named.
const shownTests = 5

// setup makes one plan.
type setup struct {
	Plan
	r     *Request
	p     *testadapter.Project
	f     *found
	want  string   // the framework to set up: the one asked for, else the project's, else the default
	has   bool     // tests of it are there already
	first []string // steps that come before all others: commands to be installed
}

// For makes a plan. VALIDATION_ERROR is a language or framework that does not fit and names those that do; UNSUPPORTED
// is a build system that nothing is known of.
func For(r Request) (*Plan, error) {
	if r.Exists == nil {
		r.Exists = func(name string) bool { _, err := os.Stat(name); return err == nil }
	}
	if r.Language != "" && !slices.Contains(Languages, r.Language) {
		return nil, fault.New(fault.ValidationError, "Languages: "+strings.Join(Languages, ", ")+".",
			"there is no plan for language %q", r.Language)
	}
	if info, err := os.Stat(r.Project.Root); err != nil || !info.IsDir() {
		return nil, fault.New(fault.ValidationError, "Give the absolute path of the project's directory.",
			"%s is no directory", r.Project.Root)
	}
	all, whole := look(r.Project)
	f, err := choose(&r, all)
	if err != nil {
		return nil, err
	}
	s := &setup{r: &r, p: r.Project, f: f, Plan: Plan{Missing: []string{}, Steps: []string{}, Files: map[string]string{},
		ConfigChanges: map[string]string{}}}
	if f == nil {
		s.Missing = append(s.Missing, "a project: there are neither project files nor sources of a language that is known")
		s.Hint = "Call again with language (" + strings.Join(Languages, ", ") + ") for a new project with a first test."
		return &s.Plan, nil
	}
	s.describe(all)
	if err := s.choose(); err != nil {
		return nil, err
	}
	if err := s.f.family.plan(s); err != nil {
		return nil, err
	}
	s.finish()
	if !whole || f.cut {
		s.Hint += " The project is large: not all of its files were looked at; give the part that is meant as projectRoot."
	}
	return &s.Plan, nil
}

// describe says what is there.
func (s *setup) describe(all []*found) {
	f := s.f
	s.Detected = Detected{Language: f.language, BuildSystem: f.system, Dir: strings.TrimPrefix(f.dir, "."),
		Evidence: f.evidence, TestFiles: len(f.tests),
		Tests: f.tests[:min(len(f.tests), shownTests)]}
	for _, o := range all {
		if o != f && (len(o.sources) > 0 || o.dir == ".") {
			s.Detected.Languages = append(s.Detected.Languages, o.language)
		}
	}
}

// choose finds the framework.
func (s *setup) choose() error {
	offered := s.f.family.frameworks(s)
	own, detection := s.detect(append(offered[:len(offered):len(offered)], s.f.family.known...))
	if own != "" {
		s.Detected.Framework, s.Detected.Evidence = own, appendNew(s.Detected.Evidence, detection.Evidence...)
	}
	switch want := s.r.Framework; {
	case want == "" && own != "" && (slices.Contains(offered, own) || len(s.f.tests) > 0):
		s.want = own
	case want == "":
		s.want = offered[0]
	case want == "playwright" && own != want:
		return fault.New(fault.Unsupported, "npm init playwright@latest sets it up with its browsers; then debug_test with "+
			"framework playwright.",
			"a first test of Playwright depends on the page that it is to open")
	case !slices.Contains(offered, want) && own != want:
		return fault.New(fault.ValidationError, "Frameworks here: "+strings.Join(offered, ", ")+".",
			"framework %q does not fit %s with %s", want, s.f.language, orWord(s.f.system, "no build system"))
	default:
		s.want = want
	}
	s.has = len(s.f.tests) > 0 && (s.want == own || own == "" && s.r.Framework == "")
	return nil
}

// detect asks the adapters which framework the project uses by itself.
func (s *setup) detect(offered []string) (string, testadapter.Detection) {
	if s.f.framework != "" {
		return s.f.framework, testadapter.Detection{}
	}
	best, found := "", testadapter.Detection{}
	for _, a := range s.r.Adapters {
		if !slices.Contains(offered, a.Name()) || slices.Contains(s.f.family.silent, a.Name()) {
			continue
		}
		if d := a.Detect(s.p); d.Confidence > found.Confidence &&
			(path.Clean(d.Dir) == s.f.dir || strings.HasPrefix(s.f.dir, path.Clean(d.Dir)+"/") || d.Dir == "") {
			best, found = a.Name(), d
		}
	}
	return best, found
}

// finish says what to do next.
func (s *setup) finish() {
	s.Steps = append(s.first, s.Steps...)
	if s.Next == nil {
		s.Next = &Next{ProjectRoot: filepath.Join(s.p.Root, s.f.dir), Framework: s.want}
	}
	call := "call debug_test with next"
	var todo []string
	if len(s.Files) > 0 {
		todo = append(todo, "write files")
	}
	if len(s.ConfigChanges) > 0 {
		todo = append(todo, "apply configChanges (append; merge into .json)")
	}
	if len(s.Steps) > 0 {
		todo = append(todo, "run steps in projectRoot")
	}
	text := strings.Join(append(todo, call), ", then ") + "."
	switch {
	case s.has && len(s.f.tests) > 0:
		text = fmt.Sprintf("%d test files are there already: %s", len(s.f.tests), text)
	case s.has:
		text = "Tests are there already: " + text
	default:
		text = strings.ToUpper(text[:1]) + text[1:] + " Then make the test show the bug before you fix it."
	}
	if len(s.f.also) > 0 {
		text += " Also a project of its own: " + strings.Join(s.f.also[:min(len(s.f.also), shownTests)], ", ") +
			" (give its path as projectRoot)."
	}
	if len(s.Detected.Languages) > 0 {
		text += " For another language give language."
	}
	s.Hint = text
}

// at is a path below Root of one below the project's folder.
func (s *setup) at(name string) string { return path.Join(s.f.dir, name) }

func (s *setup) miss(format string, args ...any) {
	s.Missing = appendNew(s.Missing, fmt.Sprintf(format, args...))
}

// file is a new file of the project's folder. It is never one that is there: what is, is not overwritten.
func (s *setup) file(name, text string) {
	if !s.p.Has(s.at(name)) {
		s.Files[s.at(name)] = text
	}
}

// change is added to a file of the project's folder, or makes it where there is none.
func (s *setup) change(name, text string) {
	switch at := s.at(name); {
	case s.Files[at] != "":
		s.Files[at] += text
	case !s.p.Has(at):
		s.Files[at] = strings.TrimLeft(text, "\n")
	default:
		if have := s.p.Read(at); have != "" && !strings.HasSuffix(have, "\n") && !strings.HasSuffix(name, ".json") &&
			s.ConfigChanges[at] == "" {
			text = "\n" + text
		}
		s.ConfigChanges[at] += text
	}
}

// fresh is a name of a file of the project's folder that is not there yet.
func (s *setup) fresh(before, after string) string {
	name := before + after
	for n := 2; s.p.Has(s.at(name)); n++ {
		name = fmt.Sprintf("%s%d%s", before, n, after)
	}
	return name
}

// step is a command in the project's folder.
func (s *setup) step(command string) { s.Steps = append(s.Steps, s.in(command)) }

func (s *setup) in(command string) string {
	if s.f.dir == "." {
		return command
	}
	return "cd " + quote(s.f.dir) + " && " + command
}

// runs is how a person runs the tests, and one of them.
func (s *setup) runs(all, one string) { s.RunCommand, s.RerunTemplate = s.in(all), s.in(one) }

func (s *setup) installed(command string) bool {
	_, err := s.p.LookPath(command)
	return err == nil
}

// need is a command that must be in PATH: what installs it otherwise, a Debian package where the command has none of
// its own.
func (s *setup) need(command, install, debian string) {
	if s.installed(command) {
		return
	}
	s.miss("%s is not in PATH", command)
	if install == "" {
		install = s.debian(debian)
	}
	if install != "" {
		s.first = appendNew(s.first, install)
	}
}

// debian is the command that installs a package of Debian's, "" where there is no apt.
func (s *setup) debian(name string) string {
	switch {
	case s.installed("apt-get") && s.installed("sudo"):
		return "sudo apt-get install -y " + name
	case s.installed("apt-get"):
		return "apt-get install -y " + name
	}
	return ""
}

func appendNew(list []string, items ...string) []string {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

func orWord(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// quote makes a word of a shell of any text.
func quote(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]{}!#~`^") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
