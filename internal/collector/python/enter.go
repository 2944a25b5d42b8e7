package python

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
)

// library is CPython's own as a file: libpython3.12.so.1.0.
var library = regexp.MustCompile(`^libpython3(\.\d+)?t?d?\.so`)

// embedded reports whether a process that runs has the interpreter in it, though it is another program.
func embedded(img collector.Image) bool {
	return slices.ContainsFunc(img.Files, func(f string) bool { return library.MatchString(filepath.Base(f)) })
}

// enterText is what the agent is started by. It is also read by interpreters that are too old. From 3.12 on Python
// warns of a fork beside other threads: a fork amid this waits until this thread has gone, with the agent's own, and
// until that is so (InsideFile) the thread that the start was called on stands still.
const enterText = `import sys
def inside():
    open(%[2]s + "/` + agentlink.InsideFile + `", "w").close()
if sys.version_info < (3, 12):
    inside()
if sys.version_info < (3, 8):
    with open(%[2]s + "/refused", "w") as f:
        f.write("it is Python %%d.%%d, and the agent is of 3.8 and newer" %% tuple(sys.version_info[:2]))
else:
    if sys.version_info >= (3, 12):
        import os, time, _thread
        task, until = "/proc/self/task/%%d" %% _thread.get_native_id(), [time.monotonic() + 3]
        def before():
            if not until:
                return
            while time.monotonic() < until[0] and os.path.exists(task):
                time.sleep(0.001)
            until.clear()
            agent = sys.modules.get("strobe_agent")
            if agent is not None:
                agent._before_fork()
        os.register_at_fork(before=before)
        inside()
    import _frozen_importlib as i, _frozen_importlib_external as e
    p = %[1]s + "/strobe_enter.py"
    s = i.spec_from_loader("strobe_enter", e.SourceFileLoader("strobe_enter", p), origin=p)
    s.has_location = True
    i._load(s).enter(%[2]s)
    if sys.version_info >= (3, 12):
        until[:] = [time.monotonic() + 0.5]
`

// fileInput is Py_file_input: a text of statements.
const fileInput = 257

// script runs a text in the interpreter, in names of its own. PyRun_SimpleString would take those of __main__,
// and print what is raised.
func script(text string) collector.Script {
	return collector.Script{Library: "libpython3", Start: "PyThread_start_new_thread", Calls: []collector.Call{
		{Function: "Py_IsInitialized", Int: true, Else: collector.End},
		{Function: "PyGILState_Ensure"},
		{Function: "PyDict_New", Else: 6},
		{Function: "PyEval_GetBuiltins"},
		{Function: "PyDict_SetItemString", Args: []collector.Arg{{Result: 3}, {Text: "__builtins__"}, {Result: 4}}},
		{Function: "PyRun_StringFlags",
			Args: []collector.Arg{{Text: text}, {Number: fileInput}, {Result: 3}, {Result: 3}, {}}},
		{Function: "PyErr_Clear"},
		{Function: "Py_DecRef", Args: []collector.Arg{{Result: 6}}},
		{Function: "Py_DecRef", Args: []collector.Arg{{Result: 3}}},
		{Function: "PyGILState_Release", Args: []collector.Arg{{Result: 2}}},
	}}
}

// enter brings the agent, whose files are in dir, into a process.
func enter(ctx context.Context, img collector.Image, in collector.Injector, dir, folder string) error {
	start := script(fmt.Sprintf(enterText, quoted(dir), quoted(folder)))
	start.Until = filepath.Join(folder, agentlink.InsideFile)
	err := in.Inject(ctx, img.PID, start)
	if err != nil && !executable.MatchString(filepath.Base(img.Path)) {
		return collector.StaysOut(fmt.Sprintf("Python functions of process %d are not traced: %v", img.PID, err))
	}
	return err
}

// quoted writes a text as Python does, and Go in ASCII.
func quoted(s string) string { return strconv.QuoteToASCII(s) }
