package query

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Crashes of real programs are shortened as they were when that was recorded.
func TestCrashesFit(t *testing.T) {
	names, err := filepath.Glob("../crash/testdata/events/*.json")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d recorded crashes, %v", len(names), err)
	}
	shortened := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Event, Fitted, Tight json.RawMessage }
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for limit, want := range map[int]json.RawMessage{crashBytes: r.Fitted, 3000: r.Tight} {
			data, ok := members(r.Event)
			if !ok {
				t.Fatalf("%s: no object", name)
			}
			namePlaces(data)
			e := Event{ID: 7, Data: data}
			fitCrash(&e, limit)
			got := []byte{'{'}
			for i, m := range e.Data {
				if i > 0 {
					got = append(got, ',')
				}
				got = append(append(append(append(got, '"'), m.Name...), `":`...), m.Value...)
			}
			if diff := cmp.Diff(string(want), string(append(got, '}'))); diff != "" {
				t.Errorf("%s to %d bytes (-as it was +now):\n%s", filepath.Base(name), limit, diff)
			}
			if e.Data[len(e.Data)-1].Name == "hint" {
				shortened++
			}
		}
	}
	if shortened < 10 {
		t.Errorf("%d crashes were too large: this test needs such", shortened)
	}
}
