package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/testrun"
)

// What services of several processes need of each other: the daemon's, which has the list of sessions and what is
// staged, and those of its workers, each of which has the sessions of one launch or the runs of one traced test run.

// Sessions returns the sessions of this process.
func (s *Service) Sessions() *session.Manager { return s.sessions }

// Staged are patterns and breakpoints on their way to another process, as JSON.
type Staged = json.RawMessage

type stagedJSON struct {
	Tracing session.Tracing
	Points  json.RawMessage
}

// TakeStaged takes what a client has staged for its next launch in a project; nil: nothing.
func (s *Service) TakeStaged(client, root string) (Staged, error) {
	key := keyOf(Client{Name: client}, root)
	taken := s.pending.take(key)
	if taken.tracing.Empty() && len(taken.points) == 0 {
		return nil, nil
	}
	points, err := json.Marshal(taken.points)
	if err == nil {
		var b []byte
		if b, err = json.Marshal(stagedJSON{taken.tracing, points}); err == nil {
			return b, nil
		}
	}
	s.pending.putBack(key, taken)
	return nil, fmt.Errorf("encode what is staged: %w", err)
}

// PutStaged stages what TakeStaged gave, below what was staged meanwhile: here, where the launch is made, or where it
// was, since it failed.
func (s *Service) PutStaged(client, root string, b Staged) error {
	if len(b) == 0 {
		return nil
	}
	var j stagedJSON
	taken := staged{}
	err := json.Unmarshal(b, &j)
	if err == nil {
		err = json.Unmarshal(j.Points, &taken.points)
	}
	if err != nil {
		return fmt.Errorf("read what is staged: %w", err)
	}
	taken.tracing = j.Tracing
	s.pending.putBack(keyOf(Client{Name: client}, root), taken)
	return nil
}

// RunState is a test run as another process knows it.
type RunState struct {
	ID      string
	Project string // by its real path
	Began   time.Time
	Ended   bool
	Row     TestRow
	Answer  json.RawMessage // of action status, once it has ended
}

// Runs lists the test runs of this process, newest first.
func (s *Service) Runs() []RunState {
	var out []RunState
	for _, r := range s.tests.List() {
		st := RunState{ID: r.ID, Project: testrun.RealPath(r.Request.ProjectRoot), Began: r.Began(), Row: rowOf(r)}
		if st.Row.Status != "running" && r.Ended() {
			if b, err := encode(describe(r)); err == nil {
				st.Ended, st.Answer = true, b
			}
		}
		out = append(out, st)
	}
	return out
}

// maxKeptRuns is how many runs of other processes are remembered.
const maxKeptRuns = 100

// keptRuns are the runs of other processes.
type keptRuns struct {
	mu   sync.Mutex // leaf
	runs map[string]RunState
}

// KeepRun remembers how a run in another process stands, and behind its end its answer.
func (s *Service) KeepRun(r RunState) {
	k := &s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.runs = map[string]RunState{}
	}
	k.runs[r.ID] = r
	for len(k.runs) > maxKeptRuns {
		oldest := ""
		for id, o := range k.runs {
			if o.Ended && (oldest == "" || o.Began.Before(k.runs[oldest].Began)) {
				oldest = id
			}
		}
		if oldest == "" {
			return
		}
		delete(k.runs, oldest)
	}
}

// KeptRuns are those of other processes.
func (s *Service) KeptRuns() []RunState {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	return slices.Collect(maps.Values(s.kept.runs))
}

// Place is a project's root by its real path.
func Place(root string) string { return testrun.RealPath(filepath.Clean(root)) }

// RunsIn reports whether a run of this process goes on in a project, by its real path.
func (s *Service) RunsIn(project string) bool {
	return slices.ContainsFunc(s.tests.List(), func(r *testrun.Run) bool {
		return !r.Ended() && testrun.RealPath(r.Request.ProjectRoot) == project
	})
}

// LoseRun is told of a run whose process died.
func (s *Service) LoseRun(id, why string) {
	k := &s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.runs[id]; ok && !r.Ended {
		r.Row.Status, r.Ended = "failed", true
		b, err := encode(&TestAnswer{TestRunID: id, Status: "failed", Framework: r.Row.Framework, Error: why,
			Hint: "Run the tests again."})
		if err == nil {
			r.Answer = b
		}
		k.runs[id] = r
	}
}

// answer is that of a run in another process that has ended.
func (k *keptRuns) answer(id string) (json.RawMessage, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.runs[id]
	return r.Answer, ok && r.Ended
}

func rowOf(r *testrun.Run) TestRow {
	status, _, result, _, _ := r.State()
	row := TestRow{TestRunID: r.ID, ProjectRoot: r.Request.ProjectRoot, Framework: r.Framework(), Status: status}
	if result != nil {
		row.Summary = &result.Summary
	}
	return row
}

// testList is every run that is remembered, newest first.
func (s *Service) testList() *TestList {
	type dated struct {
		began time.Time
		row   TestRow
	}
	var all []dated
	for _, r := range s.tests.List() {
		all = append(all, dated{r.Began(), rowOf(r)})
	}
	s.kept.mu.Lock()
	for _, r := range s.kept.runs {
		all = append(all, dated{r.Began, r.Row})
	}
	s.kept.mu.Unlock()
	sorting.By(all, func(a, b dated) int {
		return cmp.Or(b.began.Compare(a.began), cmp.Compare(b.row.TestRunID, a.row.TestRunID))
	})
	l := &TestList{Runs: make([]TestRow, 0, len(all))}
	for _, d := range all {
		l.Runs = append(l.Runs, d.row)
	}
	return l
}
