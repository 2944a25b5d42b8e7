package native

import (
	"context"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// With the pattern @sockets what the program does to its sockets is recorded: behind the system calls, in the C library
// and in the program itself, stands a probe, the same as for who wrote what; before most of them one that notes when
// the call begins. Clear text is recorded at the functions by which programs give it to OpenSSL.

// socketCalls are the system calls that do something to sockets.
var socketCalls = map[uint32]bool{
	unix.SYS_READ: true, unix.SYS_WRITE: true, unix.SYS_CLOSE: true, unix.SYS_READV: true, unix.SYS_WRITEV: true,
	unix.SYS_DUP: true, unix.SYS_DUP2: true, unix.SYS_DUP3: true, unix.SYS_FCNTL: true, unix.SYS_SENDFILE: true,
	unix.SYS_SPLICE: true, unix.SYS_SOCKET: true, unix.SYS_SOCKETPAIR: true, unix.SYS_CONNECT: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true, unix.SYS_SENDTO: true, unix.SYS_RECVFROM: true,
	unix.SYS_SENDMSG: true, unix.SYS_RECVMSG: true, unix.SYS_SENDMMSG: true, unix.SYS_RECVMMSG: true,
	unix.SYS_SHUTDOWN: true, unix.SYS_BIND: true, unix.SYS_LISTEN: true,
}

// hookSockets marks the hooks that only @sockets needs, for us alone.
const hookSockets = 1 << 19

// tlsFunctions are those of OpenSSL and of its kin that are given clear text, or give it.
var tlsFunctions = map[string]uint16{"SSL_write": ring.TLSWrite, "SSL_read": ring.TLSRead,
	"SSL_write_ex": ring.TLSWriteEx, "SSL_read_ex": ring.TLSReadEx,
	"gnutls_record_send2": ring.TLSWrite, "gnutls_record_recv": ring.TLSRead}

// recognised is how many bytes of a message are looked at to say what it is.
const recognised = 512

// socketsWanted reports whether a pattern asks for what is done on the network, and how many bytes of each message are
// shown. probeMu is held.
func (t *target) socketsWanted() (shown int, ok bool) {
	for i := range t.probes {
		if n, is := t.probes[i].pat.Sockets(); is {
			shown, ok = max(shown, n), true
		}
	}
	return shown, ok && !t.stopping.Load() && !t.leaving.Load()
}

// socketsAsked is socketsWanted where only that matters.
func (t *target) socketsAsked() bool {
	_, ok := t.socketsWanted()
	return ok
}

// recordSockets puts the probes in place. probeMu is held.
func (p *process) recordSockets(ctx context.Context) error {
	shown, _ := p.t.socketsWanted()
	p.t.socketBytes.Store(int64(shown))
	atomic.StoreUint32(&p.region.Control().SocketHead, uint32(max(shown, recognised)))
	for i, m := range p.modules {
		mod, err := p.open(m)
		if err != nil || m.path == p.loader.path && !isLibc(m, false) {
			continue
		}
		if mayWrite(m, i == 0) {
			if err := p.probeGoCalls(ctx, m); err != nil {
				return err
			}
			if sites := callSites(mod); len(sites) > 0 && !p.unwindID[m.lo] {
				if err := p.probeSockets(ctx, m, sites); err != nil {
					return err
				}
			}
		}
		if !p.unwindID[m.lo] {
			p.hookTLS(ctx, m, mod)
		}
		p.know(m.lo)
	}
	add := p.socketHooks(false)
	if err := p.t.tracer.Do(ctx, func() error { return p.apply(add, nil) }); err != nil {
		return err
	}
	p.setFlags(ring.FlagSocket)
	return nil
}

// socketHooks are the places of hooks that only @sockets needs, and that are active or not.
func (p *process) socketHooks(active bool) (sites []*site) {
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.flags == hookSockets && h.active() == active && p.unwindID[h.own.addr] {
			sites = append(sites, h.sites...)
		}
	}
	return sites
}

// countSocketHooks is how many calls of how many processes are recorded.
func (t *target) countSocketHooks() (n int) {
	for _, p := range t.processes() {
		for _, h := range *p.hooks.Load() {
			if h != nil && h.own != nil && h.active() && (h.own.flags == hookSockets || h.own.flags == ring.HookOutput) {
				n++
			}
		}
	}
	return n
}

// retireSockets takes the hooks out, unless they are wanted. probeMu is held.
func (p *process) retireSockets(ctx context.Context, wanted bool) error {
	if wanted || !p.injected.Load() || p.region == nil {
		return nil
	}
	p.clearFlags(ring.FlagSocket)
	remove := p.socketHooks(true)
	if len(remove) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
}

// probeSockets makes the probes of one module.
func (p *process) probeSockets(ctx context.Context, m *loaded, sites []callSite) error {
	if err := p.probeCalls(ctx, m, sites, hookSockets); err != nil {
		return err
	}
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, uint64(len(sites))*256)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	w := &stubWriter{p: p, a: a, at: a.next}
	for i := range sites {
		if off, ok := sites[i].before(); ok {
			w.probe(m, &sites[i], off, ring.Hook{Flags: ring.HookOutput | ring.HookBefore}, hookSockets)
		}
	}
	return w.flush()
}

// before is the last place before a site's system call where a probe can stand, and from which only the call can be
// come to. What a hook at the function's entry displaces is left to it.
func (s *callSite) before() (off int, ok bool) {
	call := s.off - 2
	entry := hook.Analyze(s.code, hook.Addr(s.low), 0, hook.Options{})
	entryBytes := entry.Off + max(entry.Displaced, jumpBytes)
	for at := 0; at < call; {
		in, err := hook.Decode(s.code[at:])
		if err != nil {
			return 0, false
		}
		if in.Flow != hook.FlowNone {
			ok = false
		} else if at >= entryBytes && call-at >= jumpBytes {
			if an := hook.AnalyzeAt(s.code, hook.Addr(s.low), at, 0, hook.Options{}); an.Patch == hook.PatchJump &&
				an.Off+max(an.Displaced, jumpBytes) <= call {
				off, ok = an.Off, true
			}
		}
		at += in.Len
	}
	return off, ok
}

// hookTLS makes the hooks of a module's functions for clear text. One that cannot be hooked is told of.
func (p *process) hookTLS(ctx context.Context, m *loaded, mod *symbol.Module) {
	for name, nr := range tlsFunctions {
		a, size, ok := mod.Symbol(name)
		addr := uint64(a) + m.bias
		if !ok || size == 0 || p.unwindID[addr] {
			continue
		}
		p.know(addr)
		code, pad := ownCode(mod, a, size)
		// Operations that are not there keep the agent from its way for usual records.
		row := ring.Hook{Flags: ring.HookOutput, EnterOps: 1, ExitOps: 1, Hot: nr}
		if err := p.ownCall(ctx, m, code, addr, pad, row, hookSockets); err != nil {
			p.t.warn("@sockets: " + name + " of " + m.path + " is not recorded: " + err.Error())
		}
	}
}

// isMessage reports whether a system call moves bytes, and whether outwards.
func isMessage(nr uint32) (moves, out bool) {
	switch nr {
	case unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_SENDFILE,
		ring.TLSWrite, ring.TLSWriteEx:
		return true, true
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SPLICE,
		ring.TLSRead, ring.TLSReadEx:
		return true, false
	}
	return false, false
}
