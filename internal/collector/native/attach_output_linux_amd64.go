package native

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
)

// A program that was attached to keeps its files: a pipe of ours in their place would break it when the daemon dies.
// What it writes is recorded where it passes its C library: hooks of ours stand at write and writev, through which
// stdio, iostreams and Rust's std go, too. They stand while the program is attached to.

// wantsOutput reports whether what the program writes is recorded by hooks.
func (t *target) wantsOutput() bool {
	return t.cmd.PID != 0 && !t.leaving.Load() && !t.stopping.Load()
}

// writers are the functions that are hooked for output, by how they take what to write: a pointer and a length, or a
// vector.
var writers = []struct {
	name   string
	vector uint8
}{{"write", 0}, {"writev", 1}, {"__write_nocancel", 0}}

// isLibc reports whether a module has the functions through which the program writes.
func isLibc(m *loaded, static bool) bool {
	base := filepath.Base(m.path)
	for _, prefix := range []string{"libc.so", "libc-", "libc.musl", "ld-musl", "libpthread"} {
		if strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return static
}

// recordOutput puts the hooks for output in place. probeMu is held.
func (p *process) recordOutput(ctx context.Context) error {
	for _, m := range p.modules {
		mod, err := p.open(m)
		if err != nil || !isLibc(m, mod.Static && m == p.modules[0] && m.path != p.loader.path) {
			continue
		}
		for _, w := range writers {
			a, size, ok := mod.Symbol(w.name)
			addr := uint64(a) + m.bias
			if !ok || size == 0 || p.unwindID[addr] {
				continue
			}
			p.unwindID[addr] = true
			code, pad := ownCode(mod, a, size)
			// Operations that are not there keep the agent from its way for usual records.
			row := ring.Hook{Flags: ring.HookOutput, EnterGPRs: w.vector, EnterOps: 1, ExitOps: 1}
			if err := p.ownCall(ctx, m, code, addr, pad, row, ring.HookOutput); err != nil {
				p.t.log.Warn("hook "+w.name, "pid", p.pid, "module", m.path, "err", err)
				p.t.warn(fmt.Sprintf("what process %d writes through %s of %s is not recorded: %v", p.pid, w.name,
					filepath.Base(m.path), err))
			}
		}
	}
	var add []*site
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.flags == ring.HookOutput && !h.active() && p.unwindID[h.own.addr] {
			add = append(add, h.sites...)
		}
	}
	if len(add) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(add, nil) })
}

// retireOutput takes the hooks for output out, unless they are wanted. probeMu is held.
func (p *process) retireOutput(ctx context.Context, wanted bool) error {
	var remove []*site
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.ofWrites() && h.active() {
			remove = append(remove, h.sites...)
		}
	}
	if wanted || len(remove) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
}

// ownCall makes an own hook of such a function: the agent keeps its arguments at the entry, and reads at the exit what
// was written or read.
func (p *process) ownCall(ctx context.Context, m *loaded, code []byte, addr uint64, pad int, row ring.Hook,
	flags uint32) error {
	an := hook.Analyze(code, hook.Addr(addr), pad, hook.Options{})
	if an.Patch != hook.PatchJump {
		return fmt.Errorf("cannot be patched: %s", an.Reason)
	}
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, 512)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	id := uint32(len(*p.hooks.Load()))
	w := &stubWriter{p: p, a: a, at: a.next}
	stub, err := w.add(hook.Spec{Kind: hook.CallThrough, ID: id, Code: code, Analysis: &an, EnterSlot: a.slot(slotEnter),
		ExitSlot: a.slot(slotExit), CopySlot: a.slot(slotCopy)})
	if err != nil {
		return err
	}
	s, err := entrySite(&an, stub)
	if err != nil {
		return err
	}
	*p.region.Hook(id) = row
	w.hooks = append(w.hooks, &hooked{id: id, sites: []*site{s}, own: &ownHook{flags: flags, addr: addr}})
	return w.flush()
}

// output turns a record of written bytes into an event.
func (d *drainer) output(rs *ringState, rec *ring.Rec) {
	const head = 16
	if len(rec.Payload) < head {
		return
	}
	le := binary.LittleEndian
	fd, n, more := le.Uint32(rec.Payload), le.Uint32(rec.Payload[4:]), le.Uint64(rec.Payload[8:])
	e := event.Event{TS: d.ts(rec.TSC), Kind: event.Stdout, Thread: rs.lanes.name(0), Payload: rec.Payload[head:]}
	if fd == 2 {
		e.Kind = event.Stderr
	}
	e.Payload = e.Payload[:min(int(n), len(e.Payload))]
	if len(e.Payload) > 0 {
		d.events = append(d.events, e)
	}
	if more == 0 {
		return
	}
	b, err := json.Marshal(map[string]any{"count": 1, "threadId": rs.tid, "bytes": more,
		"reason": fmt.Sprintf("of one write of a program that was attached to, %d KiB are recorded",
			ring.OutputChunk*ring.OutputChunks>>10)})
	if err == nil {
		d.events = append(d.events, event.Event{TS: e.TS, Kind: event.Dropped, Thread: e.Thread, Payload: b})
		d.t.sink.Dropped(1)
	}
}

// outputLimits says what is not seen of an attached program's output.
const outputLimits = "output is what the C library's write and writev put into descriptors 1 and 2 since the attach: " +
	"not raw system calls (musl's stdio, some static programs), " +
	"sendfile, splice or io_uring, other descriptors of the same file, or text that still waits in the program's buffers"

// finishCopy does what is left of the agent's copy loop, in which a thread stands that is to leave the agent: it would
// be stepped through it byte by byte. Where that cannot be, nothing is changed. Tracer thread only.
func (p *process) finishCopy(th *thread, regs *ptrace.Regs) {
	const insn = 2 // rep movsb
	if !p.injected.Load() || regs.Rip != p.regionAddr+p.blob.FaultLo || regs.Rcx == 0 || regs.Rcx > ring.MaxPayload {
		return
	}
	b := make([]byte, regs.Rcx)
	if p.mem.Read(regs.Rsi, b) != nil || p.mem.Write(regs.Rdi, b) != nil {
		return
	}
	was := *regs
	regs.Rsi, regs.Rdi, regs.Rcx = regs.Rsi+regs.Rcx, regs.Rdi+regs.Rcx, 0
	regs.Rip += insn
	if ptrace.SetRegs(th.tid, regs) != nil {
		*regs = was
	}
}
