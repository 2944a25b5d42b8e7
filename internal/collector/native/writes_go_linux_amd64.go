package native

import (
	"context"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// Programs of Go make their system calls in one function of the runtime, which has no frame and may stand at the end
// of a goroutine's stack: its stub makes those that write, and tells of them, on the agent's own stack.

// goSyscalls are its names from Go 1.18 on.
var goSyscalls = []string{"internal/runtime/syscall/linux.Syscall6", "internal/runtime/syscall.Syscall6",
	"runtime/internal/syscall.Syscall6"}

// goWrites are the system calls by which Go's libraries write.
var goWrites = []uint32{unix.SYS_WRITE, unix.SYS_WRITEV}

// goSockets are those by which they do something to sockets. Their stub is where a thread waits that reads.
var goSockets = []uint32{unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_READV, unix.SYS_WRITEV,
	unix.SYS_DUP3, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMMSG,
	unix.SYS_SHUTDOWN, unix.SYS_BIND, unix.SYS_LISTEN}

// dwarfRCX is RCX in DWARF's numbering.
const dwarfRCX = 2

// goSyscallOf is that function of a module; nil where it has none, or another than is known.
func goSyscallOf(mod *symbol.Module) (f *symbol.Function, code []byte, g hook.GoSyscall) {
	if !mod.Go || goImageOf(mod).err != nil {
		return nil, nil, g
	}
	fns := mod.Functions()
	for i := range fns {
		for _, name := range goSyscalls {
			if fns[i].Raw != name && fns[i].Name != name {
				continue
			}
			code, err := mod.Code(&fns[i])
			if err == nil {
				g, err = hook.AnalyzeGoSyscall(code)
			}
			if err == nil {
				return &fns[i], code, g
			}
		}
	}
	return nil, nil, g
}

// probeGoCalls makes the hook of a program of Go. It is made once: what is recorded of sockets is decided then.
func (p *process) probeGoCalls(ctx context.Context, m *loaded) error {
	f, code, g := goSyscallOf(m.mod)
	numbers := goWrites
	if p.t.socketsAsked() {
		numbers = goSockets
	}
	if f == nil || p.unwindID[uint64(f.Low)+m.bias] {
		return nil
	}
	addr := uint64(f.Low) + m.bias
	room := make([]byte, hook.MaxGoSyscallStub(len(numbers)))
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, uint64(len(room))+16)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	if p.patched(addr, addr+jumpBytes) {
		return nil
	}
	id := uint32(len(*p.hooks.Load()))
	w := &stubWriter{p: p, a: a, at: a.next}
	stub, err := hook.WriteGoSyscall(room, hook.Addr(w.at), hook.GoSpec{ID: id, Code: code, Addr: hook.Addr(addr),
		Enter: a.slot(slotGoEnter), Losses: a.slot(slotLosses)}, g, numbers)
	if err != nil {
		return nil // its output is read without a record
	}
	w.append(room, stub.Len)
	patch, err := hook.JumpPatch(hook.Addr(addr), stub.Entry)
	if err != nil {
		return nil
	}
	s := &site{addr: addr, to: uint64(stub.Entry), behind: uint64(stub.Relocated), patch: patch[:],
		orig: make([]byte, len(patch))}
	s.setMoves(stub.Map)
	p.unwindID[addr] = true
	*p.region.Hook(id) = ring.Hook{Flags: ring.HookOutput | ring.HookGo, ExitGPRs: dwarfRCX + 1, Sample: 1}
	atomic.StoreUint64(&p.region.Control().GoID, uint64(goImageOf(m.mod).GoID))
	w.hooks = append(w.hooks, &hooked{id: id, sites: []*site{s}, goes: true,
		own: &ownHook{flags: ring.HookOutput, addr: addr}})
	return w.flush()
}
