//go:build linux

package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// exampleTag is the build tag of a binary that has the runtimes of testdata/runtimes.
const exampleTag = "strobe_examples"

// example is one of those runtimes: its interpreter, built by the folder's Makefile and named as the folder, and what
// suite.json says of it.
type example struct {
	strobetest.Subject
	folder string // of what is built
}

// examples are all of them.
func examples(t *testing.T) (all []example) {
	t.Helper()
	strobetest.NeedCommand(t, "make", "gcc")
	root := filepath.Join(strobetest.Root(t), "testdata/runtimes")
	files, err := filepath.Glob(filepath.Join(root, "*/suite.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var says struct {
			Version string
			Lacks   map[string]string
		}
		name := filepath.Base(filepath.Dir(file))
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &says)
		}
		if err != nil {
			t.Fatal(err)
		}
		built := strobetest.BuiltFolder(t, filepath.Join("runtimes", name), []string{"make", "-s"})
		all = append(all, example{folder: built, Subject: strobetest.Subject{Name: name, Lang: name,
			Programs: filepath.Join(root, name, "programs"), Lacks: says.Lacks,
			Interpreter: strobetest.Interpreter{Name: name, Version: says.Version,
				Path: filepath.Join(built, name)}}})
	}
	return all
}

// exampleBehaviours is how many behaviours an example has to offer, so that it shows something.
const exampleBehaviours = 60

// TestExampleRuntimes holds the runtimes that docs/extending.md has as examples against the suite of behaviours. They
// have no column in docs/runtimes.md, which is of what ships.
func TestExampleRuntimes(t *testing.T) {
	strobetest.NeedPtrace(t)
	all := examples(t)
	s := strobetest.StartBinary(t, strobetest.BinaryWith(t, exampleTag), nil)
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			found := strobetest.Runtime(t, s, e.Subject)
			offers := 0
			for _, b := range found {
				if b.Offers {
					offers++
				}
			}
			t.Logf("%d of %d behaviours", offers, len(found))
			if found != nil && offers < exampleBehaviours {
				t.Errorf("it offers %d behaviours, want %d", offers, exampleBehaviours)
			}
		})
	}
}
