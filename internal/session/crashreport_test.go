package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/report"
)

// A picture and a report of real programs become the event that was stored of them before crashes were a type.
func TestCrashesKeepTheirForm(t *testing.T) {
	names, err := filepath.Glob("../crash/testdata/events/*.json")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d recorded crashes, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			How, Signal, Class, Reason string
			Panicking                  bool
			ExitCode                   int
			ExitSignal                 string
			Causes                     []string
			Report                     *report.Report
			Picture                    *crash.Crash
			Event                      json.RawMessage
		}
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		how := &collector.ExitInfo{Code: r.ExitCode, Signal: r.ExitSignal}
		var pending *pendingReport
		if r.Report != nil {
			pending = &pendingReport{Report: *r.Report}
		}
		k := r.Picture
		switch {
		case r.How == "report":
			k = alone(r.Report, how)
		case k == nil: // of a collector that takes none
			continue
		case r.How == "panic":
			k = panicked(&collector.Panic{Crash: k}, pending, how)
		default:
			k.Signal, k.Class, k.Reason, k.Panicking = r.Signal, r.Class, r.Reason, r.Panicking
			k = withReport(k, pending, r.Causes)
		}
		got, err := k.JSON()
		if diff := cmp.Diff(string(r.Event), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-as it was +now):\n%s", filepath.Base(name), err, diff)
		}
	}
}
