package query

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// goLine is the line of what a goroutine does, or does to a Go channel: members as iochan's kinds goroutines and
// gochannels have them. "" for anything else.
func goLine(channel string, payload []byte) string {
	var e struct {
		What, Function, Place, Reason, On, Chosen string
		Goroutine, WokenBy                        uint64
		WaitedNs                                  int64
		Len, Cap                                  *uint64
		OK                                        *bool
		Cases                                     []string
	}
	if channel != "goroutines" && channel != "gochannels" || json.Unmarshal(payload, &e) != nil || e.What == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(e.What)
	add := func(some bool, format string, args ...any) {
		if some {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	add(e.Function != "", "%s → goroutine %d", e.Function, e.Goroutine)
	add(e.Reason != "", "%s", e.Reason)
	add(e.On != "", "%s", e.On)
	add(e.Len != nil && e.Cap != nil && *e.Cap > 0, "(%d of %d)", deref(e.Len), deref(e.Cap))
	add(e.Chosen == "" && len(e.Cases) > 0, "[%s]", strings.Join(e.Cases, ", "))
	add(e.Chosen != "", "%s", e.Chosen)
	add(e.OK != nil && !*e.OK, "closed")
	add(e.Place != "", "at %s", e.Place)
	add(e.WaitedNs > 0, "waited %s", time.Duration(e.WaitedNs).Round(10*time.Nanosecond))
	add(e.WokenBy > 0, "for goroutine %d", e.WokenBy)
	return cut(b.String(), lineText)
}

func deref(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
