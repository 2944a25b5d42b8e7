package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/near"
)

// explain says why nothing matches: what the session holds, which filter left nothing, and what to ask next.
func (a *asker) explain() (string, error) {
	s := a.st.Stats()
	if s.Total() == 0 {
		return "The session has no events yet. Output and exits come by themselves, calls need patterns: debug_trace add. " +
			"Or wait: waitMs.", nil
	}
	have := a.inventory()
	if why := a.noFunction(); why != "" {
		return why + " " + have, nil
	}
	if a.wantedKinds() == 0 {
		return a.conflict() + " " + have, nil
	}
	why, err := a.culprit()
	if err != nil {
		return "", err
	}
	return why + " " + have, nil
}

// inventory counts what is there by kind.
func (a *asker) inventory() string {
	s := a.st.Stats()
	var have []string
	for k := event.FunctionEnter; k < event.NumKinds; k++ {
		if n := s.Events[k]; n > 0 {
			have = append(have, fmt.Sprintf("%d %s", n, k))
		}
	}
	return "The session has recorded " + strings.Join(have, ", ") + "."
}

// noFunction explains function and sourceFile filters that no function, or no called one, fulfils.
func (a *asker) noFunction() string {
	set := a.functions()
	if set == nil {
		return ""
	}
	if set.Len() > 0 {
		called := a.called()
		var calls int64
		for i := range a.fns {
			if set.Has(uint32(i)) {
				calls += called[event.FuncID(i)]
			}
		}
		if calls > 0 {
			return ""
		}
		return fmt.Sprintf("%s selects %d traced functions, but none was called. Call debug_session status to see that the "+
			"patterns are active, or wait: waitMs.", a.nameFilters(), set.Len())
	}
	if len(a.fns) == 0 {
		return a.nameFilters() + " selects nothing: no function was traced yet. Call debug_trace add first."
	}
	out := fmt.Sprintf("%s matches none of the %d functions seen", a.nameFilters(), len(a.fns))
	var names, files []string
	known := map[string]bool{}
	for i := range a.fns {
		names = append(names, a.fns[i].Name)
		if f := a.fns[i].File; f != "" && !known[f] {
			known[f] = true
			files = append(files, f)
		}
	}
	var like []string
	if f := a.req.Function; f != nil {
		like = near.Parts(f.Equals+f.Contains+f.Matches, names, 3)
	} else if f := a.req.SourceFile; f != nil {
		like = near.Parts(f.Equals+f.Contains, files, 3)
		names = files
	}
	if len(like) > 0 {
		return out + "; did you mean " + strings.Join(like, ", ") + "?"
	}
	return out + ", such as " + strings.Join(names[:min(3, len(names))], ", ") + "."
}

// called returns how often each function was entered.
func (a *asker) called() map[event.FuncID]int64 {
	n := make(map[event.FuncID]int64)
	for _, s := range a.st.FuncStats() {
		n[s.Func] = s.Made()
	}
	return n
}

func (a *asker) nameFilters() string {
	var s []string
	add := func(field, op, v string) {
		if v != "" {
			s = append(s, fmt.Sprintf("%s %s %q", field, op, excerpt([]byte(v))))
		}
	}
	if f := a.req.Function; f != nil {
		add("function", "equals", f.Equals)
		add("function", "contains", f.Contains)
		add("function", "matches", f.Matches)
	}
	if f := a.req.SourceFile; f != nil {
		add("sourceFile", "equals", f.Equals)
		add("sourceFile", "contains", f.Contains)
	}
	return strings.Join(s, " and ")
}

// conflict explains filters that ask for different kinds of events.
func (a *asker) conflict() string {
	r := &a.req
	var s []string
	if len(r.EventType) > 0 {
		s = append(s, "eventType "+strings.Join(r.EventType, ", "))
	}
	if r.Function != nil || r.SourceFile != nil {
		s = append(s, "function and sourceFile (calls only)")
	}
	if r.Text != nil {
		s = append(s, "text (output and messages only)")
	}
	if r.Channel != "" {
		s = append(s, "channel (output, data, state and channel only)")
	}
	if len(a.message) > 0 {
		s = append(s, "message (events with an object of their own only)")
	}
	if a.ret != nil {
		s = append(s, "returnValue (function_exit only)")
	}
	if r.MinDurationNs > 0 || r.MaxDurationNs > 0 {
		s = append(s, "durations (function_exit only)")
	}
	if a.arg != nil {
		s = append(s, "argument (calls only)")
	}
	return "These filters exclude each other: " + strings.Join(s, "; ") + ". Leave one out."
}

// culprit adds the filters one by one and names the first that left nothing.
func (a *asker) culprit() (string, error) {
	full := *a.filters
	bare := full
	bare.req = Request{View: full.req.View, Order: "time", Limit: 1}
	bare.kinds, bare.ret, bare.arg, bare.message = 0, nil, nil, nil
	bare.from, bare.to = moment{}, moment{}
	steps := []struct {
		name string
		set  bool
		add  func(*filters)
	}{
		{"eventType " + strings.Join(full.req.EventType, ", "), full.kinds != 0,
			func(f *filters) { f.kinds = full.kinds; f.req.EventType = full.req.EventType }},
		{a.nameFilters(), full.req.Function != nil || full.req.SourceFile != nil,
			func(f *filters) { f.req.Function, f.req.SourceFile = full.req.Function, full.req.SourceFile }},
		{"the thread or pid", full.req.ThreadID != nil || full.req.ThreadName != nil || full.req.PID != nil,
			func(f *filters) {
				f.req.ThreadID, f.req.ThreadName, f.req.PID = full.req.ThreadID, full.req.ThreadName, full.req.PID
			}},
		{"channel " + full.req.Channel, full.req.Channel != "", func(f *filters) { f.req.Channel = full.req.Channel }},
		{"message", len(full.message) > 0, func(f *filters) { f.message = full.message }},
		{"text", full.req.Text != nil, func(f *filters) { f.req.Text = full.req.Text }},
		{"the duration", full.req.MinDurationNs > 0 || full.req.MaxDurationNs > 0, func(f *filters) {
			f.req.MinDurationNs, f.req.MaxDurationNs = full.req.MinDurationNs, full.req.MaxDurationNs
		}},
		{"returnValue", full.ret != nil, func(f *filters) { f.ret, f.req.ReturnValue = full.ret, full.req.ReturnValue }},
		{"argument", full.arg != nil, func(f *filters) { f.arg, f.req.Argument = full.arg, full.req.Argument }},
		{"under", full.req.Under != 0, func(f *filters) { f.req.Under = full.req.Under }},
		{"the time range", full.from.set || full.to.set, func(f *filters) { f.from, f.to = full.from, full.to }},
		{"afterEventId", full.req.AfterEventID != nil, func(f *filters) { f.req.AfterEventID = full.req.AfterEventID }},
	}
	probe := *a
	probe.filters, probe.skipTo = &bare, 0
	before, last := int64(-1), -1
	for i := range steps {
		if steps[i].set {
			last = i
		}
	}
	var passed []string
	for i, step := range steps {
		if !step.set {
			continue
		}
		if before < 0 {
			n, err := probe.total()
			if err != nil {
				return "", err
			}
			before = n
		}
		step.add(&bare)
		if i == last { // all filters together: known to leave nothing
			return a.blame(step.name, before, passed), nil
		}
		n, err := probe.total()
		if err != nil {
			return "", err
		}
		if n == 0 {
			return a.blame(step.name, before, passed), nil
		}
		before, passed = n, append(passed, step.name)
	}
	if full.req.View != "events" {
		if len(a.fns) == 0 {
			return fmt.Sprintf("No function that is traced has run. @usercode is the code below %s, without installed packages "+
				"(site-packages, node_modules, jars); others are traced by their names (C++, Rust a::b; Go, Python, JavaScript, "+
				"Java a.b).", a.st.Meta().ProjectRoot), nil
		}
		return "No call matches.", nil
	}
	return "Nothing matches.", nil
}

func (p *asker) total() (int64, error) {
	parts, err := p.plan()
	if err != nil {
		return 0, err
	}
	return p.count(parts)
}

func (a *asker) blame(name string, before int64, passed []string) string {
	left := fmt.Sprintf("Of %d events", before)
	if len(passed) > 0 {
		left = fmt.Sprintf("Of %d events that pass %s", before, strings.Join(passed, " and "))
	}
	switch name {
	case "afterEventId":
		return fmt.Sprintf("Nothing new after event %d; the newest is %d. Wait for more with waitMs.", *a.req.AfterEventID,
			a.sn.LastID())
	case "the time range":
		return fmt.Sprintf("%s, none is in the time range; the newest event is at %d ns.", left, a.sn.LastTS())
	case "argument":
		return a.noArgument(left)
	case "the thread or pid":
		return left + ", none is of that thread; there are " + a.threadList() + "."
	}
	if strings.HasPrefix(name, "eventType") {
		return fmt.Sprintf("There is no %s.", strings.Join(a.req.EventType, ", "))
	}
	return left + ", " + name + " left none."
}

func (a *asker) noArgument(left string) string {
	set := a.withArgument(a.functions())
	if set.Len() > 0 {
		return fmt.Sprintf("%s, argument left none; %d functions have an argument %q.", left, set.Len(),
			excerpt([]byte(a.req.Argument.Name)))
	}
	var names []string
	seen := map[string]bool{}
	among := a.functions()
	for i := range a.fns {
		if among != nil && !among.Has(uint32(i)) {
			continue
		}
		for _, arg := range a.fn(event.FuncID(i)).Parameters() {
			if len(names) < 8 && !seen[arg.Name] {
				seen[arg.Name] = true
				names = append(names, arg.Name)
			}
		}
	}
	if len(names) == 0 {
		return "The selected functions have no known arguments."
	}
	return fmt.Sprintf("No selected function has an argument %q; there are %s.", excerpt([]byte(a.req.Argument.Name)),
		strings.Join(names, ", "))
}

func (a *asker) threadList() string {
	if len(a.threads) == 0 {
		return "no known threads"
	}
	var s []string
	for i, t := range a.threads {
		if i == 8 {
			s = append(s, fmt.Sprintf("%d more", len(a.threads)-i))
			break
		}
		s = append(s, strings.TrimSpace(fmt.Sprintf("%d/%d %s", t.PID, t.TID, t.Name)))
	}
	return "pid/thread " + strings.Join(s, ", ")
}
