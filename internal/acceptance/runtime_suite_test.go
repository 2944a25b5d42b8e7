//go:build linux

package acceptance

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// inC are behaviours for which C has nothing.
var inC = map[string]string{
	"a thread has the name that the program gave it": "the name is read when its calls are: of a " +
		"thread that has ended by then it is the one it began with",
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
	"the program sees its functions as they are":                       "machine code does not look at itself",
	"a program whose agent's folder goes away runs on":                 "there is no such folder",
	"garbage in what an agent wrote harms nobody, and is told":         "there is no such folder",
	"what is to be traced is damaged, and a child runs as it would":    "there is no such folder",
}

// inGo are behaviours for which Go has nothing, or that are not there yet.
var inGo = map[string]string{
	"a thread has the name that the program gave it":                   "goroutines have no names",
	"a constructor is a call of its class":                             "Go has no constructors",
	"a method without an object is named with its class":               "Go has none",
	"a property that is computed is a call":                            "Go has none",
	"an inner function is named below the one that has it":             "functions within functions have no names in Go",
	"an argument that was not given has its default":                   "Go has no defaults",
	"a child that was forked is traced":                                "Go does not fork without exec",
	"a generator tells each value that it gives":                       "Go has no generators",
	"a generator stands below who runs it, and what it calls below it": "Go has no generators",
	"a generator that is closed early ends":                            "Go has no generators",
	"generators that take turns keep their calls apart":                "Go has no generators",
	"a coroutine has the result that it comes to":                      "Go has goroutines, not coroutines",
	"calls behind an await stand below the coroutine":                  "Go has goroutines, not coroutines",
	"coroutines that run at once keep their calls apart":               "Go has goroutines, not coroutines",
	"an exception that leaves a coroutine ends it":                     "Go has goroutines, not coroutines",
	"an asynchronous generator tells its values":                       "Go has no generators",
	"the interpreter's own hooks work for the program":                 "there is no interpreter",
	"half a surrogate pair in a text harms nothing":                    "texts of Go are bytes",
	"bytes are text and escapes":                                       "bytes that are text are shown as text, others in base64",
	"what is nested deeper than asked says so":                         "pointers count, containers do not",
	"an object has its class":                                          "a struct is of the type that its function says",
	"a program whose agent's folder goes away runs on":                 "there is no such folder",
	"garbage in what an agent wrote harms nobody, and is told":         "there is no such folder",
	"what is to be traced is damaged, and a child runs as it would":    "there is no such folder",
}

// inJava are behaviours for which Java has nothing, or that are not there yet.
var inJava = map[string]string{
	"an inner function is named below the one that has it":             "Java has lambdas and classes, no inner functions",
	"an argument that was not given has its default":                   "Java has no defaults",
	"a function is told by its name":                                   "a function is an object of an interface in Java",
	"a generator tells each value that it gives":                       "Java has no generators",
	"a generator stands below who runs it, and what it calls below it": "Java has no generators",
	"a generator that is closed early ends":                            "Java has no generators",
	"generators that take turns keep their calls apart":                "Java has no generators",
	"a coroutine has the result that it comes to":                      "Java has no coroutines",
	"calls behind an await stand below the coroutine":                  "Java has no coroutines",
	"coroutines that run at once keep their calls apart":               "Java has no coroutines",
	"an exception that leaves a coroutine ends it":                     "Java has no coroutines",
	"an asynchronous generator tells its values":                       "Java has no generators",
	"a child that was forked is traced":                                "Java has no fork",
	"what a process becomes by exec is traced":                         "Java has no exec",
	"the interpreter's own hooks work for the program":                 "the JVM has hooks for agents alone",
}

// lateLacks adds what an agent lacks that comes in where a program is launched alone, and why.
func lateLacks(lacks map[string]string, why string) {
	for _, b := range []string{"a program that runs is traced from its next calls on",
		"patterns are added while a program is attached to",
		"a program that was let go can be attached to again"} {
		lacks[b] = why
	}
}

// TestRuntimes holds every runtime against the suite of behaviours.
func TestRuntimes(t *testing.T) {
	strobetest.NeedPtrace(t)
	table, err := strobetest.ReadRuntimeTable(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	subjects := []strobetest.Subject{{Name: "native", Lang: "c", Lacks: inC}}
	subjects = append(subjects, strobetest.Subject{Name: "Go", Lang: "go", Lacks: inGo})
	pythons := strobetest.Pythons(t)
	if last := pythons[len(pythons)-1]; last.IsMonitored() {
		subjects = append(subjects, strobetest.Subject{Name: "Python", Lang: "python", Interpreter: last})
	}
	if i := slices.IndexFunc(pythons, strobetest.Interpreter.IsMonitored); i != 0 {
		if i < 0 {
			i = len(pythons)
		}
		subjects = append(subjects, strobetest.Subject{Name: oldPython, Lang: "python", Interpreter: pythons[i-1],
			Lacks: map[string]string{"the interpreter's own hooks work for the " +
				"program": "sys.settrace sees one line event more in a function that is traced: that of what was put before its own code",
				"the program sees its functions as they are": "while a function is traced, its __code__ has what was put around " +
					"its own code"},
			Cannot: map[string]string{"a function without a name is traced": "Before Python 3.12 lambdas and code without a " +
				"file are not traced"}})
	}
	subjects = append(subjects, scripts("Node", strobetest.Node(t)))
	javas := strobetest.Javas(t)
	subjects = append(subjects, strobetest.Subject{Name: "Java", Lang: "java", Interpreter: javas[0],
		Lacks: maps.Clone(inJava)})
	if strobetest.Soaks(t, "Bun, Deno and other versions of Node and Java") {
		for _, in := range javas[1:] {
			subjects = append(subjects, strobetest.Subject{Name: in.Name, Lang: "java", Interpreter: in,
				Lacks: maps.Clone(inJava)})
		}
		for _, in := range strobetest.Nodes(t)[1:] {
			subjects = append(subjects, scripts(in.Name, in))
		}
		both := strobetest.BunAndDeno(t)
		subjects = append(subjects, scripts("Bun", both[0]), scripts("Deno", both[1]))
	}
	for _, sub := range subjects {
		t.Run(sub.Name, func(t *testing.T) {
			found := strobetest.Runtime(t, s, sub)
			if !slices.Contains(columns, sub.Name) || found == nil {
				return
			}
			if *update {
				table.Put(sub, found)
			} else if differs := table.Differs(sub, found); differs != "" {
				t.Errorf("docs/runtimes.md is of another run: %s. Write it with go test -run TestRuntimes . -update", differs)
			}
		})
	}
	if *update {
		if err := table.WriteFile(tableFile); err != nil {
			t.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "write what runtimes offer, for docs/runtimes.md")

// columns are the subjects that docs/runtimes.md has.
var columns = []string{"native", "Python", oldPython, "Node", "Bun", "Deno", "Java", "Go"}

const (
	oldPython = "Python 3.8 to 3.11"
	tableFile = "testdata/runtimes.json"
)

// scripts are the programs of JavaScript in one of its runtimes.
func scripts(name string, in strobetest.Interpreter) strobetest.Subject {
	sub := strobetest.Subject{Name: name, Lang: "js", Interpreter: in,
		Lacks:  map[string]string{"a child that was forked is traced": "JavaScript has no fork"},
		Cannot: map[string]string{}}
	if in.Name == "bun" || in.Name == "deno" {
		lateLacks(sub.Lacks, "the agent comes in where a program is launched; a running one is attached to as machine code")
	} else {
		lateLacks(sub.Lacks, "this program waits in a readSync, which the signal for the inspector would end: it is attached "+
			"to as machine code (others are traced: TestAttachNode)")
	}
	// process.execve came with 22.15 and 23.11.
	if in.Name == "deno" || in.Command("-e", "process.exit(process.execve ? 0 : 1)").Run() != nil {
		sub.Lacks["what a process becomes by exec is traced"] = "it has no exec: process.execve came with Node 22.15"
	}
	switch in.Name {
	case "bun":
		sub.Lacks["the program sees its functions as "+
			"they are"] = "they tell the text of the file, and without strobe what Bun has printed anew of it"
		for _, b := range []string{"stdout stands below the call that wrote it", "stderr stands below the call that wrote it",
			"output stands between the calls that came before and after it"} {
			sub.Cannot[b] = "Output has the time of its reading"
		}
	case "deno":
		for _, b := range []string{"calls of threads that run at once are each on their own",
			"a thread has the name that the program gave it"} {
			sub.Cannot[b] = "Deno's workers are not traced"
		}
		for _, b := range []string{"a breakpoint pauses the thread that comes there, with its arguments",
			"a condition decides whether a thread pauses", "a step leads from a call into the one that it makes",
			"a logpoint tells its message, and nothing pauses"} { // this program waits in a readSync; TestPointsOfDeno
			sub.Cannot[b] = "Deno's inspector is opened on 127.0.0.1, for which its event loop has to turn"
		}
	}
	return sub
}
