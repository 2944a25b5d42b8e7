package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of view summary.
const (
	summaryBytes  = 2700 // unless more tokens than by default are asked for: with all around it under 1,000
	tailLines     = 8
	tailBytes     = 500
	tailScan      = 200 // pieces of output that are looked at
	maxTold       = 5   // functions of a line, processes, exceptions
	maxExceptions = 100_000
)

// summary is view summary: what happened in the session, each thing in a line or two. Unless final, nothing matches
// until there are calls to tell of.
func (a *asker) summary(parts []part, res *Result, final bool, env *Env) (notes []string, err error) {
	w := &summaryWriter{a: a}
	s := a.st.Stats()
	res.TotalCount = s.Total()
	calls := s.Events[event.FunctionEnter]
	if !final && calls < enoughCalls {
		res.TotalCount = 0
	}
	if res.TotalCount == 0 {
		return nil, nil
	}
	w.session(s)
	if env.Redacted != nil && env.Redacted() > 0 {
		w.line("%s left out as secrets", plural(env.Redacted(), "value"))
	}
	odd := func() error { notes, err = w.odd(parts); return err }
	for _, step := range []func() error{w.processes, w.crash, w.exceptions, odd, w.outputTail, w.functions} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	notes = append(notes, a.paged(res, w.b.String(), a.short())...)
	return append(notes, w.next(calls, env.Traced != nil && env.Traced())...), nil
}

type summaryWriter struct {
	a *asker
	b strings.Builder

	leads   []event.ID // of what says most
	crashed bool
}

func (w *summaryWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *summaryWriter) session(s store.Stats) {
	m, r := w.a.st.Meta(), w.a.st.Result()
	how := cmp.Or(r.Status, "runs")
	if how == "exited" && r.ExitCode == nil && r.Signal == "" { // it was let go, and may run on
		how = "observed no more"
	}
	if r.ExitCode != nil {
		how += fmt.Sprintf(" %d", *r.ExitCode)
	}
	if r.Signal != "" {
		how += " " + r.Signal
	}
	calls := w.a.st.Calls()
	pids := map[int32]bool{}
	for _, t := range w.a.threads {
		pids[t.PID] = true
	}
	_, lanes := w.a.lanes()
	several := ""
	if len(pids) > 1 {
		several = fmt.Sprintf(", %d processes", len(pids))
	}
	w.line("%s: %s, %s%s, %s, %s", cmp.Or(path.Base(m.Command), m.SessionID), how, duration(w.a.sn.LastTS()),
		several, plural(int64(len(w.a.threads)-len(lanes)), "thread"), plural(s.Events[event.FunctionEnter], "recorded call"))
	if missed := calls.Made - calls.Recorded; missed > 0 {
		w.line("%s not recorded (sampled or lost)", plural(missed, "call"))
	}
}

// processes tells of those that came and went.
func (w *summaryWriter) processes() error {
	if !w.a.several {
		return nil
	}
	type process struct {
		pid  int32
		text []string
	}
	var all []*process
	n := 0
	f := store.Filter{Kinds: 1 << event.Process}
	err := w.a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		var e struct {
			What     string `json:"what"`
			ExitCode *int   `json:"exitCode"`
			Signal   string `json:"signal"`
			Command  string `json:"command"`
		}
		n++
		if json.Unmarshal(row.Payload, &e) != nil {
			return true
		}
		pid := w.a.thread(row.Thread).PID
		i := slices.IndexFunc(all, func(p *process) bool { return p.pid == pid })
		if i < 0 {
			all = append(all, &process{pid: pid})
			i = len(all) - 1
		}
		text := e.What
		switch {
		case e.Signal != "":
			text = "died of " + e.Signal
		case e.ExitCode != nil:
			text = fmt.Sprintf("%s %d", e.What, *e.ExitCode)
		case e.Command != "":
			text += " " + shortCommand(e.Command)
		}
		all[i].text = append(all[i].text, text)
		return n < 1000
	})
	if err != nil {
		return err
	}
	var items []string
	odd := func(p *process) int { // those that failed first
		last := p.text[len(p.text)-1]
		return btoi(last == "exit 0" || !strings.HasPrefix(last, "exit") && !strings.HasPrefix(last, "died"))
	}
	sorting.By(all, func(x, y *process) int { return odd(x) - odd(y) })
	for _, p := range all {
		items = append(items, fmt.Sprintf("%d %s", p.pid, strings.Join(p.text[max(0, len(p.text)-3):], ", ")))
	}
	w.items("processes: ", items)
	return nil
}

// maxCommand bounds a command line in a list of processes, in bytes.
const maxCommand = 80

// shortCommand is a command line without the folders of its program, whose name is in quotes where it has blanks.
func shortCommand(line string) string {
	name, rest, _ := strings.Cut(line, " ")
	if quoted, err := strconv.QuotedPrefix(line); err == nil {
		if text, err := strconv.Unquote(quoted); err == nil {
			name, rest = strconv.Quote(path.Base(text)), strings.TrimPrefix(line[len(quoted):], " ")
		}
	}
	return cut(strings.TrimSpace(path.Base(name)+" "+rest), maxCommand)
}

// items writes a list of at most maxTold.
func (w *summaryWriter) items(head string, items []string) {
	if len(items) == 0 {
		return
	}
	more := ""
	if n := len(items) - maxTold; n > 0 {
		items, more = items[:maxTold], fmt.Sprintf(" …+%d", n)
	}
	w.line("%s%s%s", head, strings.Join(items, "; "), more)
}

func (w *summaryWriter) crash() error {
	e, err := w.a.crash()
	if err != nil || e == nil {
		return err
	}
	get := func(name string) string {
		for _, m := range e.Data {
			var s string
			if m.Name == name && json.Unmarshal(m.Value, &s) == nil {
				return s
			}
			if m.Name == name {
				return string(m.Value)
			}
		}
		return ""
	}
	at := get("function")
	if line := get("line"); line != "" {
		at += fmt.Sprintf(" (%s:%s)", path.Base(get("sourceFile")), line)
	}
	w.leads, w.crashed = append(w.leads, e.ID), true
	w.line("crash #%d: %s", e.ID, strings.Join(slices.DeleteFunc([]string{cmp.Or(get("signal"), get("class")),
		cut(get("reason"), 160), at, cut(get("locals"), 120)}, func(s string) bool { return s == "" }), ", "))
	return nil
}

// exceptions counts what was thrown by its line, and names the first of each.
func (w *summaryWriter) exceptions() error {
	if w.a.st.Stats().Events[event.Exception] == 0 {
		return nil
	}
	type thrown struct {
		text  string
		n     int
		first event.ID
	}
	var all []*thrown
	n, other := 0, 0
	f := store.Filter{Kinds: 1 << event.Exception}
	err := w.a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		n++
		text := cut(w.a.other(row), lineText)
		if i := slices.IndexFunc(all, func(t *thrown) bool { return t.text == text }); i >= 0 {
			all[i].n++
		} else if len(all) < 64 {
			all = append(all, &thrown{text, 1, row.ID})
		} else {
			other++
		}
		return n < maxExceptions
	})
	if err != nil {
		return err
	}
	sorting.By(all, func(x, y *thrown) int { return cmp.Compare(x.n, y.n) })
	for i, t := range all {
		if i == 0 && !w.crashed {
			w.leads = append(w.leads, t.first)
		}
		if i == maxTold {
			w.line("exceptions: %d more kinds", len(all)-i)
			break
		}
		w.line("exception ×%d, first #%d: %s", t.n, t.first, t.text)
	}
	if other > 0 || n == maxExceptions {
		w.line("exceptions: %d of other kinds among the first %d", other, n)
	}
	return nil
}

// functions tells which took longest, which were called most, and which were left by exceptions.
func (w *summaryWriter) functions() error {
	all := w.a.st.FuncStats()
	all = slices.DeleteFunc(all, func(s store.FuncStat) bool { return s.Made() == 0 })
	if len(all) == 0 {
		w.line("no calls were traced")
		return nil
	}
	pick := func(head string, by func(s *store.FuncStat) int64, show func(s *store.FuncStat) string) {
		sorting.By(all, func(x, y store.FuncStat) int { return cmp.Compare(by(&y), by(&x)) })
		var items []string
		for i := range all {
			if by(&all[i]) > 0 {
				items = append(items, cut(w.a.fn(all[i].Func).Name, 80)+" "+show(&all[i]))
			}
		}
		w.items(head, items)
	}
	pick("most called: ", func(s *store.FuncStat) int64 { return s.Made() },
		func(s *store.FuncStat) string { return fmt.Sprintf("×%d", s.Made()) })
	pick("most time of their own: ", func(s *store.FuncStat) int64 { return s.SelfNs },
		func(s *store.FuncStat) string { return duration(s.SelfNs) })
	pick("slowest calls (p99): ", func(s *store.FuncStat) int64 { return s.Quantile(0.99) },
		func(s *store.FuncStat) string { return duration(s.Quantile(0.99)) })
	pick("left by exceptions: ", func(s *store.FuncStat) int64 { return s.Errors },
		func(s *store.FuncStat) string { return fmt.Sprintf("×%d", s.Errors) })
	return nil
}

// outputTail shows the end of what the program wrote.
func (w *summaryWriter) outputTail() error {
	f := store.Filter{Kinds: 1<<event.Stdout | 1<<event.Stderr}
	var pieces []string
	n, size := 0, 0
	err := w.a.sn.Scan(w.a.ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(row *store.Row) bool {
		n++
		text := string(row.Payload)
		if noText(row.Payload) {
			text = fmt.Sprintf("(%d bytes that are no text)", len(row.Payload))
		}
		if row.Kind == event.Stderr {
			text = "! " + text
		}
		pieces = append(pieces, text)
		size += len(text)
		return n < tailScan && size < 4*tailBytes
	})
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	slices.Reverse(pieces)
	var lines []string
	for l := range strings.SplitSeq(strings.ToValidUTF8(strings.Join(pieces, "\n"), "?"), "\n") {
		if strings.TrimSpace(l) != "" {
			lines = append(lines, cut(l, 100))
		}
	}
	lines = lines[max(0, len(lines)-tailLines):]
	for size := 0; len(lines) > 0; lines = lines[1:] {
		if size = len(strings.Join(lines, "\n")); size <= tailBytes {
			break
		}
	}
	if len(lines) > 0 {
		w.line("end of output (!: stderr):\n  %s", strings.Join(lines, "\n  "))
	}
	return nil
}

// noText reports output that is none: a picture, an archive. Colours and other commands for terminals are text.
func noText(b []byte) bool {
	b = b[:min(len(b), 512)]
	strange := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		cut := i+utf8.UTFMax > len(b) // perhaps the rest of it is there
		if r == utf8.RuneError && n == 1 && !cut || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\a\x1b", r) {
			strange++
		}
		i += n
	}
	return strange > 2 && strange*5 > len(b)
}

// odd tells of results that few calls of a function have, and of calls without an end.
func (w *summaryWriter) odd(parts []part) (notes []string, err error) {
	g, err := w.a.gatherResults(parts)
	if err != nil {
		return nil, err
	}
	var rules []columns.Rule
	at := map[*columns.Column]*calls{}
	var open []string
	for _, c := range g.all {
		r, _ := c.table.Rules()
		for _, one := range r {
			if one.Broken > 0 && len(one.Columns) > 0 {
				rules = append(rules, one)
				at[one.Columns[0]] = c
			}
		}
		if n := int64(len(c.table.Rows)) - c.ended; n > 0 {
			i := slices.IndexFunc(c.table.Rows, func(r columns.Row) bool { return r.Exit == 0 })
			open = append(open, fmt.Sprintf("%s ×%d (#%d)", cut(c.name, 80), n, c.table.Rows[i].Enter))
		}
	}
	sorting.By(rules, func(x, y columns.Rule) int { return cmp.Compare(y.Surprise, x.Surprise) })
	var items []string
	for i, r := range rules[:min(len(rules), maxTold+1)] {
		c := at[r.Columns[0]]
		reader, err := w.a.readCalls(c.table, []int{r.Breaks[0].Row})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			w.leads = append(w.leads, c.table.Rows[r.Breaks[0].Row].Enter)
		}
		items = append(items, fmt.Sprintf("%s: %s in %d of %d, not %s", cut(c.name, 80), r.Text, r.Calls-r.Broken, r.Calls,
			reader.broke(c.table, &r, r.Breaks[0])))
	}
	w.items("calls without an end: ", open)
	for _, item := range items[:min(len(items), maxTold)] {
		w.line("odd: %s", item)
	}
	if n := len(rules) - maxTold; n > 0 {
		w.line("%d more odd results; view invariants has those and the arguments", n)
	}
	return g.notes(), nil
}
