package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/doctor"
	"github.com/strobe-debug/strobe/internal/natvis"
)

// checkTypes says which descriptions of types are in force in the directory that the doctor is asked in: the project's,
// the user's, and those that are built in.
func checkTypes(home string) doctor.Result {
	project, err := os.Getwd()
	if err != nil {
		project = ""
	}
	own := natvis.NewLibrary(filepath.Join(home, "natvis")).For(project)
	var ours, theirs []string
	for _, f := range own.Files {
		if rel, err := filepath.Rel(home, f.Path); err == nil && !strings.HasPrefix(rel, "..") {
			ours = append(ours, described(rel, f))
		} else if rel, err := filepath.Rel(project, f.Path); err == nil {
			theirs = append(theirs, described(rel, f))
		}
	}
	var builtin []string
	for _, f := range natvis.Builtin().Files {
		builtin = append(builtin, strings.TrimSuffix(strings.TrimPrefix(f.Path, "built in: "), ".natvis"))
	}
	detail := "project: " + few(theirs) + "; $STROBE_HOME/natvis: " + few(ours) + "; built in: " +
		strings.Join(builtin, ", ")
	if problems := own.Summary(); len(problems) > 0 {
		return doctor.Result{Status: doctor.Warn, Detail: detail + ". " + few(problems),
			Fix: "Correct the file; docs/extending.md says what a description has."}
	}
	return doctor.Result{Status: doctor.OK, Detail: detail}
}

func described(name string, f *natvis.File) string {
	return fmt.Sprintf("%s (%d)", strings.TrimPrefix(filepath.ToSlash(name), "natvis/"), len(f.Types))
}

// fewNames is how many of a list the doctor names.
const fewNames = 5

func few(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - fewNames; more > 0 {
		return strings.Join(names[:fewNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
