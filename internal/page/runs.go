package page

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Bounds of a test run that is shown.
const (
	maxDetails = 256 << 20 // bytes of the file
	maxTests   = 2000      // those that failed first, then those that took longest
	maxText    = 4000      // bytes of a message
)

// testRun is the answer of /api/run: what debug_test says, and of a run that has ended its tests, which the daemon
// keeps in a file.
type testRun struct {
	Status json.RawMessage `json:"status"` // of debug_test
	Tests  []shownTest     `json:"tests,omitempty"`
	Of     int             `json:"of,omitempty"`    // tests that there are
	Waits  json.RawMessage `json:"waits,omitempty"` // of what is stuck: who waits for whom
	Lack   string          `json:"lack,omitempty"`  // why there are no tests
}

// shownTest is one test.
type shownTest struct {
	Name       string  `json:"name"`
	Suite      string  `json:"suite,omitempty"`
	Status     string  `json:"status"`
	Fails      bool    `json:"fails,omitempty"`
	DurationMs float64 `json:"durationMs"`
	File       string  `json:"file,omitempty"` // of the failure, else of the test
	Line       int     `json:"line,omitempty"`
	Kind       string  `json:"kind,omitempty"`
	Message    string  `json:"message,omitempty"` // of the failure, or why it was skipped
	Expected   string  `json:"expected,omitempty"`
	Actual     string  `json:"actual,omitempty"`
	Also       int     `json:"also,omitempty"` // further failures of it
}

func (s *Server) runs(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "debug_test", map[string]any{"action": "list"})
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	raw, err := s.Call(r.Context(), "debug_test", map[string]any{"action": "status", "testRunId": r.FormValue("id")})
	var known struct{ Result struct{ Details string } }
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	run := testRun{Status: raw}
	if known.Result.Details != "" {
		if err := run.details(known.Result.Details); err != nil {
			run.Lack = fault.From(err).Error()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(&run) //nolint:errcheck // the browser is gone
}

// details reads the file that the daemon names.
func (t *testRun) details(file string) error {
	b, err := plainfile.ReadFile(file)
	if err == nil && len(b) > maxDetails {
		return fault.New(fault.ReadFailed, "Look at the file itself.", "%s has %d bytes", file, len(b))
	}
	type failure struct {
		Kind, Message, Expected, Actual, File string
		Line                                  int
	}
	var d struct {
		Tests []struct {
			Name, Suite, Status, File, Reason string
			Group, Fails                      bool
			Line                              int
			Duration                          time.Duration
			Failures                          []failure
		}
		Waits json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		return fault.New(fault.ReadFailed, "The details of the oldest runs are deleted.", "read the run's details: %w", err)
	}
	t.Waits = d.Waits
	for _, o := range d.Tests {
		if o.Group {
			continue
		}
		one := shownTest{Name: o.Name, Suite: o.Suite, Status: o.Status, Fails: o.Fails, Message: short(o.Reason),
			File: o.File, Line: o.Line, DurationMs: float64(o.Duration) / float64(time.Millisecond)}
		if len(o.Failures) > 0 {
			f := &o.Failures[0]
			one.Kind, one.Message, one.Expected, one.Actual = f.Kind, short(f.Message), short(f.Expected), short(f.Actual)
			if one.Also = len(o.Failures) - 1; f.File != "" {
				one.File, one.Line = f.File, f.Line
			}
		}
		t.Tests = append(t.Tests, one)
	}
	t.Of = len(t.Tests)
	passing := func(o *shownTest) int {
		if o.Fails {
			return 0
		}
		return 1
	}
	sorting.By(t.Tests, func(a, b shownTest) int {
		return cmp.Or(passing(&a)-passing(&b), cmp.Compare(b.DurationMs, a.DurationMs), cmp.Compare(a.Name, b.Name))
	})
	t.Tests = t.Tests[:min(t.Of, maxTests)]
	return nil
}

// short cuts a message.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
