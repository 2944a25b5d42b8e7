package exchange

import (
	"cmp"
	"sort"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/wire"
)

// head is the beginning of a request or an answer in a connection's bytes.
type head struct {
	at      int64
	proto   string
	part    wire.Part
	out, in *Call // that sent its first byte, that received it
	request bool
	at0     int64 // when it was there, at the end that is gone by
}

// heads are those of what went one way.
func heads(from, to *side, request bool) (all []*head) {
	known := map[int64]*head{}
	look := func(s *stream) {
		for _, p := range s.pieces {
			m := &p.call.Message
			if m.Proto == "" || m.Proto == "TLS" {
				continue
			}
			for _, part := range append([]wire.Part{m.Part()}, m.More...) {
				at := p.at + part.At
				if m.Proto == "HTTP/2" {
					if h := known[at]; h != nil && h.unread() {
						h.part = part // the other end saw more of the connection
					} else if h != nil {
						h.part.Trace = cmp.Or(h.part.Trace, part.Trace)
					} else if part.Stream != 0 || part.Answer != "" {
						known[at] = &head{at: at, proto: m.Proto, part: part, request: request}
						all = append(all, known[at])
					}
					continue
				}
				asks, tells := part.Method != "" || part.Command != "", part.Status != 0 || part.Answer != ""
				if (m.Proto != "postgres" || asks || tells) && asks != request || known[at] != nil {
					continue
				}
				h := &head{at: at, proto: m.Proto, part: part, request: request}
				known[at] = h
				all = append(all, h)
			}
		}
	}
	if from != nil {
		look(&from.out)
	}
	if to != nil {
		look(&to.in)
	}
	sorting.By(all, func(a, b *head) int { return cmp.Compare(a.at, b.at) })
	for _, h := range all {
		if from != nil {
			h.out = from.out.covering(h.at)
		}
		if to != nil {
			h.in = to.in.beginning(h.at)
		}
	}
	return all
}

// pair makes the exchanges of a connection.
func (b *joiner) pair(c *conn) {
	up, down := heads(c.client, c.server, true), heads(c.server, c.client, false)
	proto := ""
	for _, s := range []*side{c.client, c.server} {
		if s != nil && (proto == "" || proto == "TLS") {
			proto = s.proto
		}
	}
	if len(up) == 0 {
		b.unread(c, proto)
		return
	}
	b.r.Connections++
	var xs []*Exchange
	var queue []*Exchange
	s := &streams{c: c, open: map[uint32]*Exchange{}}
	for _, h := range c.inOrder(up, down) {
		if h.proto == "HTTP/2" {
			s.head(h, xs)
			continue
		}
		if !h.request {
			queue = answered(queue, xs, h)
			continue
		}
		if h.proto == "postgres" && len(queue) > 0 { // more of what is asked at once
			if x := queue[0]; x.Command == "" || x.Command == "encryption?" {
				x.Command = cmp.Or(h.part.Command, x.Command)
			}
			continue
		}
		if len(queue) == 1 && c.came(queue[0], h) {
			queue[0].Guess = "its answer was not recognised"
			queue = queue[1:]
		}
		x := &Exchange{Proto: h.proto, Method: h.part.Method, Path: h.part.Path, Command: h.part.Command, Trace: h.part.Trace,
			Sent: h.out, Received: h.in, conn: c, at: h.at, answerAt: none, Guess: c.guess}
		c.name(x)
		xs, queue = append(xs, x), append(queue, x)
	}
	if len(xs) > 0 && c.client != nil && c.client.opened != nil {
		xs[0].first = true
	}
	c.extents(xs, down)
	b.r.All = append(b.r.All, xs...)
	b.note(c, xs)
	b.streams(s)
}

// unread counts a connection without an exchange.
func (b *joiner) unread(c *conn, proto string) {
	bytes := int64(0)
	for _, s := range []*side{c.client, c.server} {
		if s != nil {
			bytes += s.in.total + s.out.total
		}
	}
	if bytes == 0 {
		return
	}
	b.r.Unread++
	switch proto {
	case "TLS":
		b.r.TLS++
	case "HTTP/2":
		b.r.HTTP2++
	}
}

// inOrder are requests and answers as the client saw them, or the server where the client was not recorded.
func (c *conn) inOrder(up, down []*head) []*head {
	var all []*head
	for _, h := range up {
		if c.client != nil && h.out != nil {
			h.at0 = h.out.Start()
			if h.in != nil { // a call without a duration is told when it returns, perhaps after the answer came
				h.at0 = min(h.at0, h.in.End)
			}
		} else if h.in != nil {
			h.at0 = h.in.End
		}
		all = append(all, h)
	}
	for _, h := range down {
		switch {
		case c.client != nil && h.in != nil:
			h.at0 = h.in.End
		case c.client == nil && h.out != nil:
			h.at0 = h.out.Start()
		case h.out != nil: // sent, and never received
			h.at0 = h.out.End
		}
		all = append(all, h)
	}
	sorting.By(all, func(a, b *head) int { return cmp.Compare(a.at0, b.at0) })
	return all
}

// answered gives an answer to the oldest request that waits for one.
func answered(queue, xs []*Exchange, h *head) []*Exchange {
	if h.part.Status >= 100 && h.part.Status < 200 && h.part.Status != 101 {
		return queue
	}
	if len(queue) == 0 {
		if n := len(xs); n > 0 && xs[n-1].Proto == "postgres" && (xs[n-1].Answer == "" ||
			strings.HasPrefix(h.part.Answer, "error ")) {
			xs[n-1].Answer = h.part.Answer
		}
		return queue
	}
	x := queue[0]
	x.Status, x.Answer, x.answerAt = h.part.Status, h.part.Answer, h.at
	x.Answered, x.Got = h.out, h.in
	return queue[1:]
}

// came reports whether anything came back between a request and the next one.
func (c *conn) came(x *Exchange, next *head) bool {
	if c.client == nil || x.Sent == nil {
		return false
	}
	all := c.client.in.pieces
	i := sort.Search(len(all), func(i int) bool { return all[i].call.End > x.Sent.End })
	return i < len(all) && all[i].call.End < next.at0
}

// name fills in the addresses.
func (c *conn) name(x *Exchange) {
	if s := c.client; s != nil {
		x.Client, x.Server = s.local, s.peer
	} else {
		x.Client, x.Server = c.server.peer, c.server.local
	}
}

// extents finds where each request and answer ends: where the next begins.
func (c *conn) extents(xs []*Exchange, down []*head) {
	upEnd, downEnd := int64(0), int64(0)
	if c.client != nil {
		upEnd, downEnd = c.client.out.total, c.client.in.total
	}
	if c.server != nil {
		upEnd, downEnd = max(upEnd, c.server.in.total), max(downEnd, c.server.out.total)
	}
	for i := len(xs) - 1; i >= 0; i-- {
		x := xs[i]
		x.SentBytes, upEnd = upEnd-x.at, x.at
		if x.answerAt == none {
			x.Error = c.why()
			continue
		}
		x.GotBytes = downEnd - x.answerAt
		if c.client != nil {
			x.Got = cmp.Or(c.client.in.covering(downEnd-1), x.Got)
		}
		if c.server != nil {
			x.AnswerSent = cmp.Or(c.server.out.covering(downEnd-1), x.Answered)
		}
		downEnd = x.answerAt
	}
}

// why says what may be the reason that there is no answer.
func (c *conn) why() string {
	for _, s := range []*side{c.client, c.server} {
		if s != nil && s.failed != "" {
			return "no answer, " + s.failed
		}
	}
	return "no answer"
}

// note enters the calls that exchanges were made of.
func (b *joiner) note(c *conn, xs []*Exchange) {
	mark := func(s *stream, at func(*Exchange) int64) {
		var there []*Exchange // that have such a byte, in order
		for _, x := range xs {
			if at(x) != none {
				there = append(there, x)
			}
		}
		for _, p := range s.pieces {
			for len(there) > 1 && at(there[1]) <= p.at {
				there = there[1:]
			}
			for _, x := range there {
				if at(x) >= p.at+p.n {
					break
				}
				b.r.calls[p.call] = append(b.r.calls[p.call], x)
			}
		}
	}
	request, answer := func(x *Exchange) int64 { return x.at }, func(x *Exchange) int64 { return x.answerAt }
	if c.client != nil {
		mark(&c.client.out, request)
		mark(&c.client.in, answer)
	}
	if c.server != nil {
		mark(&c.server.in, request)
		mark(&c.server.out, answer)
	}
}

// refused makes exchanges of connects that failed.
func (b *joiner) refused(calls []*Call) {
	for _, c := range calls {
		if c.What != "connect" || c.Error == "" || c.Error == "EINPROGRESS" || c.Transport == "udp" || c.Peer == "" ||
			strings.Contains(c.Peer, "/nscd/") { // which a C library tries, and does without
			continue
		}
		x := &Exchange{Proto: "connect", Error: c.Error, Client: address(c.Local), Server: address(c.Peer), Sent: c, Got: c}
		b.r.All = append(b.r.All, x)
		b.r.calls[c] = []*Exchange{x}
	}
}

// sort brings exchanges into order of time.
func (b *joiner) sort() {
	sorting.By(b.r.All, func(x, y *Exchange) int {
		fromX, _ := x.Span()
		fromY, _ := y.Span()
		return cmp.Compare(fromX, fromY)
	})
}
