package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

const (
	maxOddScan  = 100_000 // events of odd kinds that are counted behind a page
	maxOddNamed = 3       // of each kind
)

// oddRest names what is surprising behind the cursor of a page in the order of time: such a page ends where it is full,
// and what matters may be far behind.
func (a *asker) oddRest(parts []part, res *Result) (notes []string, err error) {
	if !res.HasMore || res.LastEventID == 0 || a.req.Order == "thread" {
		return nil, nil
	}
	type kind struct {
		what  string
		kinds uint32
		n     int
		ids   []string
	}
	all := []*kind{
		{what: "crash", kinds: 1 << event.Crash},
		{what: "exception", kinds: 1 << event.Exception},
		{what: "call left by an exception", kinds: 1 << event.FunctionExit},
	}
	n := 0
	for _, p := range parts {
		for _, k := range all {
			q := p
			if q.filter.Kinds &= k.kinds; q.filter.Kinds == 0 || !a.mayBeOdd(q.filter.Kinds) {
				continue
			}
			q.filter.FromID = max(q.filter.FromID, res.LastEventID+1)
			if q.filter.ToID != 0 && q.filter.ToID < q.filter.FromID {
				continue
			}
			err := a.scan(q, func(row *store.Row) bool {
				n++
				if row.Kind == event.FunctionExit && row.Flags&(event.Unwound|event.Lost|event.AtEnd) != event.Unwound {
					return n < maxOddScan
				}
				if k.n++; k.n <= maxOddNamed {
					k.ids = append(k.ids, fmt.Sprintf("#%d", row.ID))
				}
				return n < maxOddScan
			})
			if err != nil {
				return nil, err
			}
		}
	}
	var said []string
	for _, k := range all {
		if k.n > 0 {
			said = append(said, fmt.Sprintf("%s ×%d (%s)", k.what, k.n, strings.Join(k.ids, ", ")))
		}
	}
	if len(said) == 0 {
		return nil, nil
	}
	upTo := ""
	if n >= maxOddScan {
		upTo = fmt.Sprintf(", among the next %d events", maxOddScan)
	}
	return []string{"Behind it: " + strings.Join(said, ", ") + upTo + "."}, nil
}

// mayBeOdd reports whether the session has any such events: else nothing is read.
func (a *asker) mayBeOdd(kinds uint32) bool {
	s := a.st.Stats()
	for k := event.FunctionEnter; k < event.NumKinds; k++ {
		if kinds&(1<<k) != 0 && k != event.FunctionExit && s.Events[k] > 0 {
			return true
		}
	}
	return kinds&(1<<event.FunctionExit) != 0 && a.st.AnyErrors()
}
