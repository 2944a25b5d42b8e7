package native

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/wire"
	"golang.org/x/sys/unix"
)

// What the agent records whole is what is read whole: else this does not compile.
var _ [0]struct{} = [ring.FrameKinds ^ wire.WholeFrames]struct{}{}

// socketKey names a descriptor of a process.
type socketKey struct{ pid, fd int }

// socketTable are the sockets of a process, as the drain goroutine knows them from its calls.
type socketTable map[socketKey]*socket

// socket is one, from the call that made it on.
type socket struct {
	id          int   // of the connection in the session; 0: it is none yet
	since       int64 // when it was opened
	transport   string
	local, peer string
	in, out     int64 // bytes
	gets, puts  int64
	wire        wire.Conn
	clear       wire.Conn // within TLS
	before      *socket   // that had this descriptor, and whose close is still to be told
}

// socketIDs are what all processes of a session share.
type socketIDs struct {
	streams map[string]event.StreamID
	last    int            // connection
	byEnds  map[string]int // connection by both addresses: a child that was forked has its parent's
	tls     map[tlsKey]int // descriptors that were last used within calls of TLS libraries
}

// tlsKey is a connection's object in a TLS library.
type tlsKey struct {
	pid int
	obj uint64
}

// maxEnds bounds the memory of connections' addresses.
const maxEnds = 1 << 16

// socketEvent is what the timeline is told: iochan's kind sockets has the members.
type socketEvent struct {
	What       string `json:"what"`
	Call       string `json:"call,omitempty"`
	FD         int    `json:"fd"`
	Connection int    `json:"connection,omitempty"`
	Transport  string `json:"transport,omitempty"`
	Local      string `json:"local,omitempty"`
	Peer       string `json:"peer,omitempty"`
	Bytes      *int64 `json:"bytes,omitempty"`
	DurationNs int64  `json:"durationNs,omitempty"`
	TLS        bool   `json:"tls,omitempty"`
	wire.Message
	Error    string `json:"error,omitempty"`
	Text     string `json:"text,omitempty"`
	Base64   string `json:"base64,omitempty"`
	BytesIn  *int64 `json:"bytesIn,omitempty"`
	BytesOut *int64 `json:"bytesOut,omitempty"`
	Receives int64  `json:"receives,omitempty"`
	Sends    int64  `json:"sends,omitempty"`
	AtExit   bool   `json:"atExit,omitempty"`
}

// callNames are what calls are shown as.
var callNames = map[uint32]string{unix.SYS_READ: "read", unix.SYS_WRITE: "write", unix.SYS_READV: "readv",
	unix.SYS_WRITEV: "writev", unix.SYS_SENDTO: "sendto", unix.SYS_RECVFROM: "recvfrom", unix.SYS_SENDMSG: "sendmsg",
	unix.SYS_RECVMSG: "recvmsg", unix.SYS_SENDMMSG: "sendmmsg", unix.SYS_RECVMMSG: "recvmmsg",
	unix.SYS_SENDFILE: "sendfile", unix.SYS_SPLICE: "splice", unix.SYS_ACCEPT: "accept", unix.SYS_ACCEPT4: "accept4",
	ring.TLSRead: "SSL_read", ring.TLSWrite: "SSL_write", ring.TLSReadEx: "SSL_read_ex", ring.TLSWriteEx: "SSL_write_ex"}

// socketRec is a record that was taken apart.
type socketRec struct {
	nr                uint32
	fresh             bool
	ts, from          int64 // from: 0 where it is not known
	result            int64
	args              [4]uint64
	local, peer, head []byte
	frames            []byte // of HTTP/2, behind head
	pid               int
	ring              *ringState // nil: at a process's end
	thread            event.ThreadID
}

// socketHead is the size of a ring.Socket.
const socketHead = 72

// socket turns a record of what a call did to a socket into an event.
func (d *drainer) socket(rs *ringState, rec *ring.Rec) {
	le, b := binary.LittleEndian, rec.Payload
	if len(b) < socketHead {
		return
	}
	r := &socketRec{nr: le.Uint32(b), fresh: b[6] != 0, ts: d.ts(rec.TSC), result: int64(le.Uint64(b[24:])), pid: rs.pid,
		ring: rs}
	if from := le.Uint64(b[16:]); from != 0 && from <= rec.TSC {
		r.from = d.ts(from)
	}
	for i := range r.args {
		r.args[i] = le.Uint64(b[32+8*i:])
	}
	rest := b[socketHead:]
	take := func(n int) []byte {
		n = min(n, len(rest))
		out := rest[:n]
		rest = rest[min((n+7)&^7, len(rest)):]
		return out
	}
	r.local, r.peer = take(int(b[4])), take(int(b[5]))
	r.head, r.frames = take(int(le.Uint32(b[8:]))), take(int(le.Uint32(b[64:])))
	if hooks := *rs.p.hooks.Load(); int(rec.Hook) < len(hooks) && hooks[rec.Hook] != nil && hooks[rec.Hook].goes {
		ls, sp := d.goLanes(rs, rec.SP)
		r.thread = ls.at(sp).id
	} else {
		r.thread = rs.lanes.name(0)
	}
	if rs.p.drain.sockets == nil {
		rs.p.drain.sockets = socketTable{}
	}
	if moves, out := isMessage(r.nr); moves {
		d.socketMoved(rs.p, r, out)
	} else {
		d.socketChanged(rs.p, r)
	}
}

// socketChanged is a call that makes, connects or ends sockets.
func (d *drainer) socketChanged(p *process, r *socketRec) {
	tab, fd := p.drain.sockets, int(int32(r.args[0]))
	switch r.nr {
	case unix.SYS_SOCKET:
		if r.result >= 0 {
			tab.open(r.pid, int(r.result), &socket{since: r.ts, transport: transportOf(r.args[0], r.args[1])})
		}
	case unix.SYS_SOCKETPAIR:
		for _, fd := range []int{int(uint32(r.args[3])), int(r.args[3] >> 32)} {
			tab.open(r.pid, fd, &socket{since: r.ts, transport: "unix", id: d.t.socketIDs.next("")})
		}
	case unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_DUP3, unix.SYS_FCNTL:
		key := socketKey{r.pid, int(r.result)}
		if s := tab[socketKey{r.pid, fd}]; s != nil {
			tab[key] = s
		} else {
			delete(tab, key)
		}
	case unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		e := socketEvent{What: "accept", Call: callNames[r.nr], FD: fd}
		if r.result >= 0 {
			s := &socket{since: r.ts, local: sockAddr(r.local), peer: sockAddr(r.peer)}
			s.transport = transportBy(r.local)
			s.id = d.t.socketIDs.next(s.local + " " + s.peer)
			tab.open(r.pid, int(r.result), s)
			e.FD = int(r.result)
			e.of(s)
		}
		d.tellSocket(r, event.In, e)
	case unix.SYS_CLOSE:
		d.socketClosed(p, r, fd)
	default:
		d.socketSet(p, r, fd)
	}
}

// socketSet is a call that gives a socket an address, or ends a direction.
func (d *drainer) socketSet(p *process, r *socketRec, fd int) {
	s := p.drain.sockets.at(r, fd)
	e := socketEvent{FD: fd}
	switch r.nr {
	case unix.SYS_BIND, unix.SYS_LISTEN:
		e.What = map[bool]string{true: "bind", false: "listen"}[r.nr == unix.SYS_BIND]
		s.local = sockAddr(r.local)
	case unix.SYS_CONNECT:
		e.What = "connect"
		if r.result == 0 || r.result == -int64(unix.EINPROGRESS) {
			if len(r.local) > 0 {
				s.local = sockAddr(r.local)
			}
			s.peer = sockAddr(r.peer)
			s.id = d.t.socketIDs.next(s.local + " " + s.peer)
		}
	case unix.SYS_SHUTDOWN:
		e.What = "shutdown"
	default:
		return
	}
	e.of(s)
	if r.nr == unix.SYS_CONNECT {
		e.Peer = sockAddr(r.peer)
	}
	d.tellSocket(r, event.Out, e)
}

// socketClosed tells the end of one, with what went through it.
func (d *drainer) socketClosed(p *process, r *socketRec, fd int) {
	tab, key := p.drain.sockets, socketKey{r.pid, fd}
	s := tab[key]
	if s == nil {
		return // of a child that shares its parent's memory, and closes its own
	}
	if s.before != nil && r.from != 0 && r.from < s.since {
		s, s.before = s.before, nil // another thread has had the number meanwhile
	} else {
		delete(tab, key)
	}
	e := socketEvent{What: "close", FD: fd}
	e.of(s)
	for k, o := range tab {
		if o == s && k.pid == r.pid { // another descriptor of the same
			d.tellSocket(r, event.Out, e)
			return
		}
	}
	e.totals(s)
	d.tellSocket(r, event.Out, e)
}

// closeSockets tells the end of those that a process had open when it ended.
func (d *drainer) closeSockets(p *process) {
	d.events = d.events[:0]
	seen := map[*socket]bool{}
	for k, s := range p.drain.sockets {
		if seen[s] || s.id == 0 {
			continue
		}
		seen[s] = true
		e := socketEvent{What: "close", FD: k.fd, AtExit: true}
		e.of(s)
		e.totals(s)
		ts := d.t.sink.Now()
		if p.endTS != 0 {
			ts = p.endTS
		}
		d.tellSocket(&socketRec{ts: ts, thread: event.NoThread}, event.Out, e)
	}
	p.drain.sockets = nil
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
}

// socketMoved is a call that sent or received.
func (d *drainer) socketMoved(p *process, r *socketRec, out bool) {
	fd, tls := int(int32(r.args[0])), r.nr >= ring.TLSWrite
	ids := &d.t.socketIDs
	if r.nr == unix.SYS_SPLICE {
		out = r.args[1] == 0
	}
	var s *socket
	if tls {
		fd = ids.within(r)
		if s = p.drain.sockets[socketKey{r.pid, fd}]; s == nil {
			s = &socket{}
		}
	} else {
		r.ring.socketFD, r.ring.socketTS = fd, r.ts
		s = p.drain.sockets.at(r, fd)
		if r.fresh || s.id == 0 && s.transport != "udp" {
			s.meet(ids, r)
		}
	}
	e := socketEvent{What: "receive", Call: callNames[r.nr], FD: fd, TLS: tls}
	dir := event.In
	if out {
		e.What, dir = "send", event.Out
	}
	e.of(s)
	if peer := sockAddr(r.peer); peer != "" && !r.fresh {
		e.Peer = peer
	}
	if n := r.result; n >= 0 {
		e.Bytes = &n
		conn := &s.wire
		if tls {
			conn = &s.clear
		} else if out {
			s.out, s.puts = s.out+n, s.puts+1
		} else {
			s.in, s.gets = s.in+n, s.gets+1
		}
		e.Message = conn.Look(r.head, r.frames, n, out)
		if shown := int(d.t.socketBytes.Load()); shown > 0 && len(r.head) > 0 {
			e.show(r.head[:min(shown, len(r.head))], d.t.cmd.Secrets)
		}
	}
	d.tellSocket(r, dir, e)
}

// within is the descriptor that a call of a TLS library's was for: the one that its thread used meanwhile, else the one
// that a call for the same object used before; -1 where nothing tells.
func (i *socketIDs) within(r *socketRec) int {
	key := tlsKey{r.pid, r.args[0]}
	if r.from != 0 && r.ring.socketTS >= r.from {
		if i.tls == nil || len(i.tls) > maxEnds {
			i.tls = map[tlsKey]int{}
		}
		i.tls[key] = r.ring.socketFD
	}
	if fd, known := i.tls[key]; known {
		return fd
	}
	return -1
}

// show adds bytes as text where they are one, without headers that are secrets.
func (e *socketEvent) show(b []byte, secrets *secret.Names) {
	for cut := b; len(cut) > 0 && len(b)-len(cut) < utf8.UTFMax; cut = cut[:len(cut)-1] { // a character may be cut off
		if utf8.Valid(cut) {
			e.Text = secrets.Headers(string(cut))
			return
		}
	}
	e.Base64 = base64.StdEncoding.EncodeToString(b)
}

// of fills in what is known of a socket.
func (e *socketEvent) of(s *socket) {
	e.Connection, e.Transport, e.Local, e.Peer = s.id, s.transport, s.local, s.peer
}

func (e *socketEvent) totals(s *socket) {
	if s.id != 0 || s.gets+s.puts > 0 {
		in, out := s.in, s.out
		e.BytesIn, e.BytesOut, e.Receives, e.Sends = &in, &out, s.gets, s.puts
	}
}

// tellSocket puts an event among the calls of its thread.
func (d *drainer) tellSocket(r *socketRec, dir string, e socketEvent) {
	if e.Transport == "unix" && strings.Contains(e.Peer, "/"+collector.AgentFolder) {
		return
	}
	if r.from != 0 {
		e.DurationNs = max(r.ts-r.from, 1)
	}
	if r.result < 0 {
		e.Error = unix.ErrnoName(unix.Errno(-r.result))
	}
	ids := &d.t.socketIDs
	id, known := ids.streams[dir]
	if !known {
		sink, ok := d.t.sink.(collector.StreamSink)
		if !ok {
			return
		}
		var err error
		if id, err = sink.Stream(event.Stream{Channel: collector.SocketsChannel, Name: dir, Media: "json",
			Direction: dir}); err != nil {
			d.t.sink.Dropped(1)
			return
		}
		if ids.streams == nil {
			ids.streams = map[string]event.StreamID{}
		}
		ids.streams[dir] = id
	}
	b, err := json.Marshal(e)
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: r.ts, Kind: event.Channel, Thread: r.thread, Stream: id, Payload: b})
}

// open enters a new socket. One whose close was not told yet is kept behind it.
func (t socketTable) open(pid, fd int, s *socket) {
	key := socketKey{pid, fd}
	if s.before = t[key]; s.before != nil {
		s.before.before = nil
	}
	t[key] = s
}

// at returns the socket of a descriptor; one that was not known before is new.
func (t socketTable) at(r *socketRec, fd int) *socket {
	key := socketKey{r.pid, fd}
	s := t[key]
	if s == nil {
		s = &socket{since: r.ts}
		t[key] = s
	}
	return s
}

// meet notes the addresses of a connection that was not seen being opened.
func (s *socket) meet(ids *socketIDs, r *socketRec) {
	if !r.fresh {
		return
	}
	local, peer := sockAddr(r.local), sockAddr(r.peer)
	if s.id != 0 && s.local == local && s.peer == peer {
		return
	}
	s.local, s.peer, s.transport = local, peer, transportBy(r.local)
	ends := local + " " + peer
	if s.id = ids.byEnds[ends]; s.id == 0 {
		s.id = ids.next(ends)
	}
}

// next is the number of a new connection between two addresses.
func (i *socketIDs) next(ends string) int {
	i.last++
	if i.byEnds == nil || len(i.byEnds) > maxEnds {
		i.byEnds = map[string]int{}
	}
	if ends != "" {
		i.byEnds[ends] = i.last
	}
	return i.last
}

// transportOf is what socket(domain, type) makes.
func transportOf(domain, typ uint64) string {
	kind := map[uint64]string{unix.SOCK_STREAM: "tcp", unix.SOCK_DGRAM: "udp", unix.SOCK_RAW: "raw"}[typ&0xff]
	switch domain {
	case unix.AF_UNIX:
		return "unix"
	case unix.AF_INET, unix.AF_INET6:
		return kind
	case unix.AF_NETLINK:
		return "netlink"
	}
	return "family " + strconv.FormatUint(domain, 10)
}

// transportBy is what an address tells of it.
func transportBy(addr []byte) string {
	if len(addr) >= 2 {
		switch binary.LittleEndian.Uint16(addr) {
		case unix.AF_UNIX:
			return "unix"
		case unix.AF_INET, unix.AF_INET6:
			return "tcp"
		}
	}
	return ""
}

// sockAddr shows a struct sockaddr: HOST:PORT, a path, @NAME of one without a file.
func sockAddr(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	switch family := binary.LittleEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return net.JoinHostPort(netip.AddrFrom4([4]byte(b[4:8])).String(), port(b))
	case family == unix.AF_INET6 && len(b) >= 24:
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		if len(b) >= 28 {
			if scope := binary.LittleEndian.Uint32(b[24:]); scope != 0 {
				ip = ip.WithZone(strconv.FormatUint(uint64(scope), 10))
			}
		}
		return net.JoinHostPort(ip.String(), port(b))
	case family == unix.AF_UNIX:
		path := string(b[2:])
		if strings.HasPrefix(path, "\x00") {
			return "@" + strings.ToValidUTF8(strings.ReplaceAll(path[1:], "\x00", "@"), "?")
		}
		path, _, _ = strings.Cut(path, "\x00")
		return strings.ToValidUTF8(path, "?")
	case family == unix.AF_NETLINK:
		return "netlink"
	case family == unix.AF_UNSPEC:
		return "none"
	default:
		return "family " + strconv.Itoa(int(family))
	}
}

func port(b []byte) string { return strconv.Itoa(int(binary.BigEndian.Uint16(b[2:]))) }
