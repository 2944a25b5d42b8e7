package query

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/switches"
)

// notSwitched is what view threads says of a session that did not record it.
const notSwitched = "When threads ran and waited was not recorded: debug_launch or debug_trace with pattern " +
	"@switches does. What they do now: debug_session status with threads.\n"

// checkThreads prepares view threads.
func (f *filters) checkThreads() error {
	r := f.req
	if r.View != "threads" {
		return nil
	}
	whole := Request{SessionID: r.SessionID, View: r.View, Order: r.Order, Limit: r.Limit, MaxTokens: r.MaxTokens,
		WaitMs: r.WaitMs, Verbose: r.Verbose, Cursor: r.Cursor, TimeFrom: r.TimeFrom, TimeTo: r.TimeTo,
		ThreadID: r.ThreadID, PID: r.PID, ThreadName: r.ThreadName, Offset: r.Offset}
	if !reflect.DeepEqual(r, whole) {
		return invalid("view", "Leave the others out.", "threads takes timeFrom, timeTo, threadId, threadName, pid, offset "+
			"and maxTokens")
	}
	return nil
}

// threadSum is one thread of view threads.
type threadSum struct {
	id     event.ThreadID
	thread event.Thread
	sum    switches.Sum
}

// threadSums is view threads: for how long each thread ran, was kept from a CPU and waited, and for what. now: of a
// program that runs.
func (a *asker) threadSums(res *Result, now func() int64) (notes []string, err error) {
	var w store.Filter
	if !a.timeAndCursor(&w) {
		w.ToTS = 1
	}
	readers := map[event.ThreadID]*switches.Reader{}
	var lost uint64
	var last int64
	some, open := false, true
	var bad error
	err = a.sn.Scan(a.ctx, store.Filter{Kinds: 1 << event.Channel}, store.ScanOptions{Cold: true},
		func(row *store.Row) bool {
			if a.stream(row).Channel != switches.Channel {
				return true
			}
			some, open, last = true, true, max(last, row.TS)
			var b *switches.Block
			if b, bad = switches.Read(row.Payload); bad != nil {
				return false
			}
			switch b.What {
			case switches.WhatLost:
				lost += b.Count
			case switches.WhatEnd:
				open = false
			case switches.WhatRan:
				r := readers[row.Thread]
				if r == nil {
					r = switches.NewReader(w.FromTS, w.ToTS)
					readers[row.Thread] = r
				}
				bad = r.Add(b)
			}
			return bad == nil
		})
	if err = cmp.Or(err, a.ctx.Err(), bad); err != nil {
		return nil, fmt.Errorf("read when threads ran: %w", err)
	}
	if !some {
		res.Text = notSwitched
		return nil, nil
	}
	if open && now != nil {
		last = max(last, now())
	}
	var all []threadSum
	for id, r := range readers {
		t := a.thread(id)
		if a.threadFits(t) {
			if s, ok := r.Sum(last); ok {
				all = append(all, threadSum{id, t, s})
			}
		}
	}
	sorting.By(all, func(x, y threadSum) int {
		return cmp.Or(cmp.Compare(y.sum.Running, x.sum.Running), x.thread.Compare(y.thread))
	})
	res.TotalCount = int64(len(all))
	return a.threadTable(res, all, lost), nil
}

// threadFits reports whether a question is about a thread.
func (a *asker) threadFits(t event.Thread) bool {
	r := &a.req
	return (r.ThreadID == nil || *r.ThreadID == int64(t.TID)) && (r.PID == nil || *r.PID == int64(t.PID)) &&
		(r.ThreadName == nil || strings.Contains(t.Name, r.ThreadName.Contains))
}

// maxWaitKinds is how many kinds of waits of a thread are shown.
const maxWaitKinds = 3

// threadTable writes the table.
func (a *asker) threadTable(res *Result, all []threadSum, lost uint64) []string {
	var total switches.Sum
	from, to := int64(1<<62), int64(0)
	for i := range all {
		s := &all[i].sum
		total.Running += s.Running
		total.Runnable += s.Runnable
		total.Unknown += s.Unknown
		total.Switches += s.Switches
		total.Proc = total.Proc || s.Proc
		from, to = min(from, s.From), max(to, s.To)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s from %s on: %s on CPUs, kept from one %s", plural(int64(len(all)), "thread"),
		duration(max(to-from, 0)), duration(min(from, to)), duration(total.Running), duration(total.Runnable))
	if total.Unknown > 0 || lost > 0 {
		fmt.Fprintf(&b, "; %d records lost, %s not known", lost, duration(total.Unknown))
	}
	if total.Proc {
		b.WriteString("; by looks at /proc: sums are exact, single times are not")
	}
	b.WriteString("\nrunning runnable blocked switches thread: waits\n")
	pids := slices.ContainsFunc(all, func(t threadSum) bool { return t.thread.PID != all[0].thread.PID })
	for i := range all {
		t, s := &all[i].thread, &all[i].sum
		fmt.Fprintf(&b, "%s %s %s %d %s %d", duration(s.Running), duration(s.Runnable), duration(s.Blocked), s.Switches,
			cut(t.Name, maxFunctionName), t.TID)
		if pids {
			fmt.Fprintf(&b, " of %d", t.PID)
		}
		b.WriteString(waitsText(s))
		b.WriteByte('\n')
	}
	return a.paged(res, b.String(), a.short())
}

// waitsText says for what a thread waited.
func waitsText(s *switches.Sum) string {
	var parts []string
	told := int64(0)
	for i, w := range s.Waits {
		told += w.Ns
		if i == maxWaitKinds {
			parts = append(parts, fmt.Sprintf("%d more", len(s.Waits)-i))
		}
		if i >= maxWaitKinds {
			continue
		}
		text := duration(w.Ns)
		if w.Count > 1 {
			text += fmt.Sprintf(" in %d, longest %s", w.Count, duration(w.Longest))
		}
		parts = append(parts, text+" "+cut(w.Why, 160))
	}
	if rest := s.Blocked - told; rest > 0 && s.Switches > 0 && len(parts) > 0 {
		parts = append(parts, duration(rest)+" in short ones")
	}
	if s.Longest.Why == "" && s.Longest.Ns > 0 && len(s.Waits) == 0 {
		parts = append(parts, "longest "+duration(s.Longest.Ns))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}
