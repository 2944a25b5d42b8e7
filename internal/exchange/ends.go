package exchange

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// sideKey names one end of a connection: numbers are a session's own, one for each use of two addresses.
type sideKey struct {
	session, connection int
	tls                 bool // the clear text of it
}

// side is one end of a connection.
type side struct {
	key           sideKey
	opened        *Call // connect or accept; nil: it was there before
	client        bool
	known         bool // whether it is the client
	local, peer   string
	transport     string
	start, end    int64
	out, in       stream
	proto, failed string
}

// any is a call of it.
func (s *side) any() *Call {
	switch {
	case s == nil:
		return nil
	case s.opened != nil:
		return s.opened
	case len(s.out.pieces) > 0:
		return s.out.pieces[0].call
	case len(s.in.pieces) > 0:
		return s.in.pieces[0].call
	}
	return nil
}

// stream is what went one way, in pieces that follow each other.
type stream struct {
	pieces []piece
	total  int64
}

// piece is what one call sent or received.
type piece struct {
	at, n int64
	call  *Call
}

func (s *stream) add(c *Call) {
	s.pieces = append(s.pieces, piece{s.total, c.Bytes, c})
	s.total += c.Bytes
}

// covering is the call that had the byte at an offset; nil: none that is known.
func (s *stream) covering(at int64) *Call {
	i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].at+s.pieces[i].n > at })
	if i < len(s.pieces) && s.pieces[i].at <= at {
		return s.pieces[i].call
	}
	return nil
}

// beginning is the call that received the beginning of a message. A server that waits for the next request by reading
// one byte (Go's) has the rest on another thread, which works at it.
func (s *stream) beginning(at int64) *Call {
	c := s.covering(at)
	if c != nil && c.Bytes == 1 {
		if next := s.covering(at + 1); next != nil {
			return next
		}
	}
	return c
}

// shift moves all offsets.
func (s *stream) shift(by int64) {
	for i := range s.pieces {
		s.pieces[i].at += by
	}
	s.total += by
}

// conn is a connection; one of its ends may not have been recorded.
type conn struct {
	client, server *side
	guess          string
}

// joiner is one Join.
type joiner struct {
	r     *Result
	byKey map[sideKey]*side
	all   []*side
}

func newJoiner(r *Result) *joiner { return &joiner{r: r, byKey: map[sideKey]*side{}} }

// sides sorts calls by the ends that they are of.
func (b *joiner) sides(calls []*Call) {
	clear := map[sideKey]bool{}
	for _, c := range calls {
		if c.Connection == 0 || c.Transport == "udp" {
			continue
		}
		s := b.side(c)
		s.end = max(s.end, c.End)
		switch c.What {
		case "connect", "accept":
			if s.opened == nil {
				s.opened, s.client, s.known = c, c.What == "connect", true
			}
		case "send", "receive":
			if c.Bytes > 0 && c.Error == "" {
				if c.What == "send" {
					s.out.add(c)
				} else {
					s.in.add(c)
				}
				s.learn(c)
			}
		}
		if c.Error != "" && c.Error != "EINPROGRESS" && c.Error != "EAGAIN" {
			s.failed = c.Error
		}
		clear[s.key] = clear[s.key] || c.TLS
	}
	for _, s := range b.all { // the same connection, encrypted
		if !s.key.tls && clear[sideKey{s.key.session, s.key.connection, true}] {
			other := b.byKey[sideKey{s.key.session, s.key.connection, true}]
			other.opened, other.start = cmp.Or(other.opened, s.opened), s.start
			if s.opened != nil {
				other.client, other.known = s.client, true
			}
			s.proto = "-"
		}
	}
	b.all = slices.DeleteFunc(b.all, func(s *side) bool { return s.proto == "-" })
}

func (b *joiner) side(c *Call) *side {
	key := sideKey{c.Session, c.Connection, c.TLS}
	s := b.byKey[key]
	if s == nil {
		s = &side{key: key, start: c.Start(), end: c.End, local: address(c.Local), peer: address(c.Peer),
			transport: c.Transport}
		b.byKey[key] = s
		b.all = append(b.all, s)
	}
	if s.local == "" {
		s.local = address(c.Local)
	}
	if s.peer == "" {
		s.peer = address(c.Peer)
	}
	return s
}

// learn takes what a message says of the connection's protocol, and of which end this is.
func (s *side) learn(c *Call) {
	if s.proto == "" || s.proto == "TLS" {
		s.proto = c.Proto
	}
	if s.known || c.Proto == "" || c.Stream != 0 && c.Method == "" && c.Status == 0 { // both may end a stream
		return
	}
	request, answer := c.Method != "" || c.Command != "", c.Status != 0 || c.Answer != ""
	if request != answer {
		s.client, s.known = request == (c.What == "send"), true
	}
}

// address is one that is the same at both ends: IPv4 within IPv6 is what the other end calls IPv4.
func address(s string) string {
	if p, err := netip.ParseAddrPort(s); err == nil {
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()).String()
	}
	return s
}

// meet finds for each end the other one.
func (b *joiner) meet() (all []*conn) {
	sorting.By(b.all, func(x, y *side) int { return cmp.Compare(x.start, y.start) })
	others := map[endsKey][]*side{} // by their own addresses
	for _, s := range b.all {
		if unix := s.transport == "unix"; !unix || s.known && !s.client {
			k := b.endsOf(s)
			if unix {
				k.peer = ""
			}
			others[k] = append(others[k], s)
		}
	}
	taken := map[*side]bool{}
	for _, s := range b.all {
		if taken[s] || s.transport == "unix" && (!s.known || !s.client) {
			continue
		}
		k, c := b.endsOf(s).turned(), &conn{}
		if s.transport == "unix" {
			k.peer = ""
		}
		list := others[k]
		for len(list) > 0 && (taken[list[0]] || list[0].end < s.start) {
			list = list[1:]
		}
		others[k] = list
		if s.transport == "unix" && len(list) > 0 {
			list, c.guess = alikeFirst(s, list, taken)
		}
		taken[s] = true
		if len(list) > 0 && list[0] != s && list[0].start <= s.end &&
			(!s.known || !list[0].known || s.client != list[0].client) {
			c.of(list[0], !s.client || list[0].known && list[0].client)
			taken[list[0]] = true
		}
		c.of(s, s.known && s.client || c.server != nil)
		all = append(all, c)
	}
	for _, s := range b.all {
		if !taken[s] {
			c := &conn{}
			c.of(s, s.known && s.client)
			all = append(all, c)
		}
	}
	for _, c := range all {
		c.align(b.slack(c))
	}
	return all
}

// alikeFirst puts the end of a Unix socket whose first message is the client's before the others: addresses do not tell
// connections to one path apart. Where several have it, the order of connects is a guess.
func alikeFirst(client *side, servers []*side, taken map[*side]bool) (list []*side, guess string) {
	const byConnects = "unix socket: by order of connects"
	first := client.out.first()
	for _, s := range servers {
		if s.start > client.end {
			break
		}
		if !taken[s] && s.start >= client.start && first != "" && s.in.first() == first {
			list = append(list, s)
		}
	}
	switch len(list) {
	case 0:
		return servers, byConnects
	case 1:
		return list, ""
	}
	return list, byConnects
}

// first is what the first message says; "": nothing that was recognised.
func (s *stream) first() string {
	if len(s.pieces) == 0 || s.pieces[0].call.Proto == "" {
		return ""
	}
	return says(s.pieces[0].call)
}

// of enters an end.
func (c *conn) of(s *side, client bool) {
	if client {
		c.client = s
	} else {
		c.server = s
	}
}

// align brings the offsets of both ends together where one of them was not seen from the beginning.
// slack: by which their clocks may be apart.
func (c *conn) align(slack int64) {
	a, b := c.client, c.server
	if a == nil || b == nil || a.opened != nil && b.opened != nil {
		return
	}
	up := alike(&a.out, &b.in, true, slack)
	down := alike(&b.out, &a.in, false, slack)
	if up == nil || down == nil {
		c.guess = cmp.Or(c.guess, "both ends recorded from the midst of the connection")
	}
	if up != nil {
		b.in.shift(*up)
	}
	if down != nil {
		a.in.shift(*down)
	}
}

// alike is by how much the offsets of what was received differ from those of what was sent, by the first message that
// was received, and the newest before it that says the same.
func alike(sent, received *stream, requests bool, slack int64) *int64 {
	for _, r := range received.pieces {
		if r.call.Proto == "" || isRequest(r.call) != requests {
			continue
		}
		for _, s := range slices.Backward(sent.pieces) {
			if s.call.Start() <= r.call.End+slack && s.call.Proto == r.call.Proto && says(s.call) == says(r.call) {
				by := s.at + s.call.At - r.at - r.call.At
				return &by
			}
		}
	}
	return nil
}

func isRequest(c *Call) bool { return c.Method != "" || c.Command != "" }

// says is a message's own text.
func says(c *Call) string {
	return strings.Join([]string{c.Method, c.Path, c.Command, c.Answer, fmt.Sprint(c.Status, c.Stream)}, "\x00")
}
