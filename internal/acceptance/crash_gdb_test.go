//go:build linux

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// gdbFrame is a frame as gdb sees it.
type gdbFrame struct {
	Name, File string
	Line       int
	Signal     bool
	Locals     map[string]string // integers alone
}

// gdbStop is a program stopped at its fatal signal under gdb.
type gdbStop struct {
	Way     string
	Frames  []gdbFrame
	Threads int
}

// gdbStops runs a program under one gdb in many ways, up to the signal that ends it, and tells the first frames of the
// stack there.
const gdbStops = `
import gdb, json
job = json.load(open(JOB))
for s in ["pagination off", "confirm off", "backtrace past-main on", "width 0", "debuginfod enabled off", "startup-with-shell on"]:
    gdb.execute("set " + s)
for s in ["SIGUSR1", "SIGCHLD"]:
    gdb.execute("handle %s nostop noprint pass" % s, to_string=True)
def values(f):
    out = {}
    try:
        b = f.block()
    except RuntimeError:
        return out
    while b is not None:
        for s in b:
            if not (s.is_argument or s.is_variable) or s.addr_class == gdb.SYMBOL_LOC_STATIC or s.name in out:
                continue
            try:
                t = s.type.strip_typedefs()
                v = s.value(f)
                if t.code == gdb.TYPE_CODE_INT and not v.is_optimized_out:
                    out[s.name] = str(int(v))
            except gdb.error:
                pass
        if b.function is not None:
            break
        b = b.superblock
    return out
for way in job["ways"]:
    got = {"way": way["name"], "frames": [], "threads": 0}
    try:
        gdb.execute("set follow-fork-mode " + ("child" if way["child"] else "parent"))
        gdb.execute("run %s >/dev/null 2>/dev/null" % way["args"], to_string=True)
        f = gdb.newest_frame()
        got["threads"] = len(gdb.selected_inferior().threads())
        while f is not None and len(got["frames"]) < 30:
            if f.type() != gdb.TAILCALL_FRAME: # made up from call sites: it is not on the stack
                sal = f.find_sal()
                fn = f.function()
                got["frames"].append({"name": fn.print_name if fn is not None else f.name() or "", "file": sal.symtab.fullname() if sal.symtab else "",
                    "line": sal.line, "signal": f.type() == gdb.SIGTRAMP_FRAME, "locals": values(f)})
            f = f.older()
    except gdb.error as e:
        got["error"] = str(e)
    print("@@" + json.dumps(got))
    try:
        gdb.execute("kill", to_string=True)
    except gdb.error:
        pass
`

// gdbWay is one run of a program under gdb.
type gdbWay struct {
	Name  string `json:"name"`
	Args  string `json:"args"`
	Child bool   `json:"child"` // the child is what crashes
}

// underGDB asks gdb for the stack at each crash of a program.
func underGDB(t testing.TB, path string, ways []gdbWay) map[string]gdbStop {
	t.Helper()
	strobetest.NeedCommand(t, "gdb")
	dir := t.TempDir()
	job, err := json.Marshal(map[string]any{"ways": ways})
	if err != nil {
		t.Fatal(err)
	}
	jobFile := write(t, dir, "job.json", string(job), 0o600)
	script := write(t, dir, "stops.py", strings.ReplaceAll(gdbStops, "JOB", fmt.Sprintf("%q", jobFile)), 0o600)
	ctx, cancel := context.WithTimeout(context.Background(), crashTurn*6)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gdb", "-nx", "-batch", "-x", script, path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "RUST_BACKTRACE=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb %s: %v\n%s", path, err, out)
	}
	stops := map[string]gdbStop{}
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "@@"); ok {
			var s gdbStop
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatalf("gdb wrote %q: %v", line, err)
			}
			stops[s.Way] = s
		}
	}
	if len(stops) != len(ways) {
		t.Fatalf("gdb told of %d of %d crashes:\n%s", len(stops), len(ways), out)
	}
	return stops
}

// unlikeGDB are frames that are not as in gdb, and why.
var unlikeGDB = map[string]string{
	"int3 0":         "gdb shows where the program would go on, which may be the next line",
	"execute-data 0": "gdb takes the variable's name for a function",
}

// agrees compares a crash's stack with gdb's, frame by frame, and integers in them. It returns how many frames and
// values it compared.
func (c *crashEvent) agrees(t testing.TB, what string, g gdbStop) (frames, values int) {
	t.Helper()
	if len(g.Frames) == 0 {
		t.Errorf("%s: gdb has no stack", what)
		return 0, 0
	}
	got := lines(c.Backtrace)
	for i, f := range g.Frames {
		want := plainName(f.Name)
		switch {
		case f.Signal:
			want = "<signal handler called>"
		case f.Line > 0:
			want += fmt.Sprintf(" %s:%d", filepath.Base(f.File), f.Line)
		}
		if c.Class == "stack-overflow" && i == 0 { // which instruction finds no more stack depends on what lay there before
			continue
		}
		if why := unlikeGDB[fmt.Sprintf("%s %d", g.Way, i)]; why != "" {
			continue
		}
		if i >= len(got) || !sameFrame(got[i], want) {
			t.Errorf("%s: frame %d is not gdb's %q: stack\n%s\ngdb's\n%s", what, i, want, strings.Join(got, "\n"), g.text())
			return frames, values
		}
		frames++
		if c.Class == "stack-overflow" { // how deep it comes depends on what lay on the stack before
			continue
		}
		for name, want := range f.Locals {
			b, ok := c.Backtrace[i].Arguments[name]
			if !ok {
				b = c.Backtrace[i].Locals[name]
			}
			if v := string(b); isInteger(v) && isInteger(want) {
				if v != want {
					t.Errorf("%s: frame %d, %s: %s is %s, gdb has %s", what, i, got[i], name, v, want)
				}
				values++
			}
		}
	}
	return frames, values
}

func isInteger(s string) bool {
	return s != "" && strings.Trim(s, "-0123456789") == ""
}

func (g *gdbStop) text() string {
	var b strings.Builder
	for _, f := range g.Frames {
		fmt.Fprintf(&b, "%s %s:%d %v\n", plainName(f.Name), filepath.Base(f.File), f.Line, f.Signal)
	}
	return b.String()
}

// sameFrame compares two frames' names and lines. A function of libc has many names; of Rust's, gdb shows the path in
// the debug information and Strobe the linker's name, which agree in the last part.
func sameFrame(got, want string) bool {
	strip := func(s string) string {
		name, line, _ := cutLast(s, " ")
		name = strings.TrimPrefix(strings.Trim(strings.ReplaceAll(strings.TrimPrefix(name, "__GI_"), "_impl", ""), "_"),
			"IO_")
		if strings.Contains(line, ".rs:") {
			parts := strings.Split(rustPart.ReplaceAllString(name, ""), "::")
			for len(parts) > 1 && parts[len(parts)-1] == "" {
				parts = parts[:len(parts)-1]
			}
			if name = strings.Trim(parts[len(parts)-1], "_"); name == "rust_begin_unwind" { // the same by attribute
				name = "panic_handler"
			}
		}
		return name + " " + line
	}
	return got == want || strip(got) == strip(want)
}

// rustPart is what closures and the like are called in a path.
var rustPart = regexp.MustCompile(`\{+[\w.#]+\}+`)

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
