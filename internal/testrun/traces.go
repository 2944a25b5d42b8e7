package testrun

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// A failure's suggestedTraces are what a traced rerun is given: each must select something, and not half the program.
// So they are looked up in the symbols of the programs that the failed tests ran.

const (
	maxTraces   = 5  // patterns of one failure
	maxPrograms = 16 // of one step, that are remembered
	maxNames    = 20 // of functions, in one failure's text
	adviseMax   = 10 * time.Second
)

// interpreted is an adapter of a language whose functions are known only when they are called.
type interpreted interface{ Interpreted() }

// untraceable is an adapter of a language whose functions cannot be traced.
type untraceable interface {
	// Untraceable says which functions: "functions of Python".
	Untraceable() string
}

// programmer is an Execution that knows which program runs a test: others run all tests of a step in that of its Argv.
type programmer interface {
	// Programs are the words of a test's command; nil where it is not known. It is called within the Execution's
	// methods.
	Programs(id string) []string
}

// programs are the files that a test was run by, as far as that is known: its own command's, the step's, and what the
// step was seen to run. Where none of these is left they are those of the run's other tests: elsewhere. Run.mu is held.
func (r *Run) programs(id string) (files []string, elsewhere bool) {
	if p, ok := r.x.(programmer); ok {
		if found := programFiles(p.Programs(id), r.project.Root, nil); len(found) > 0 {
			return found, false
		}
	}
	var words []string
	if r.current != nil {
		if path, err := r.lookIn(r.current); err == nil {
			words = append(words, path)
		}
		if found := programFiles(append(words, r.ran...), r.current.Dir, r.current.Drivers); len(found) > 0 {
			return found, false
		}
	}
	return r.known, true
}

// ranBefore remembers a step's program for tests whose own is gone when they are asked about, as those of
// documentation. Run.mu is held.
func (r *Run) ranBefore(step *testadapter.Step) {
	if step.Phase != testadapter.Running || len(r.known) >= maxPrograms {
		return
	}
	if path, err := r.lookIn(step); err == nil {
		for _, p := range programFiles([]string{path}, step.Dir, step.Drivers) {
			if !slices.Contains(r.known, p) {
				r.known = append(r.known, p)
			}
		}
	}
}

// programFiles are those words that are programs for this machine, and no drivers.
func programFiles(words []string, dir string, drivers []string) (out []string) {
	for _, w := range words {
		if !strings.Contains(w, "/") || slices.Contains(drivers, filepath.Base(w)) || len(out) == maxPrograms {
			continue
		}
		if !filepath.IsAbs(w) {
			w = filepath.Join(dir, w)
		}
		if real, err := filepath.EvalSymlinks(w); err == nil && !slices.Contains(out, real) &&
			!slices.Contains(drivers, filepath.Base(real)) && isELF(real) {
			out = append(out, real)
		}
	}
	return out
}

func isELF(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	n, _ := f.Read(magic)
	return string(magic[:n]) == "\x7fELF"
}

// noted remembers what programs a step's processes run, but for those of the system.
func (r *Run) noted(exe string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.HasPrefix(exe, "/usr/") && !slices.Contains(r.ran, exe) && len(r.ran) < maxPrograms {
		r.ran = append(r.ran, exe)
	}
}

// suggest finds the patterns of the failures that an answer shows.
func (r *Run) suggest() {
	r.mu.Lock()
	byPrograms := map[string][]*entry{}
	var order []string
	shown := 0
	for _, id := range r.order {
		e := r.tests[id]
		if e.test.Group || !e.over || !e.test.Fails || shown == maxFailures {
			continue
		}
		shown++
		if len(e.test.Failures) == 0 || slices.Contains([]string{"compile", "collect"}, e.test.Failures[0].Kind) {
			continue
		}
		key := strings.Join(e.programs, "\x00")
		if byPrograms[key] == nil {
			order = append(order, key)
		}
		byPrograms[key] = append(byPrograms[key], e)
	}
	r.mu.Unlock()
	if len(order) == 0 {
		return
	}
	if u, ok := r.adapter.(untraceable); ok {
		r.note("no suggestedTraces: " + u.Untraceable() +
			" cannot be traced yet; tracePatterns takes those of C, C++ and Rust in the tests' processes")
		return
	}
	if _, ok := r.adapter.(interpreted); ok {
		for _, entries := range byPrograms {
			for _, e := range entries {
				e.traces = r.filesOf(&e.test.Failures[0])
			}
		}
		return
	}
	for _, key := range order {
		entries := byPrograms[key]
		if key == "" {
			continue // nothing to look a pattern up in
		}
		all := make([]collector.Suspect, len(entries))
		for i, e := range entries {
			if all[i] = r.suspect(&e.test.Failures[0]); e.elsewhere {
				all[i].Places = nil
			}
		}
		found := r.advise(strings.Split(key, "\x00"), all)
		for i := range found {
			entries[i].traces = found[i]
		}
	}
}

// filesOf are patterns for a failure of an interpreter's test: the user's files on its stack but the test's own, or,
// where the failure has left them, all of the user's code.
func (r *Run) filesOf(f *testadapter.Failure) (patterns []string) {
	for _, frame := range f.Stack {
		file := r.below(frame.File)
		if file == "" || filepath.IsAbs(file) || file == r.below(f.File) ||
			strings.Contains(file, "node_modules/") || strings.Contains(file, "site-packages/") {
			continue
		}
		if p := "file:" + file; !slices.Contains(patterns, p) && len(patterns) < maxFilePatterns {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 {
		return []string{"@usercode"}
	}
	return patterns
}

// maxFilePatterns bounds filesOf.
const maxFilePatterns = 3

// ownLibraries are the shared libraries of a program that lie below the project's root, where its own search path finds
// them.
func (r *Run) ownLibraries(program string) (out []string) {
	f, err := elf.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		return nil
	}
	dirs := []string{filepath.Dir(program)}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := f.DynString(tag)
		if err != nil {
			continue
		}
		for _, p := range paths {
			for _, dir := range filepath.SplitList(p) {
				dirs = append(dirs, strings.ReplaceAll(strings.ReplaceAll(dir, "${ORIGIN}", "$ORIGIN"), "$ORIGIN",
					filepath.Dir(program)))
			}
		}
	}
	root := r.Request.ProjectRoot
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	for _, name := range names {
		for _, dir := range dirs {
			real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err == nil && strings.HasPrefix(real, root+"/") && len(out) < maxPrograms {
				out = append(out, real)
				break
			}
		}
	}
	return out
}

// advise looks suspects up in programs, and in the project's own libraries that these load.
func (r *Run) advise(programs []string, all []collector.Suspect) [][]string {
	for _, p := range programs[:len(programs):len(programs)] {
		for _, lib := range r.ownLibraries(p) {
			if !slices.Contains(programs, lib) {
				programs = append(programs, lib)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), adviseMax)
	defer cancel()
	found, bare, err := r.m.cfg.Sessions.Advise(ctx, programs, r.Request.ProjectRoot, all, maxTraces)
	if err != nil {
		r.note(fmt.Sprintf("no suggestedTraces: %v", err))
	}
	if len(bare) == len(programs) {
		r.note(fmt.Sprintf("no suggestedTraces: %s has no debug information (build with -g)", r.below(bare[0])))
	}
	return found
}

func (r *Run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notes) < maxNotes && !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// below is a path below the request's root where it is there; what adapters tell is below the package's.
func (r *Run) below(file string) string {
	if file == "" {
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.project.Root, file)
	}
	if rel, err := filepath.Rel(r.Request.ProjectRoot, file); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return file
}

// suspect is what a failure says of the code that it came from.
func (r *Run) suspect(f *testadapter.Failure) collector.Suspect {
	var s collector.Suspect
	if f.File != "" && f.Line > 0 {
		s.Places = append(s.Places, collector.Place{File: r.below(f.File), Line: f.Line})
		s.Names = called(r.statement(f.File, f.Line))
		s.Before = called(r.above(f.File, f.Line))
		slices.Reverse(s.Before)
	}
	s.Names = append(s.Names, called(f.Message[:min(len(f.Message), 500)])...)
	for _, frame := range f.Stack {
		if frame.File != "" && frame.Line > 0 && len(s.Places) < maxStack {
			s.Places = append(s.Places, collector.Place{File: r.below(frame.File), Line: frame.Line})
		}
		if frame.Function != "" && !strings.Contains(frame.Function, "{") { // a closure is its function's
			s.Names = append(s.Names, frame.Function)
		}
	}
	s.Names = s.Names[:min(len(s.Names), maxNames)]
	return s
}

// maxStatement is how many lines of a statement are read.
const maxStatement = 5

// statement is the source text that begins at a line, up to where its brackets are closed.
func (r *Run) statement(file string, line int) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.project.Root, file)
	}
	b, err := plainfile.ReadFile(file)
	if err != nil {
		return ""
	}
	var text strings.Builder
	depth := 0 // of brackets
	scan := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; n < line+maxStatement && scan.Scan(); n++ {
		if n < line {
			continue
		}
		text.WriteString(scan.Text())
		text.WriteByte('\n')
		for _, c := range scan.Text() {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
		}
		if depth <= 0 {
			break
		}
	}
	return text.String()
}

// header is where a function begins.
var header = regexp.MustCompile(`^\S|\bfn \w|TEST|_CASE`)

// above is the source text of the function that a line is in, up to that line; at most maxAbove lines of it.
func (r *Run) above(file string, line int) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.project.Root, file)
	}
	b, err := plainfile.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(b), "\n")
	end := min(line-1, len(lines))
	from := end
	for from > 0 && end-from < maxAbove && !header.MatchString(lines[from-1]) {
		from--
	}
	return strings.Join(lines[from:end], "\n")
}

const maxAbove = 20

var callText = regexp.MustCompile(`((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)(?:::<[^<>()]*>|<[^<>()]*>)?\(`)

// called are the functions that a text calls, as it names them.
func called(text string) (names []string) {
	for _, m := range callText.FindAllStringSubmatch(text, maxNames) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// stuckTraces are the patterns for the functions on the stacks of threads that stand still.
func (r *Run) stuckTraces(f *stuck.Verdict, all []stuck.Process) []string {
	if _, ok := r.adapter.(untraceable); ok {
		return nil
	}
	if _, ok := r.adapter.(interpreted); ok {
		return []string{"@usercode"}
	}
	var words []string
	for _, m := range all {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", m.PID)); err == nil {
			words = append(words, exe)
		}
	}
	programs := programFiles(words, "/", nil)
	var s collector.Suspect
	for _, t := range f.Threads {
		for _, line := range t.Stack {
			if name, _, _ := strings.Cut(line, " ("); name != "" && !slices.Contains(s.Names, name) && len(s.Names) < maxNames {
				s.Names = append(s.Names, name)
			}
		}
	}
	if len(programs) == 0 || len(s.Names) == 0 {
		return nil
	}
	if found := r.advise(programs, []collector.Suspect{s}); len(found) > 0 {
		return found[0]
	}
	return nil
}
