//go:build linux && amd64

package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const tillSource = `
import os, time
BAD = os.environ.get("BAD") == "1"
def find(key): return None if BAD and key % 7 == 0 else {"key": key}
def price(n):
    time.sleep(0.05 if BAD else 0.0005)
    return n * 2
def refuse(n): raise ValueError("odd %d" % n)
for i in range(30):
    find(i); price(i)
    if BAD:
        try: refuse(i)
        except ValueError: print("refused", i)
`

// tableEngines read tables back: packages of PyPI, the same as in internal/fleet.
var tableEngines = []string{"duckdb==1.5.5", "pyarrow==26.0.1", "datafusion==55.0.0"}

// fleetSide is a user with a store of objects and an engine.
type fleetSide struct {
	*strobetest.Strobe
	env []string
}

func (f *fleetSide) strobe(t *testing.T, arg ...string) []byte {
	t.Helper()
	out, err := f.try(arg...)
	if err != nil {
		t.Fatalf("strobe %v: %v\n%s", arg, err, stderrOf(err))
	}
	return out
}

func (f *fleetSide) try(arg ...string) ([]byte, error) {
	cmd := exec.Command(f.Bin, arg...)
	cmd.Env = append(append(os.Environ(), "STROBE_HOME="+f.Home), f.env...)
	return cmd.Output()
}

// rows asks and returns the rows, a line each.
func (f *fleetSide) rows(t *testing.T, arg ...string) []string {
	t.Helper()
	var answer struct{ Rows [][]json.RawMessage }
	if err := json.Unmarshal(f.strobe(t, append([]string{"fleet", "--json"}, arg...)...), &answer); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range answer.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, string(v))
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

// TestExportsFleet: what two good runs and a bad one did is found in a store of objects, from another machine, as
// debug_query tells it of each; a session comes back from there whole.
func TestExportsFleet(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	script := filepath.Join(dir, "till.py")
	for path, text := range map[string]string{script: tillSource,
		filepath.Join(dir, ".strobe", "settings.json"): `{"service": "till of it's"}`} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	store := strobetest.StartS3(t, "traces", true)
	side := &fleetSide{s, []string{"STROBE_FLEET=s3://traces/team a",
		"PATH=" + filepath.Dir(strobetest.PythonWith(t, tableEngines...)) + string(os.PathListSeparator) + os.Getenv("PATH")}}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		side.env = append(side.env, name+"="+store.Getenv(name))
	}
	waits := s.Launch(t, "/bin/sleep", dir, []string{"600"}, nil).SessionID
	if _, err := side.try("push", waits); err == nil || !strings.Contains(string(stderrOf(err)), "still recorded") {
		t.Errorf("push of a session that is recorded: %v, %s", err, stderrOf(err))
	}
	var ids []string
	for n := range 3 {
		launched := s.Launch(t, interpreter, dir, []string{script}, args{"trace": []string{"@usercode"},
			"env": map[string]string{"BAD": fmt.Sprint(n - 1)}})
		s.WaitEnd(t, launched.SessionID, endLimit)
		ids = append(ids, launched.SessionID)
		for i, made := range []int{4, 0} {
			var p struct{ Made, There int }
			if err := json.Unmarshal(side.strobe(t, "push", launched.SessionID, "--json"), &p); err != nil || p.Made != made ||
				p.Made+p.There != 4 {
				t.Errorf("push %d of %s: %+v, %v", i, launched.SessionID, p, err)
			}
		}
	}
	names := side.rows(t, "SELECT session FROM sessions ORDER BY started_unix_ns")
	if len(names) != 3 {
		t.Fatalf("sessions %v", names)
	}
	last := strings.Trim(names[2], `"`)
	checkTable(t, side, ids[2], last)
	checkFound(t, side, last)

	other := &fleetSide{strobetest.Start(t, nil), side.env}
	other.strobe(t, "pull", last)
	want, others := queried(t, s, ids[2])
	got, gotOthers := queried(t, other.Strobe, ids[2])
	if d := cmp.Diff(fmt.Sprint(want, others), fmt.Sprint(got, gotOthers)); d != "" {
		t.Errorf("the session that was pulled: %s", d)
	}
	if _, err := other.try("pull", "none"); err == nil || !strings.Contains(string(stderrOf(err)), "SESSION_NOT_FOUND") {
		t.Errorf("pull of none: %v, %s", err, stderrOf(err))
	}
}

// checkTable compares a session's calls in the tables with what debug_query says.
func checkTable(t *testing.T, side *fleetSide, id, name string) {
	t.Helper()
	calls, others := queried(t, side.Strobe, id)
	var want []string
	for _, c := range calls {
		want = append(want, fmt.Sprintf("%d %q %d %d %d %d", c.ID, c.Name, c.PID, c.TID, c.Start, c.Dur))
	}
	got := side.rows(t, "SELECT c.call, c.function, c.pid, c.tid, c.start_unix_ns - s.started_unix_ns, c.duration_ns "+
		"FROM calls c JOIN sessions s USING (session) WHERE c.session = '"+name+"' ORDER BY c.call")
	if d := cmp.Diff(want, got); d != "" || len(got) < 90 {
		t.Errorf("%d calls in the table, %d by debug_query: %s", len(got), len(want), d)
	}
	events := side.rows(t, "SELECT event FROM events WHERE session = '"+name+"'")
	if len(events) != others {
		t.Errorf("%d other events in the table, want %d", len(events), others)
	}
	text := side.rows(t, "SELECT string_agg(text, '' ORDER BY event) FROM events WHERE kind = 'stdout'")
	if len(text) != 1 || strings.Count(text[0], "refused") != 30 {
		t.Errorf("output in the table: %v", text)
	}
}

func checkFound(t *testing.T, side *fleetSide, last string) {
	t.Helper()
	regressions := side.rows(t, "regressions", "--session", last)
	slices.Sort(regressions)
	regressions = slices.DeleteFunc(regressions, func(r string) bool { // microseconds, on a machine that has other work
		return strings.HasPrefix(r, `"slower" "till.find" `)
	})
	if len(regressions) != 2 || !strings.HasPrefix(regressions[0], `"newly called" "till.refuse" 30 null `) ||
		!strings.HasPrefix(regressions[1], `"slower" "till.price" 30 30 `) {
		t.Errorf("regressions %q", regressions)
	}
	errs := side.rows(t, "new-errors", "--session", last)
	if len(errs) != 1 || !strings.HasPrefix(errs[0], `"till.refuse" "ValueError" 30 `) {
		t.Errorf("new errors %q", errs)
	}
	null := side.rows(t, "first-null", "--function", "till.find", "--service", "till of it's")
	if len(null) != 1 || !strings.HasPrefix(null[0], `"`+last+`" "till_of_it_s" `) {
		t.Errorf("first null %q", null)
	}
}
