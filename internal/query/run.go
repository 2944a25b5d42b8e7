package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// Result is the answer to a Request.
type Result struct {
	Events []Event `json:"events"`
	Tree   string  `json:"tree,omitempty"`  // view tree
	Stats  string  `json:"stats,omitempty"` // view stats, a table as text
	Text   string  `json:"text,omitempty"`  // the other views
	First  any     `json:"first,omitempty"` // view diff of two sessions: the first call that differs
	// what matches, after the cursor if there is one; views tree and table: calls; view stats: functions
	TotalCount int64 `json:"totalCount"`
	HasMore    bool  `json:"hasMore"` // more match than are shown
	// cursor for the next page: everything up to it was shown or does not match
	LastEventID int64   `json:"lastEventId,omitempty"`
	PIDs        []int32 `json:"pids,omitempty"` // when the session has several processes
	// events after the cursor that the session's limit dropped unread
	EventsDropped int64    `json:"eventsDropped,omitempty"`
	Crash         *Event   `json:"crash,omitempty"`   // the newest crash, in short
	Sampled       *Sampled `json:"sampled,omitempty"` // functions whose calls were not all recorded
	Lost          *Lost    `json:"dropped,omitempty"` // functions whose calls were lost
	Hint          string   `json:"hint,omitempty"`
	Rows          []Stat   `json:"-"` // view stats, for front ends that draw their own table
}

// Env is what a question needs of the session. Every field may be zero.
type Env struct {
	Now      func() int64                // nanoseconds since the session's start; nil once it has ended
	Flush    func(context.Context) error // brings what the target has done into the store; nil: the store's own Flush
	Warnings func() []string             // said in the answer's hint; nil: nothing is
	Ended    func() bool                 // reports that nothing more can come, so waiting is over; nil: it can
	Paused   func() string               // where threads are paused, "" where none is; nil: nobody knows
	Traced   func() bool                 // reports whether there are patterns for calls; nil: there are none
	Redacted func() int64                // values left out as secrets; nil: not known
	// Other is the session that Request.Against names, and Like one that ended as it did: what differs between these two
	// is left out. nil: none is named.
	Other, Like *store.Store
	// Absent looks for a function in the program's files; nil: they are not there.
	Absent func(context.Context, AbsentQuestion) (*Absent, error)
	// Once reports whether it was not asked for this key before by the same client: what was said is said shorter. nil: it
	// was not.
	Once func(key string) bool
	// Busy reports whether a Flush takes a CPU that the target wants: who waits for anything but calls is told a little
	// later then. nil: it does not.
	Busy func() bool
}

func (e *Env) once(key string) bool { return e.Once == nil || e.Once(key) }

// maxPIDs bounds the processes that an answer names: a build has thousands.
const maxPIDs = 16

// maxAnswer bounds the events of an answer in bytes, unless it is verbose: what a reader with few tokens bears.
const maxAnswer = 60 << 10

// maxVerbose bounds the captured bytes in a verbose answer. It is large: who asks for whole texts wants them, and our
// own command line relays a program's output so.
const maxVerbose = 4 << 20

// How long a waiting question rests between looks: at least pollMin, so that a busy store is not asked all the
// time; at most pollMax, so that records still in the target's rings are fetched, and pollBusy where that is in the
// target's way.
const (
	pollMin  = 5 * time.Millisecond
	pollMax  = 100 * time.Millisecond
	pollBusy = time.Second
)

// Run answers req from st. Errors are faults: VALIDATION_ERROR for a request that cannot be meant, the context's
// error (wrapped) when ctx ends first.
func Run(ctx context.Context, st *store.Store, req Request, env Env) (*Result, error) {
	f, err := compile(req)
	if err != nil {
		return nil, err
	}
	if f.req.View == "request" {
		if err := flush(ctx, st, env); err != nil {
			return nil, err
		}
		one, err := ReadSockets(ctx, st, f.req.Under)
		if err != nil {
			return nil, err
		}
		return Requests(f.req, []*SocketCalls{one})
	}
	var timeout <-chan time.Time
	if f.req.WaitMs > 0 {
		t := time.NewTimer(time.Duration(f.req.WaitMs) * time.Millisecond)
		defer t.Stop()
		timeout = t.C
	}
	var seen event.ID
	var flushed time.Time
	for last := timeout == nil; ; {
		ended := env.Ended != nil && env.Ended() // before the flush: what came until then is in it
		if last || ended || !f.aside(env) || time.Since(flushed) >= pollBusy {
			if err := flush(ctx, st, env); err != nil {
				return nil, err
			}
			flushed = time.Now()
		}
		res, upTo, err := ask(ctx, st, f, env, seen, last || ended)
		if err != nil || res != nil {
			return res, err
		}
		most := pollMax
		if f.aside(env) {
			most = pollBusy
		}
		if last, err = rest(ctx, st, upTo, timeout, most); err != nil {
			return nil, err
		}
		seen = upTo
	}
}

// aside reports whether the target is busy with calls, which the question is not of: what is decoded then is in its
// way.
func (f *filters) aside(env Env) bool {
	const calls = 1<<event.FunctionEnter | 1<<event.FunctionExit
	return f.kinds != 0 && f.kinds&calls == 0 && env.Busy != nil && env.Busy()
}

func flush(ctx context.Context, st *store.Store, env Env) error {
	if env.Flush == nil {
		env.Flush = st.Flush
	}
	if err := env.Flush(ctx); err != nil {
		return fmt.Errorf("flush events: %w", err)
	}
	return nil
}

// rest waits until the store has events after upTo, and reports whether time is up. Events that are still
// in the target's rings do not wake it: it returns after most in any case.
func rest(ctx context.Context, st *store.Store, upTo event.ID, timeout <-chan time.Time, most time.Duration) (last bool,
	err error) {
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	woken := make(chan error, 1)
	go func() { woken <- st.Wait(wait, upTo) }()
	pause := time.NewTimer(pollMin)
	defer pause.Stop()
	select {
	case <-timeout:
		last = true
		cancel()
		err = <-woken
	case err = <-woken:
		select {
		case <-timeout:
			last = true
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return false, fmt.Errorf("wait for events: %w", ctx.Err())
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return false, fmt.Errorf("wait for events: %w", err)
	}
	return last, nil
}

// ask answers from one snapshot, in the size that was asked for.
func ask(ctx context.Context, st *store.Store, f *filters, env Env, seen event.ID, final bool) (res *Result,
	upTo event.ID, err error) {
	if once := env.Once; once != nil { // of an answer that is made again
		said := map[string]bool{}
		env.Once = func(key string) bool {
			if _, ok := said[key]; !ok {
				said[key] = once(key)
			}
			return said[key]
		}
	}
	for reserve, n := 0, 0; ; n++ {
		var over int
		res, upTo, over, err = askWith(ctx, st, f, env, seen, final, reserve)
		if reserve += over + fitStep; err != nil || over <= 0 || n == fits {
			return res, upTo, err
		}
	}
}

// askWith answers from one snapshot in a budget that is smaller by reserve, and says how far the answer is over it.
// Unless final, it returns no result when nothing matches; upTo is the newest event it
// looked at.
func askWith(ctx context.Context, st *store.Store, f *filters, env Env, seen event.ID, final bool, reserve int) (
	res *Result, upTo event.ID, over int, err error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	a := newAsker(ctx, st, sn, f)
	a.reserve = reserve
	if seen > 0 && f.req.View != "summary" { // which tells of all
		a.skipTo = seen + 1
	}
	upTo = sn.LastID()
	if err := a.findProcesses(); err != nil {
		return nil, upTo, 0, fmt.Errorf("look for processes: %w", err)
	}
	var parts []part
	if f.req.View != "why" { // which is of any event, and of nothing else
		if err := a.findUnder(); err != nil {
			return nil, upTo, 0, err
		}
		if parts, err = a.plan(); err != nil {
			return nil, upTo, 0, err
		}
	}
	res = &Result{Events: []Event{}}
	var notes []string
	switch f.req.View {
	case "tree":
		notes, err = a.tree(parts, res)
	case "stats":
		notes, err = a.stats(parts, res)
	case "table":
		notes, err = a.callTable(parts, res)
	case "invariants":
		if env.Other != nil {
			notes, err = a.invariantsOfOther(parts, res, env)
		} else {
			notes, err = a.invariants(parts, res)
		}
	case "summary":
		notes, err = a.summary(parts, res, final, &env)
	case "diff":
		if env.Other != nil {
			notes, err = a.contrastSessions(parts, res, env)
		} else {
			notes, err = a.contrast(parts, res)
		}
	case "why":
		notes, err = a.why(res)
	case "check":
		notes, err = a.check(parts, res)
	case "coverage":
		notes = a.coverage(res)
	case "threads":
		notes, err = a.threadSums(res, env.Now)
	case "missing":
		notes, err = a.missing(res, env.Absent)
	case "object":
		notes, err = a.objectView(res)
	default:
		notes, err = a.list(parts, res)
	}
	if err != nil {
		return nil, upTo, 0, err
	}
	if res.TotalCount == 0 && !final {
		return nil, upTo, 0, nil
	}
	if err := a.complete(res, notes, env); err != nil {
		return nil, upTo, 0, err
	}
	return res, upTo, a.over(res), nil
}

// list is view events.
func (a *asker) list(parts []part, res *Result) (notes []string, err error) {
	r := &a.req
	var rows []store.Row
	if r.Order == "thread" {
		rows, res.TotalCount, err = a.threadPage(parts, r.Offset, r.Limit)
	} else {
		rows, res.TotalCount, err = a.page(parts, r.Offset, r.Limit)
	}
	if err != nil {
		return nil, err
	}
	if res.Events, err = a.events(rows); err != nil {
		return nil, err
	}
	limit, cutShort := "4 MB", len(res.Events) < len(rows)
	if !r.Verbose || r.MaxTokens > 0 {
		note, fitted, err := res.fit(a.budget())
		if err != nil {
			return nil, err
		}
		if fitted {
			limit, cutShort = "60 KB", true
			if r.MaxTokens > 0 {
				limit = fmt.Sprintf("%d tokens (maxTokens)", r.MaxTokens)
			}
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	n := len(res.Events)
	for i := range res.Events {
		res.LastEventID = max(res.LastEventID, res.Events[i].ID)
	}
	if res.HasMore = res.TotalCount > int64(r.Offset+n); !res.HasMore && r.Order == "time" {
		res.LastEventID = a.sn.LastID() // nothing up to there is left, so that the next look need not go over it again
	}
	if cutShort {
		notes = append(notes, fmt.Sprintf("Cut to %d events at %s.", n, limit))
	}
	notes = append(append(notes, a.asked.notes()...), a.goOn(res)...)
	odd, err := a.oddRest(parts, res)
	return append(notes, odd...), err
}

// goOn says how to see the rest of a list.
func (a *asker) goOn(res *Result) []string {
	r := &a.req
	n := len(res.Events)
	switch {
	case !res.HasMore:
		return nil
	case n == 0:
		return []string{fmt.Sprintf("offset %d is beyond the last of %d.", r.Offset, res.TotalCount)}
	case r.Order == "thread":
		return []string{fmt.Sprintf("Showing %d of %d; go on with offset %d.", n, res.TotalCount, r.Offset+n)}
	case r.AfterEventID != nil:
		return []string{fmt.Sprintf("Showing %d of %d after event %d; go on with afterEventId %d.", n, res.TotalCount,
			*r.AfterEventID, res.LastEventID)}
	}
	hint := fmt.Sprintf("Showing %d of %d", n, res.TotalCount)
	if r.Offset > 0 {
		hint += fmt.Sprintf(" from offset %d", r.Offset)
	} else {
		hint += ", oldest first"
	}
	hint += fmt.Sprintf("; go on with afterEventId %d", res.LastEventID)
	if !a.from.set {
		hint += `; newest: timeFrom "-5s"`
	}
	return []string{hint + "; in short: view tree or stats."}
}

// complete adds what every answer tells.
func (a *asker) complete(res *Result, notes []string, env Env) error {
	r := &a.req
	if a.clamped {
		notes = append(notes, fmt.Sprintf("limit was cut to %d.", MaxLimit))
	}
	if err := a.dropped(res); err != nil {
		return err
	}
	if r.AfterEventID == nil && r.Under == 0 {
		if s := a.st.Stats(); s.Evicted > 0 && (a.kinds == 0 || a.kinds&callKinds != 0) {
			notes = append(notes, fmt.Sprintf("The session's limit dropped its %d oldest call events; the oldest call kept is "+
				"event %d.", s.Evicted, a.sn.FirstCallID()))
		}
	}
	if note := a.sampled(res); note != "" {
		if env.once("sampled") {
			notes = append(notes, note)
		} else {
			res.Sampled.Functions, res.Sampled.More = nil, 0
		}
	}
	if note := a.lostCalls(res); note != "" {
		notes = append(notes, note)
	} else {
		lost, err := a.lost()
		if err != nil {
			return err
		}
		if lost != "" {
			notes = append(notes, lost)
		}
	}
	if res.TotalCount == 0 && res.Tree+res.Text == "" {
		why, err := a.explain()
		if err != nil {
			return err
		}
		notes = append([]string{why}, notes...)
	}
	pids := map[int32]bool{}
	if a.pid != 0 {
		pids[a.pid] = true
		res.PIDs = append(res.PIDs, a.pid)
	}
	for _, t := range a.threads {
		if !pids[t.PID] && t.PID != 0 {
			pids[t.PID] = true
			res.PIDs = append(res.PIDs, t.PID)
		}
	}
	if n := len(res.PIDs); n < 2 {
		res.PIDs = nil
	} else if n > maxPIDs {
		res.PIDs = res.PIDs[:maxPIDs]
		notes = append(notes, fmt.Sprintf("%d processes, the first %d are in pids; eventType process lists all.", n, maxPIDs))
	}
	if a.kinds != 1<<event.Crash && r.View != "summary" && r.View != "why" { // which tells of it in its own way
		crash, err := a.crash()
		if err != nil {
			return err
		}
		res.Crash = crash
		if crash != nil && !env.once(fmt.Sprintf("crash %d", crash.ID)) {
			crash.again()
		}
	}
	if res.TotalCount == 0 && env.Paused != nil {
		if where := env.Paused(); where != "" {
			notes = append(notes, where)
		}
	}
	if env.Warnings != nil {
		notes = append(notes, env.Warnings()...)
	}
	res.Hint = strings.Join(notes, " ")
	return nil
}

// dropped counts what the session's limit took from behind the cursor before it was read, up to the next cursor, so
// that the numbers of several pages add up. Ids are dense and only calls are dropped: what is missing below the
// oldest call is gone.
func (a *asker) dropped(res *Result) error {
	if a.req.AfterEventID == nil {
		return nil
	}
	after, first := *a.req.AfterEventID, a.sn.FirstCallID()
	if first == 0 && a.st.Stats().Evicted > 0 {
		first = a.sn.LastID() + 1
	}
	upTo := first - 1
	if res.HasMore && res.LastEventID != 0 {
		upTo = min(upTo, res.LastEventID)
	}
	if upTo <= after {
		return nil
	}
	kept, err := a.sn.Count(a.ctx, store.Filter{FromID: after + 1, ToID: upTo})
	if err != nil {
		return fmt.Errorf("count dropped events: %w", err)
	}
	res.EventsDropped = upTo - after - kept
	return nil
}

// maxLostRows bounds the loss reports that are added up for one answer.
const maxLostRows = 10000

// lost says how many events never reached the store, from the loss reports in the timeline.
func (a *asker) lost() (string, error) {
	if a.st.Stats().Events[event.Dropped] == 0 {
		return "", nil
	}
	var total int64
	reports := 0
	f := store.Filter{Kinds: 1 << event.Dropped}
	if a.req.AfterEventID != nil {
		f.FromID = *a.req.AfterEventID + 1
	}
	err := a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		var loss struct {
			Count int64 `json:"count"`
		}
		if json.Unmarshal(row.Payload, &loss) == nil {
			total += loss.Count
		}
		reports++
		return reports < maxLostRows
	})
	if err != nil || reports == 0 {
		return "", err
	}
	where := "in the session"
	if a.req.AfterEventID != nil {
		where = "after the cursor"
	}
	more := ""
	if reports == maxLostRows {
		more = "at least "
	}
	return fmt.Sprintf("%s%d call events %s were lost before they were stored (eventType dropped says when).", more, total,
		where), nil
}
