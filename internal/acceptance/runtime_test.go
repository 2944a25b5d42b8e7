//go:build linux

package acceptance

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// inC are behaviours for which C has nothing.
var inC = map[string]string{
	"a thread has the name that the program gave it":                   "a name that is given after the thread began may come late",
	"an exception has its type and its message":                        "C has no exceptions; longjmp leaves calls",
	"a constructor is a call of its class":                             "C has no classes",
	"a method without an object is named with its class":               "C has no classes",
	"a property that is computed is a call":                            "C has no classes",
	"an object has its class":                                          "C has no classes",
	"an inner function is named below the one that has it":             "standard C has none",
	"any number of arguments is a list":                                "C does not know how many there are",
	"an argument that was not given has its default":                   "C has no defaults",
	"a function without a name is traced":                              "C has none",
	"an integer of any size is exact":                                  "C has none",
	"a text may contain NUL":                                           "NUL ends a text in C",
	"half a surrogate pair in a text harms nothing":                    "texts of C are bytes",
	"bytes are text and escapes":                                       "C has no type of its own for them",
	"a list is one, with values of all kinds":                          "C has none",
	"a mapping has its keys":                                           "C has none",
	"what is nested deeper than asked says so":                         "C has no mappings; of structs it does",
	"no code of the program runs for its values":                       "C has no code that belongs to values",
	"a generator tells each value that it gives":                       "C has no generators",
	"a generator stands below who runs it, and what it calls below it": "C has no generators",
	"a generator that is closed early ends":                            "C has no generators",
	"generators that take turns keep their calls apart":                "C has no generators",
	"a coroutine has the result that it comes to":                      "C has no coroutines",
	"calls behind an await stand below the coroutine":                  "C has no coroutines",
	"coroutines that run at once keep their calls apart":               "C has no coroutines",
	"an exception that leaves a coroutine ends it":                     "C has no coroutines",
	"an asynchronous generator tells its values":                       "C has no generators",
	"the interpreter's own hooks work for the program":                 "there is no interpreter",
	"a program whose agent's folder goes away runs on":                 "there is no such folder",
	"garbage in what an agent wrote harms nobody, and is told":         "there is no such folder",
	"what is to be traced is damaged, and a child runs as it would":    "there is no such folder",
}

// TestRuntimes holds every runtime against the suite of behaviours.
func TestRuntimes(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	subjects := []strobetest.Subject{{Name: "native", Lang: "c", Lacks: inC}}
	found := pythons(t)
	for _, version := range []string{"3.12", "3.13", "3.14"} {
		if p := found[version]; p != "" {
			subjects = append(subjects, strobetest.Subject{Name: "python " + version, Lang: "python", Interpreter: p})
			break
		}
	}
	for _, version := range []string{"3.11", "3.10", "3.9", "3.8"} {
		if p := found[version]; p != "" {
			subjects = append(subjects, strobetest.Subject{Name: "python " + version, Lang: "python", Interpreter: p,
				Lacks:  map[string]string{"the interpreter's own hooks work for the program": "a tracer sees one line more of a traced function"},
				Cannot: map[string]string{"a function without a name is traced": "Before Python 3.12 lambdas"}})
			break
		}
	}
	for _, sub := range subjects {
		t.Run(sub.Name, func(t *testing.T) {
			holds := strobetest.Runtime(t, s, sub)
			t.Logf("%d behaviours hold", len(holds))
		})
	}
}
