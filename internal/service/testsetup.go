package service

import (
	"context"
	"path/filepath"
	"reflect"

	"github.com/strobe-debug/strobe/internal/testrun"
	"github.com/strobe-debug/strobe/internal/testsetup"
)

// SetupParams are the parameters of debug_setup_tests.
type SetupParams struct {
	ProjectRoot string            `json:"projectRoot" jsonschema:"absolute"`
	Language    string            `json:"language,omitempty" jsonschema:"default: by the files"`
	Framework   string            `json:"framework,omitempty" jsonschema:"preferred"`
	Env         map[string]string `json:"env,omitempty" jsonschema:"as of debug_test"`
	Budget
}

var setupOp = Op{
	Name: "debug_setup_tests",
	Summary: "How a project gets its first test: files, changes, commands, and the debug_test call that runs it. " +
		"Changes nothing itself.",
	Doc: "Reads the project's files and looks for commands and libraries on this machine. Write `files` (path below " +
		"projectRoot, content), apply `configChanges` (text to append; of `.json` files an object to merge), " +
		"run `steps` one after another in a shell in projectRoot, then call debug_test with `next`. What is there is never " +
		"overwritten: a project that has tests is told how they are run, and what is missing for that.",
	ReadOnly: true,
	Params:   reflect.TypeFor[SetupParams](),
	Results:  []reflect.Type{reflect.TypeFor[testsetup.Plan]()},
	Fields: []Field{
		maxTokensField,
		{Name: "projectRoot", Required: true},
		{Name: "env", Empty: true},
		{Name: "language", Enum: testsetup.Languages},
	},
	run: typed(runSetup),
}

func runSetup(_ context.Context, s *Service, p *SetupParams) (*testsetup.Plan, error) {
	if !filepath.IsAbs(p.ProjectRoot) {
		return nil, invalid("Give the absolute path of the project's directory.", "projectRoot %q is not an absolute path",
			p.ProjectRoot)
	}
	return s.tests.Setup(testrun.Request{ProjectRoot: filepath.Clean(p.ProjectRoot), Framework: p.Framework, Env: p.Env},
		p.Language)
}
