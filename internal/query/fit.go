package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/value"
)

// answerOverhead is what an answer usually has beside its events, its tree or its table.
const answerOverhead = 250

// leastEvent is what an event may have of an answer at least.
const leastEvent = 600

// leastBody is what they have however small an answer is to be.
const leastBody = 150

// fits is how often an answer that turned out too large is made again, each time smaller by what it was over.
const fits = 5

// fitStep is by how many bytes it is made smaller at least: a line more or less.
const fitStep = 120

// budget is how many bytes the events, the tree or the table of an answer may have.
func (a *asker) budget() int {
	if a.req.MaxTokens == 0 {
		return maxAnswer
	}
	return max(a.req.MaxTokens*TokenBytes-answerOverhead-a.reserve, leastBody)
}

// short is budget of views that are meant to be read at a glance, unless more is asked for.
func (a *asker) short() int {
	if a.req.MaxTokens > DefaultTokens {
		return a.budget()
	}
	return min(summaryBytes, a.budget())
}

// paged puts the lines of a text behind offset into an answer, as many as have room, and says how to go on.
func (a *asker) paged(res *Result, text string, limit int) (notes []string) {
	res.Text, notes = a.linesOf(res, text, limit)
	return notes
}

// linesOf is paged of a text that has another place.
func (a *asker) linesOf(res *Result, text string, limit int) (page string, notes []string) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	all, from := len(lines), min(a.req.Offset, len(lines))
	size, n := 0, 0
	for _, l := range lines[from:] {
		b, err := encode(l)
		if size += len(b) - 2; err != nil || size > limit && n > 0 {
			break
		}
		n++
	}
	page = strings.Join(lines[from:from+n], "")
	switch res.HasMore = res.HasMore || from+n < all; {
	case from+n < all:
		notes = append(notes, fmt.Sprintf("%d of %d lines are shown; offset %d goes on.", n, all, from+n))
	case n == 0 && all > 0:
		notes = append(notes, fmt.Sprintf("offset %d is beyond the last of %d lines.", a.req.Offset, all))
	}
	return page, notes
}

// over is how many bytes an answer has beyond those that were asked for.
func (a *asker) over(res *Result) int {
	if a.req.MaxTokens == 0 {
		return 0
	}
	b, err := encode(res)
	if err != nil {
		return 0 // who writes it says so
	}
	return len(b) - a.req.MaxTokens*TokenBytes
}

// fit takes events off the end until the answer has its size; one event always stays, with its values cut if it is
// larger than all of them may be.
func (res *Result) fit(limit int) (note string, cut bool, err error) {
	size, shortened := 0, 0
	for i := range res.Events {
		e := &res.Events[i]
		b, err := json.Marshal(e)
		if err != nil {
			return "", false, fmt.Errorf("encode event %d: %w", e.ID, err)
		}
		if most := max(limit/4, leastEvent); len(b) > most && limit < maxAnswer {
			e.shorten(most, len(b))
			shortened++
			if b, err = json.Marshal(e); err != nil {
				return "", false, fmt.Errorf("encode event %d: %w", e.ID, err)
			}
		}
		if size += len(b) + 1; size > limit && i > 0 {
			res.Events, cut = res.Events[:i], true
			break
		}
	}
	if shortened > 0 {
		note = "Values were cut to fit: a larger maxTokens, or debug_memory with eventId, has them whole."
	}
	return note, cut, nil
}

// shorten cuts an event of size bytes to about limit.
func (e *Event) shorten(limit, size int) {
	if e.EventType == "crash" {
		fitCrash(e, limit)
		return
	}
	values := 0
	parts := []*value.Object{e.Arguments, &e.Out, &e.WatchValues, &e.Fields}
	for _, o := range parts {
		if o != nil {
			values += len(o.AppendJSON(nil))
		}
	}
	if e.ReturnValue != nil {
		values += len(e.ReturnValue.AppendJSON(nil))
	}
	room := max(limit-(size-values), 100)
	share := func(n int) int { return max(room*n/max(values, 1), 60) }
	for _, o := range parts {
		if o != nil && len(*o) > 0 {
			*o, _ = o.Fit(share(len(o.AppendJSON(nil))))
		}
	}
	if e.ReturnValue != nil {
		v, _ := e.ReturnValue.Fit(share(len(e.ReturnValue.AppendJSON(nil))))
		e.ReturnValue = &v
	}
	if e.Text != nil {
		text := cut(*e.Text, max(limit-300, 100))
		e.Text = &text
	}
	for i := range e.Data {
		if v, err := value.ParseJSON(e.Data[i].Value); err == nil {
			if w, was := v.Fit(max(limit/len(e.Data), 80)); was {
				e.Data[i].Value = w.AppendJSON(nil)
			}
		}
	}
}

// againFields are what an answer says of a crash that it has told before.
var againFields = []string{"signal", "exitCode", "class", "fatal", "function", "sourceFile", "line"}

// again leaves of a crash what names it.
func (e *Event) again() {
	e.Data = slices.DeleteFunc(e.Data, func(m DataMember) bool { return !slices.Contains(againFields, m.Name) })
	e.ThreadName = ""
}
