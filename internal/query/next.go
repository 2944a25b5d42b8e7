package query

import (
	"fmt"
	"path"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
)

// Answers name a call that leads on as its tool's name and its arguments in JSON, without the session's id where that
// is the one that was asked: what a client can take as it stands.

const (
	oddCalls    = 2 * columns.MinCalls // so many that something can be odd among them
	enoughCalls = 1000                 // so many are waited for: what is odd may be seldom
)

// later asks once more when more happened.
const later = `When more was called: debug_query {"view":"summary","waitMs":5000}.`

// relaunch is the call that runs a session's program again with all calls of the user's code; "" where that is not
// known.
func (a *asker) relaunch() string {
	m := a.st.Meta()
	if m.Core != nil || m.Command == "" || m.ProjectRoot == "" {
		return ""
	}
	cwd := m.ProjectRoot // unless it is the one that is taken without
	if strings.Contains(m.Command, "/") {
		cwd = path.Dir(m.Command)
	}
	if cwd == m.Cwd {
		cwd = ""
	} else {
		cwd = m.Cwd
	}
	text, err := encode(struct {
		Command string   `json:"command"`
		Args    []string `json:"args,omitempty"`
		Cwd     string   `json:"cwd,omitempty"`
		Root    string   `json:"projectRoot"`
		Trace   []string `json:"trace"`
	}{m.Command, m.Args, cwd, m.ProjectRoot, []string{"@usercode"}})
	if err != nil || len(text) > maxRelaunch {
		return "launch it as before, with trace @usercode"
	}
	return fmt.Sprintf("debug_launch %s, env and stdin as before", text)
}

// maxRelaunch bounds a command in a hint, in bytes.
const maxRelaunch = 600

// next are the calls that lead on from a summary: to the event that says most, or to calls where there are none.
func (w *summaryWriter) next(calls int64, traced bool) (notes []string) {
	ended := w.a.st.Result().Status != ""
	var leads []string
	for _, id := range w.leads {
		leads = append(leads, fmt.Sprintf(`debug_query {"view":"why","under":%d}`, id))
	}
	if again := w.a.relaunch(); w.crashed && calls == 0 && again != "" {
		leads = nil // the summary has told of it, and how it came there are no calls to tell
	} else if w.crashed && calls == 0 {
		leads = []string{`debug_query {"eventType":"crash"}`}
	}
	if len(leads) > 0 {
		notes = append(notes, "How it came: "+strings.Join(leads, ", ")+".")
	}
	switch {
	case calls > 0 && len(leads) > 0:
		return notes
	case calls >= oddCalls:
		notes = append(notes, `What differs between calls: debug_query {"view":"invariants"}.`)
	case calls == 0 && !traced && !ended:
		notes = append(notes, `To see calls: debug_trace {"add":["@usercode"]}.`)
	case calls == 0 && !traced:
		if again := w.a.relaunch(); again != "" {
			notes = append(notes, "To see calls: "+again+".")
		}
	}
	if traced && !ended && calls < enoughCalls {
		notes = append(notes, later)
	}
	return notes
}
