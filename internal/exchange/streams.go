package exchange

import (
	"cmp"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// streams are the exchanges of a connection of HTTP/2, many of them at once.
type streams struct {
	c    *conn
	all  []*Exchange
	open map[uint32]*Exchange // by stream
	away string               // why the connection's end was announced
}

// unread reports a beginning of which is not known what it says.
func (h *head) unread() bool {
	return h.part.Method == "?" || h.part.Path == "?" || h.part.Answer == "?"
}

// head enters a head, or where a stream ends. before: those that went over the connection as HTTP/1.
func (s *streams) head(h *head, before []*Exchange) {
	p := &h.part
	x := s.open[p.Stream]
	switch {
	case p.Stream == 0:
		s.away = p.Answer
		return
	case h.request && p.Method != "":
		x = &Exchange{Proto: h.proto, Method: p.Method, Path: p.Path, Trace: p.Trace, Sent: h.out, Received: h.in, conn: s.c,
			at: h.at, answerAt: none, Guess: s.c.guess, calls: []*Call{h.out, h.in}}
		s.c.name(x)
		s.open[p.Stream], s.all = x, append(s.all, x)
	case x == nil && p.Stream == 1 && len(before) > 0 && before[len(before)-1].Status == 101: // what was asked then
		x = before[len(before)-1]
		before[len(before)-1].Status = cmp.Or(p.Status, x.Status)
		return
	case x == nil: // it began before
		return
	}
	if strings.HasPrefix(p.Answer, "reset ") {
		// Clients reset what has ended, too, and servers that need no more of a request say NO_ERROR.
		if p.Answer != "reset NO_ERROR" && x.Got == nil && x.AnswerSent == nil {
			x.Error = p.Answer
		}
		return
	}
	if h.request {
		if p.End {
			x.SentBytes = p.StreamBytes
		}
		return
	}
	if p.Status >= 200 || p.Answer == "?" && x.answerAt == none || p.End && x.answerAt == none {
		x.Status, x.answerAt, x.Answered = p.Status, h.at, h.out
		x.calls = append(x.calls, h.out, h.in)
	}
	if p.Answer != "?" {
		x.Answer = cmp.Or(p.Answer, x.Answer)
	}
	if p.End {
		x.Got, x.AnswerSent, x.GotBytes = h.in, h.out, p.StreamBytes
		x.calls = append(x.calls, h.out, h.in)
	}
}

// streams enters those of a connection.
func (b *joiner) streams(s *streams) {
	sorting.By(s.all, func(x, y *Exchange) int { return cmp.Compare(x.at, y.at) })
	for _, x := range s.all {
		if x.Got == nil && x.AnswerSent == nil && x.Error == "" {
			x.Error = s.c.why()
			if s.away != "" {
				x.Error += ", " + s.away
			}
			if x.Status != 0 {
				x.Error = "its answer has no end"
			}
		}
		last := map[*Call]bool{nil: true}
		for _, call := range x.calls {
			if !last[call] {
				last[call] = true
				b.r.calls[call] = append(b.r.calls[call], x)
			}
		}
		x.calls = nil
	}
	if len(s.all) > 0 && s.c.client != nil && s.c.client.opened != nil {
		s.all[0].first = true
	}
	b.r.All = append(b.r.All, s.all...)
}
