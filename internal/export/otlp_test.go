package export

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// TestOTLPByCollector: the decoder of OpenTelemetry's collector, a module of its own in testdata, finds every call as
// a span with its parent, its begin and its end.
func TestOTLPByCollector(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("testdata", "pdata"))
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "pdata")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the reader: %v\n%s", err, out)
	}
	for name, st := range map[string]*store.Store{"odd": oddStore(t), "whole": randomStore(t, 0, 30_000)} {
		var file bytes.Buffer
		r, err := otlp.Write(t.Context(), st, &file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin)
		cmd.Stdin = &file
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		root, _, _ := strings.Cut(lines[0], " ")
		got := map[string]bool{}
		for _, line := range lines[1:] {
			got[line[:strings.LastIndexByte(line, ' ')]] = true
		}
		if calls := int64(len(held(t, st).calls)); int64(len(lines)) != 1+calls+held(t, st).others || r.Written != r.Events {
			t.Errorf("%s: %d spans of %d calls", name, len(lines), calls)
		}
		for _, want := range spansOf(t, st, root) {
			if !got[want] {
				t.Fatalf("%s: no span %s, but\n%.2000s", name, want, out)
			}
		}
	}
}

// spansOf is what the reader must say of each call.
func spansOf(t *testing.T, st *store.Store, root string) (lines []string) {
	t.Helper()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	at := st.Meta().StartedAt
	for c, err := range record.New(sn).Calls(t.Context(), record.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		parent, end := root, sn.LastTS()
		if c.Enter.Parent != 0 {
			parent = fmt.Sprintf("%016x", c.Enter.Parent)
		}
		if c.Exit != nil {
			end = c.Exit.TS
		}
		lines = append(lines, fmt.Sprintf("%016x %s %q %d %d", c.Enter.ID, parent, valid(c.Function().Name),
			at+c.Enter.TS, at+end))
	}
	return lines
}
