package testadapter_test

import (
	"testing"
	"testing/fstest"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// TestTestsFolderIsNoProject: what tests need may be written in their own folder; they are run from the project all the
// same, where arguments and configurations have their meaning.
func TestTestsFolderIsNoProject(t *testing.T) {
	p := &testadapter.Project{Root: "/p", FS: fstest.MapFS{
		"pyproject.toml":         {Data: []byte("[project]\nname = \"one\"\n")},
		"tests/requirements.txt": {Data: []byte("pytest>=6\npretend\n")},
		"tests/test_one.py":      {Data: []byte("def test_one():\n    assert True\n")},
	}}
	d := testadapter.Pytest{}.Detect(p)
	if d.Dir != "" || d.Confidence < 80 || len(d.Evidence) != 1 || d.Evidence[0] != "tests/requirements.txt names pytest" {
		t.Errorf("%+v", d)
	}
}
