// Package install owns what `strobe install` and `strobe uninstall` do to the files of coding agents: which agents
// there are, where each has its configuration, skills and sub-agents, and how our entry gets in and out.
//
// It stands beside the data path and knows nothing of sessions; its text goes in by cli. Files are the user's: of a
// configuration only the bytes of our entry change (jsonedit.go, toml.go), which is proved by parsing before and after
// (check.go), and a file that cannot be read that way is left alone. What was written is kept in the store's directory
// (state.go), so that removal can put back the very bytes.
package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Options says what to install or remove, and where.
type Options struct {
	Home    string              // the user's home directory
	Getenv  func(string) string // for variables that move agents' directories
	Project string              // absolute: this project's files instead of the user's
	Agents  []string            // ids; none: all that are found
	Command string              // absolute path of the binary that agents start
	Store   string              // where state and backups are
	DryRun  bool
}

// What was done to a file, or would be.
const (
	Added     = "added"
	Updated   = "updated"
	Removed   = "removed"
	Restored  = "restored"
	Unchanged = "unchanged"
	Failed    = "failed"
	Left      = "left"
)

// Change is what was done to one file.
type Change struct {
	Path   string `json:"path"`
	What   string `json:"what"` // config, skill, sub-agent
	Action string `json:"action"`
	Text   string `json:"text,omitempty"` // config: what is written
	Backup string `json:"backup,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Result is what was done for one agent.
type Result struct {
	Agent   string   `json:"agent"`
	Name    string   `json:"name"`
	Changes []Change `json:"changes"`
	Note    string   `json:"note,omitempty"`
}

// Failed tells whether something could not be done.
func (r *Result) Failed() bool {
	return slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Action == Failed })
}

// Install adds our entry, skills and sub-agent for each agent that is found.
func Install(o Options) ([]Result, error) {
	places, err := o.places()
	if err != nil {
		return nil, err
	}
	st, err := loadState(o.Store)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, p := range places {
		r := Result{Agent: p.agent.id, Name: p.agent.name, Note: p.note}
		for _, c := range p.configs {
			r.Changes = append(r.Changes, st.addConfig(o, p, c))
		}
		for _, f := range p.files {
			r.Changes = append(r.Changes, st.addFile(o, p, f))
		}
		results = append(results, r)
	}
	return results, st.save(o.DryRun)
}

// Uninstall takes out what Install put in: for one project, or everywhere that Install has been.
func Uninstall(o Options) ([]Result, error) {
	st, err := loadState(o.Store)
	if err != nil {
		return nil, err
	}
	asked := func(string) bool { return true }
	if len(o.Agents) > 0 {
		if _, err := agentsNamed(o.Agents); err != nil {
			return nil, err
		}
		asked = func(id string) bool { return slices.Contains(o.Agents, id) }
	}
	projects := []string{o.Project}
	if o.Project == "" {
		projects = append(projects, st.projects()...)
	}
	var results []Result
	for _, a := range agents {
		r := Result{Agent: a.id, Name: a.name}
		if !asked(a.id) {
			continue
		}
		for _, project := range projects {
			o.Project = project
			p := a.place(o)
			for _, c := range p.configs {
				r.Changes = append(r.Changes, st.removeConfig(o, c)...)
			}
			for _, f := range p.files {
				r.Changes = append(r.Changes, st.removeFile(o, f)...)
			}
		}
		if len(r.Changes) > 0 {
			results = append(results, r)
		}
	}
	removeDirs(st.left)
	return results, st.save(o.DryRun)
}

// config is a file of an agent that has our entry at path.
type config struct {
	file   string
	path   []string
	fields []field
	toml   bool
}

// text is the entry alone, as the file would have it.
func (c config) text() string {
	if c.toml {
		return tomlTable(c.path, c.fields, "\n")
	}
	l := layout{unit: "  ", eol: "\n"}
	return l.object(c.path, c.fields, "") + "\n"
}

func (c config) set(src []byte) (out []byte, made int, err error) {
	if c.toml {
		out, err = setTOML(src, c.path, c.fields)
		if err == nil {
			err = checkTOML(src, out, c.path)
		}
		return out, 0, err
	}
	out, made, err = setJSON(src, c.path, c.fields)
	if err == nil {
		err = checkJSON(src, out, c.path)
	}
	return out, made, err
}

func (c config) without(src []byte, made int) (out []byte, err error) {
	if c.toml {
		if out, err = removeTOML(src, c.path); err == nil {
			err = checkTOML(src, out, c.path)
		}
		return out, err
	}
	if out, err = removeJSON(src, c.path, made); err == nil {
		err = checkJSON(src, out, c.path)
	}
	return out, err
}

// entry returns what a file has at our path, nil where there is none.
func (c config) entry(src []byte) (any, error) {
	var v any
	var err error
	if c.toml {
		v, err = parseTOML(src)
	} else {
		v, err = jsonValue(src)
	}
	if err != nil {
		return nil, err
	}
	e, _ := lookup(v, c.path)
	return e, nil
}

// ours tells whether an entry starts a Strobe, this one or another: somebody else's server may have our name.
func (c config) ours(entry any) bool {
	m, ok := entry.(map[string]any)
	if !ok {
		return false
	}
	command := m["command"]
	if list, ok := command.([]any); ok && len(list) > 0 {
		command = list[0]
	}
	text, _ := command.(string)
	if i := slices.IndexFunc(c.fields, func(f field) bool { return f.name == "command" }); i >= 0 && text != "" &&
		(text == c.fields[i].text || len(c.fields[i].list) > 0 && text == c.fields[i].list[0]) {
		return true
	}
	return strings.HasPrefix(filepath.Base(text), "strobe")
}

const fixIt = "Mend the file, or add the entry by hand: strobe install --print"

func failed(c Change, err error) Change {
	c.Action, c.Error = Failed, err.Error()
	if !strings.Contains(c.Error, c.Path) {
		c.Error = c.Path + ": " + c.Error
	}
	return c
}

func (st *state) addConfig(o Options, p place, c config) Change {
	ch := Change{Path: c.file, What: "config", Text: c.text()}
	real, old, err := read(c.file)
	if err != nil {
		return failed(ch, err)
	}
	entry, err := c.entry(old)
	if err != nil {
		return failed(ch, fmt.Errorf("it does not parse and is left alone: %w. %s", err, fixIt))
	}
	if entry != nil && !c.ours(entry) {
		return failed(ch, fmt.Errorf("%s is there and is not Strobe's: it is left alone. %s",
			where(c.path), "Rename that entry, or add ours by hand: strobe install --print"))
	}
	out, made, err := c.set(old)
	if err != nil {
		return failed(ch, fmt.Errorf("it is left alone: %w. %s", err, fixIt))
	}
	if old != nil && bytes.Equal(out, old) {
		ch.Action = Unchanged
		return ch
	}
	ch.Action = Added
	if entry != nil {
		ch.Action = Updated
	}
	if o.DryRun {
		return ch
	}
	rec := st.record(c.file, p, made)
	if old != nil && (rec.SHA != sum(old) || rec.Backup == "") {
		if rec.Backup, err = st.backup(c.file, old); err != nil {
			return failed(ch, err)
		}
	}
	ch.Backup = rec.Backup
	return st.write(ch, rec, real, old, out)
}

// write writes a file and what is remembered of it.
func (st *state) write(ch Change, rec *record, real string, old, out []byte) Change {
	dirs, err := makeDirs(filepath.Dir(real))
	rec.Dirs = append(rec.Dirs, dirs...)
	if err == nil {
		err = replace(real, old, out)
	}
	if err != nil {
		removeDirs(dirs)
		return failed(ch, err)
	}
	if old == nil {
		rec.Created = true
	}
	rec.SHA = sum(out)
	st.Files[ch.Path] = rec
	st.changed = true
	return ch
}

func (st *state) removeConfig(o Options, c config) []Change {
	ch := Change{Path: c.file, What: "config"}
	rec := st.Files[c.file]
	real, old, err := read(c.file)
	if err != nil || old == nil {
		if err == nil || rec == nil {
			st.forget(o, c.file)
			return nil
		}
		return []Change{failed(ch, err)}
	}
	entry, err := c.entry(old)
	if err != nil {
		if rec == nil {
			return nil // it was never ours
		}
		return []Change{failed(ch, fmt.Errorf("it does not parse and is left alone: %w", err))}
	}
	if entry == nil {
		st.forget(o, c.file)
		return nil
	}
	if !c.ours(entry) {
		ch.Action, ch.Error = Left, where(c.path)+" is not Strobe's"
		return []Change{ch}
	}
	made, before := 0, []byte(nil)
	if rec != nil {
		made = rec.Made
		before = st.before(c, rec, old)
	}
	out, err := c.without(old, made)
	if err != nil {
		return []Change{failed(ch, fmt.Errorf("it is left alone: %w", err))}
	}
	ch.Action = Removed
	gone := rec != nil && rec.Created && rec.SHA == sum(old)
	if before != nil && c.check(out, before) == nil {
		out, ch.Action = before, Restored
	}
	if o.DryRun {
		return []Change{ch}
	}
	if gone {
		err = removeFile(real, old)
	} else {
		if rec == nil || rec.Backup == "" {
			ch.Backup, err = st.backup(c.file, old)
		}
		if err == nil {
			err = replace(real, old, out)
		}
	}
	if err != nil {
		return []Change{failed(ch, err)}
	}
	if gone {
		st.left = append(st.left, rec.Dirs...)
	}
	st.forget(o, c.file)
	return []Change{ch}
}

func (c config) check(a, b []byte) error {
	if c.toml {
		return checkTOML(a, b, c.path)
	}
	return checkJSON(a, b, c.path)
}

// before returns the bytes that a file had before our entry, if nobody changed it since.
func (st *state) before(c config, rec *record, now []byte) []byte {
	if rec.Backup == "" || rec.SHA != sum(now) {
		return nil
	}
	b, err := plainfile.ReadFile(rec.Backup)
	if err != nil {
		return nil
	}
	if e, err := c.entry(b); err != nil || e != nil {
		return nil
	}
	return b
}

// owned is a file that is all ours: a skill or a sub-agent.
type owned struct {
	file, what string
	text       []byte
}

func (st *state) addFile(o Options, p place, f owned) Change {
	ch := Change{Path: f.file, What: f.what}
	real, old, err := read(f.file)
	if err != nil {
		return failed(ch, err)
	}
	rec := st.Files[f.file]
	switch {
	case old != nil && bytes.Equal(old, f.text):
		ch.Action = Unchanged
		return ch
	case old != nil && (rec == nil || rec.SHA != sum(old)):
		return failed(ch, errors.New("it is there, not as Strobe wrote it, and left alone. Move it away and install again"))
	case old != nil:
		ch.Action = Updated
	default:
		ch.Action = Added
	}
	if o.DryRun {
		return ch
	}
	return st.write(ch, st.record(f.file, p, 0), real, old, f.text)
}

func (st *state) removeFile(o Options, f owned) []Change {
	ch := Change{Path: f.file, What: f.what, Action: Removed}
	rec := st.Files[f.file]
	real, old, err := read(f.file)
	if err != nil || old == nil {
		st.forget(o, f.file)
		return nil
	}
	if !bytes.Equal(old, f.text) && (rec == nil || rec.SHA != sum(old)) {
		if rec == nil {
			return nil
		}
		ch.Action, ch.Error = Left, "it was changed since Strobe wrote it"
		return []Change{ch}
	}
	if o.DryRun {
		return []Change{ch}
	}
	if err := removeFile(real, old); err != nil {
		return []Change{failed(ch, err)}
	}
	if rec != nil {
		st.left = append(st.left, rec.Dirs...)
	}
	st.forget(o, f.file)
	return []Change{ch}
}

// Print returns the entry for each agent, to be added by hand.
func Print(o Options) (string, error) {
	places, err := o.places()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range places {
		for _, c := range p.configs {
			if len(places) > 1 || len(p.configs) > 1 {
				fmt.Fprintf(&b, "# %s: %s\n", p.agent.name, c.file)
			}
			b.WriteString(c.text())
		}
	}
	return b.String(), nil
}

// places returns where the agents that are asked for, or found, have their files.
func (o Options) places() ([]place, error) {
	asked, err := agentsNamed(o.Agents)
	if err != nil {
		return nil, err
	}
	var places []place
	for _, a := range agents {
		switch {
		case len(asked) == 0 && !a.found(o):
		case len(asked) > 0 && !slices.Contains(asked, a):
		default:
			places = append(places, a.place(o))
		}
	}
	if len(places) == 0 {
		return nil, fs.ErrNotExist
	}
	return places, nil
}

func agentsNamed(ids []string) ([]*agent, error) {
	var all []*agent
	for _, id := range ids {
		n := slices.IndexFunc(agents, func(a *agent) bool { return a.id == id })
		if n < 0 {
			return nil, fault.New(fault.ValidationError, "Name one of them.", "no agent %q is known: %s", id,
				strings.Join(IDs(), ", "))
		}
		all = append(all, agents[n])
	}
	return all, nil
}

// IDs returns the names of the agents that are known.
func IDs() []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.id
	}
	return ids
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
