package query

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// AbsentQuestion asks what the program's files say of why a function does not run.
type AbsentQuestion struct {
	Name  string
	Paths []string // files of the program, its own first
}

// Absent is what files say of a function.
type Absent struct {
	Found   []StaticFunction // functions of that name that have code
	NoCode  []StaticFunction // those that have none, with why
	Callers []StaticCall     // who calls it, and who calls those, the nearest first
	More    int              // callers that are left out
	Near    []string         // like names, where there is none
	Read    []string         // files that were looked at
	Unread  []string         // those that could not be, with why
}

// StaticFunction is a function of a file.
type StaticFunction struct {
	Name, File, Module string
	Line               int
	Why                string // of one without code
}

// StaticCall is a place in the code where one function calls another one, or takes its address.
type StaticCall struct {
	Caller, Callee string
	File           string
	Line           int
	Taken          bool
	Depth          int // 1: calls the function itself
}

// maxCallersTold bounds the callers that an answer names.
const maxCallersTold = 12

// checkMissing prepares view missing.
func (f *filters) checkMissing() error {
	r := f.req
	if r.View != "missing" {
		return nil
	}
	if r.Function == nil || r.Function.Equals == "" || r.Function.Contains != "" || r.Function.Matches != "" {
		return invalid("function", "Give its qualified name, e.g. ns::Class::method.", "view missing is of one function")
	}
	return nil
}

// missing is view missing: why a function did not run.
func (a *asker) missing(res *Result, look func(context.Context, AbsentQuestion) (*Absent, error)) (notes []string,
	err error) {
	name := a.req.Function.Equals
	w := &missingWriter{summaryWriter: summaryWriter{a: a}, ran: map[string]int64{},
		watched: map[string]bool{}}
	res.TotalCount = 1
	w.learn()
	defer func() { notes = append(notes, a.paged(res, w.b.String(), a.short())...) }()
	if n := w.ran[name]; n > 0 {
		w.line("%s ran: %s", name, w.times(name))
		return nil, nil
	}
	m := a.st.Meta()
	if look == nil || m.Command == "" {
		w.line("%s did not run; there is no program here to look for it in", name)
		return nil, nil
	}
	q := AbsentQuestion{Name: name, Paths: []string{m.Command}}
	for _, p := range w.modules {
		if !slices.Contains(q.Paths, p) && len(q.Paths) < 20 {
			q.Paths = append(q.Paths, p)
		}
	}
	found, err := look(a.ctx, q)
	if err != nil {
		return nil, err
	}
	w.where(name, found)
	w.callers(name, found)
	return notes, nil
}

type missingWriter struct {
	summaryWriter
	ran     map[string]int64 // calls; 1 where only the first is known
	once    map[string]bool  // only the first is known
	watched map[string]bool
	modules []string // files that functions are of
}

// learn finds out what ran.
func (w *missingWriter) learn() {
	w.once = map[string]bool{}
	seen := map[string]bool{}
	module := func(p string) {
		if filepath.IsAbs(p) && !seen[p] {
			seen[p] = true
			w.modules = append(w.modules, p)
		}
	}
	for _, c := range w.a.st.Coverage() {
		w.watched[c.Name] = true
		if c.Ran {
			w.ran[c.Name], w.once[c.Name] = 1, true
		}
		module(c.Module)
	}
	for _, s := range w.a.st.FuncStats() {
		fn := w.a.fn(s.Func)
		if s.Made() > 0 {
			if w.once[fn.Name] {
				w.ran[fn.Name] = 0
				delete(w.once, fn.Name)
			}
			w.ran[fn.Name] += s.Made()
		}
		module(fn.Module)
	}
}

// times is how often a function ran.
func (w *missingWriter) times(name string) string {
	if w.once[name] {
		return "at least once"
	}
	return fmt.Sprintf("×%d", w.ran[name])
}

func place(file string, line int) string {
	if file == "" {
		return "?"
	}
	return fmt.Sprintf("%s:%d", path.Base(file), line)
}

// where says what the program's files have of the function.
func (w *missingWriter) where(name string, f *Absent) {
	for i, p := range f.Found {
		if i == 3 {
			w.line("…+%d of that name", len(f.Found)-i)
			break
		}
		how := "no call of it was recorded: it was not traced, and @coverage not asked for"
		if w.watched[p.Name] {
			how = "it never ran"
		}
		w.line("%s (%s, in %s): %s", p.Name, place(p.File, p.Line), path.Base(p.Module), how)
	}
	for i, p := range f.NoCode {
		if i == 3 {
			break
		}
		w.line("%s (%s) has no code of its own in %s: %s", p.Name, place(p.File, p.Line), path.Base(p.Module), p.Why)
	}
	if len(f.Found)+len(f.NoCode) == 0 {
		var read []string
		for _, p := range f.Read {
			read = append(read, path.Base(p))
		}
		w.line("%s is not linked into %s", name, cmp.Or(strings.Join(read, ", "), "anything that could be read"))
		if len(f.Near) > 0 {
			w.line("did you mean %s?", strings.Join(f.Near, ", "))
		}
		w.line("%s", w.others())
	}
	for _, u := range f.Unread {
		w.line("not read: %s", cut(u, 200))
	}
}

// others names programs that processes of the session became: the function may be in one of them.
func (w *missingWriter) others() string {
	var all []string
	for _, t := range w.a.threads {
		if t.PID == t.TID && t.Name != "" && !slices.Contains(all, t.Name) {
			all = append(all, t.Name)
		}
	}
	if len(all) < 2 {
		return "a library that was loaded and of which nothing is traced was not looked at"
	}
	return "processes of the session were " + cut(strings.Join(all, ", "), 200) + ": it may be in another of these"
}

// callers tells of the nearest callers that ran, and of those that did not.
func (w *missingWriter) callers(name string, f *Absent) {
	if len(f.Found) == 0 {
		return
	}
	if len(f.Callers) == 0 {
		w.line("nothing calls it directly: only through a pointer or a virtual function, or from outside")
		return
	}
	var near, never, pointers []string
	said := map[string]bool{}
	behind := map[string]bool{} // who is called only from above what ran
	for _, c := range f.Callers {
		call := fmt.Sprintf("%s calls %s at %s", c.Caller, c.Callee, place(c.File, c.Line))
		switch {
		case c.Depth > 1 && (w.ran[c.Callee] > 0 || behind[c.Callee]):
			behind[c.Caller] = true
		case c.Taken:
			pointers = append(pointers, fmt.Sprintf("%s takes the address of %s at %s", c.Caller, c.Callee,
				place(c.File, c.Line)))
		case w.ran[c.Caller] > 0:
			if call = fmt.Sprintf("%s (ran %s) calls %s at %s", c.Caller, w.times(c.Caller), c.Callee,
				place(c.File, c.Line)); !said[call] {
				near = append(near, call)
			}
		case !said[call]:
			never = append(never, call)
		}
		said[call] = true
	}
	w.told("nearest callers that ran, and did not come to the call:", near)
	w.told("callers of which no call was recorded:", never)
	w.told("may be called through a pointer:", pointers)
	if f.More > 0 {
		w.line("…+%d callers further away", f.More)
	}
	if len(near) == 0 && len(w.ran) == 0 {
		w.line("What ran was not recorded: debug_launch with trace @coverage tells which of these did.")
	}
}

func (w *missingWriter) told(head string, all []string) {
	for i, s := range all {
		if i == 0 {
			w.line("%s", head)
		}
		if i == maxCallersTold {
			w.line("  …+%d", len(all)-i)
			break
		}
		w.line("  %s", s)
	}
}
