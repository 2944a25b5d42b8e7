package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/exchange"
)

// Together puts what sessions did to sockets together, by the first one's clock. Call.Session are places in same; notes
// say how other clocks were fitted to that one, and which sessions were left out.
func Together(sets []*SocketCalls) (same []*SocketCalls, all *exchange.Result, notes []string) {
	var calls []*exchange.Call
	var hosts []string
	for i, s := range sets {
		if i > 0 && len(s.Calls) == 0 {
			continue
		}
		host := s.BootID
		if s.StartMono == 0 && i > 0 { // not known when it began
			host = s.SessionID
		}
		for _, c := range s.Calls {
			c.Session = len(same)
		}
		same, hosts, calls = append(same, s), append(hosts, host), append(calls, s.Calls...)
	}
	clocks := exchange.Fit(calls, hosts)
	same, clocks, notes = fitted(same, clocks)
	calls = calls[:0]
	for i, s := range same {
		for _, c := range s.Calls {
			c.Session = i
		}
		calls = append(calls, s.Calls...)
	}
	return same, exchange.Join(calls, clocks...), notes
}

// fitted leaves those whose times are known by the first one's clock.
func fitted(sets []*SocketCalls, clocks []exchange.Clock) (same []*SocketCalls, of []exchange.Clock, notes []string) {
	ids := map[int][]string{}
	var groups []int
	for i, c := range clocks {
		if ids[c.Group] == nil {
			groups = append(groups, i)
		}
		ids[c.Group] = append(ids[c.Group], sets[i].SessionID)
		if c.Fault == "" {
			same, of = append(same, sets[i]), append(of, c)
		}
	}
	for _, i := range groups {
		c, names := &clocks[i], strings.Join(ids[clocks[i].Group], ", ")
		messages := fmt.Sprintf("%s there and %d back that both ends recorded", plural(int64(c.There), "message"), c.Back)
		switch {
		case c.Group == 0:
		case c.Fault == exchange.NoLine:
			notes = append(notes, fmt.Sprintf("Left out: %s: by %s its clock was set meanwhile or did not run evenly.",
				names, messages))
		case c.Fault != "":
			notes = append(notes, fmt.Sprintf("Left out: %s: another machine or boot has another clock, and %s are too few to "+
				"fit it: %d each way are needed.", names, messages, exchange.MinMessages))
		default:
			notes = append(notes, fmt.Sprintf("Clock of %s fitted to %s's: %+.6f s at the first message, drift %+.2f ppm, "+
				"within %s, by %s.", names, sets[0].SessionID, float64(c.Offset)/1e9, c.Drift*1e6, duration(c.Within),
				messages))
		}
	}
	return slices.Clip(same), of, notes
}
