package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// With the pattern @locks the agent keeps which locks each thread holds, and in which order they are taken, in tables
// of the shared region (agent/locks.c). No call of it is an event: the tables are the record.

// hookLocks marks the hooks that @locks needs, for us alone.
const hookLocks = 1 << 20

// lockFunction is a function of a threads library that does something to a lock. Those of which the result or the
// duration matters run below a frame of ours, the others never do: some of them are left by cancellation.
type lockFunction struct {
	name string
	what uint8 // ring.LockMutex and so on
	slot int   // slotEnter: below a frame
	mode uint16
	// musl's functions call each other by these names: what is taken would be counted twice
	glibc bool
}

var lockFunctions = []lockFunction{
	{name: "pthread_mutex_lock", what: ring.LockMutex, slot: slotLockTake},
	{name: "pthread_mutex_unlock", what: ring.LockUnlock, slot: slotLockLeave},
	{name: "pthread_mutex_trylock", what: ring.LockTry, slot: slotEnter, glibc: true},
	{name: "pthread_mutex_timedlock", what: ring.LockTry, slot: slotEnter, glibc: true},
	{name: "pthread_mutex_clocklock", what: ring.LockTry, slot: slotEnter, glibc: true},
	{name: "pthread_rwlock_rdlock", what: ring.LockRead, slot: slotEnter},
	{name: "pthread_rwlock_wrlock", what: ring.LockWrite, slot: slotEnter},
	{name: "pthread_rwlock_unlock", what: ring.LockUnlock, slot: slotLockLeave},
	{name: "pthread_rwlock_tryrdlock", what: ring.LockTryRead, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_rwlock_trywrlock", what: ring.LockTry, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_rwlock_timedrdlock", what: ring.LockTryRead, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_rwlock_timedwrlock", what: ring.LockTry, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_rwlock_clockrdlock", what: ring.LockTryRead, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_rwlock_clockwrlock", what: ring.LockTry, slot: slotEnter, mode: ring.LockModeRW, glibc: true},
	{name: "pthread_spin_lock", what: ring.LockSpin, slot: slotEnter},
	{name: "pthread_spin_trylock", what: ring.LockTry, slot: slotEnter, mode: ring.LockModeSpin},
	{name: "pthread_spin_unlock", what: ring.LockUnlock, slot: slotLockLeave},
	{name: "pthread_cond_wait", what: ring.LockCond, slot: slotLockCall},
	{name: "pthread_cond_timedwait", what: ring.LockCond, slot: slotLockCall},
	{name: "pthread_cond_clockwait", what: ring.LockCond, slot: slotLockCall},
	{name: "pthread_mutex_init", what: ring.LockEnd, slot: slotLockCall},
	{name: "pthread_mutex_destroy", what: ring.LockEnd, slot: slotLockCall},
	{name: "pthread_rwlock_init", what: ring.LockEnd, slot: slotLockCall},
	{name: "pthread_rwlock_destroy", what: ring.LockEnd, slot: slotLockCall},
	{name: "pthread_create", what: ring.LockCreate, slot: slotEnter},
	{name: "pthread_join", what: ring.LockJoin, slot: slotLockCall},
	{name: "__lll_lock_wait_private", what: ring.LockPrivate, slot: slotEnter},
}

// slowPaths are the ends of the names of functions in which locks of other libraries are waited for. Where such a lock
// is free it is taken in the caller's own code, which is not seen.
var slowPaths = []string{"futex::Mutex::lock_contended", "futex::RwLock::read_contended",
	"futex::RwLock::write_contended", "RawMutex::lock_slow", "RawRwLock::lock_shared_slow",
	"RawRwLock::lock_exclusive_slow"}

// angles takes out what newer symbols of Rust's have around a type: <a::Mutex>::lock.
var angles = strings.NewReplacer("<", "", ">", "")

// locksWanted reports whether a pattern asks for locks. probeMu is held.
func (t *target) locksWanted() bool {
	return !t.stopping.Load() && !t.leaving.Load() &&
		slices.ContainsFunc(t.probes, func(p probe) bool { return p.pat.Locks() })
}

// recordLocks puts the hooks in place. probeMu is held.
func (p *process) recordLocks(ctx context.Context) error {
	for _, m := range p.modules {
		if p.unwindID[m.lo+1] { // looked at for this; another use has lo itself
			continue
		}
		if m.path == p.loader.path && !isLibc(m, false) {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		p.know(m.lo + 1)
		p.hookLockFunctions(ctx, m, mod)
	}
	add := p.lockHooks(false)
	if len(add) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error {
		for i := range p.region.Rings() { // what was held when this was taken away is not any more
			if atomic.LoadUint32(p.region.State(i)) == ring.RingFree {
				break
			}
			atomic.StoreUint32(&p.region.Header(i).Locks.Count, 0)
		}
		return p.apply(add, nil)
	})
}

// hookLockFunctions makes the hooks of one module. One that cannot be hooked is told of.
func (p *process) hookLockFunctions(ctx context.Context, m *loaded, mod *symbol.Module) {
	_, _, glibc := mod.Symbol("__pthread_mutex_lock")
	versions := lockVersions(mod)
	for i := range lockFunctions {
		f := &lockFunctions[i]
		a, size, ok := mod.Symbol(f.name)
		if !ok || size == 0 || f.glibc && !glibc {
			continue
		}
		p.hookLock(ctx, m, mod, f, a, size, glibc)
		for _, v := range versions[f.name] {
			p.hookLock(ctx, m, mod, f, v.Low, v.Size(), glibc)
		}
		if f.what == ring.LockMutex {
			if a, size, ok := waitFunction(mod, a, size); ok {
				p.hookLock(ctx, m, mod, &lockFunction{name: "__lll_lock_wait", what: ring.LockWaits, slot: slotEnter}, a,
					size, glibc)
			} else if glibc {
				p.mu.Lock()
				p.noLocks = append(p.noLocks, "waits for mutexes (their slow path was not found in "+m.path+")")
				p.mu.Unlock()
			}
		}
	}
	fns := mod.Functions()
	for i := range fns {
		if fns[i].Language != symbol.LangRust && !strings.HasPrefix(fns[i].Raw, "_") {
			continue
		}
		name := angles.Replace(fns[i].Name)
		for _, end := range slowPaths {
			if strings.HasSuffix(name, end) {
				p.hookLock(ctx, m, mod, &lockFunction{name: fns[i].Name, what: ring.LockSlow, slot: slotEnter}, fns[i].Low,
					fns[i].Size(), false)
			}
		}
	}
}

// lockVersions finds the functions of a file by the names of lockFunctions: of some there are several versions.
func lockVersions(mod *symbol.Module) map[string][]*symbol.Function {
	by := map[string][]*symbol.Function{}
	for i := range lockFunctions {
		by[lockFunctions[i].name] = nil
	}
	fns := mod.Functions()
	for i := range fns {
		for _, name := range append([]string{fns[i].Name}, fns[i].Aliases...) {
			name, _, _ = strings.Cut(name, "@")
			if have, ok := by[name]; ok {
				by[name] = append(have, &fns[i])
			}
		}
	}
	return by
}

// hookLock makes one hook.
func (p *process) hookLock(ctx context.Context, m *loaded, mod *symbol.Module, f *lockFunction, a symbol.Addr,
	size uint64, glibc bool) {
	addr := uint64(a) + m.bias
	if p.unwindID[addr] {
		return
	}
	p.know(addr)
	code, pad := ownCode(mod, a, size)
	row := ring.Hook{Flags: ring.HookLock, EnterGPRs: f.what, Hot: f.mode}
	if glibc {
		row.ExitGPRs = 1 // its mutexes say who has them
	}
	var err error
	if f.slot == slotEnter {
		row.EnterOps, row.ExitOps = 1, 1 // keeps the agent from its way for usual records
		err = p.ownCall(ctx, m, code, addr, pad, row, hookLocks)
	} else {
		err = p.ownEntry(ctx, m, code, addr, pad, row, f.slot)
	}
	if err != nil {
		p.mu.Lock()
		p.noLocks = append(p.noLocks, f.name+", which cannot be hooked")
		p.mu.Unlock()
	}
}

// ownEntry makes a hook by which the agent is called before a function, without a frame.
func (p *process) ownEntry(ctx context.Context, m *loaded, code []byte, addr uint64, pad int, row ring.Hook,
	slot int) error {
	h, err := p.own(ctx, nil, m, code, addr, pad, hookLocks, 0, slot)
	if err == nil {
		*p.region.Hook(h.id) = row
	}
	return err
}

// lockHooks are the places of hooks that @locks needs, and that are active or not.
func (p *process) lockHooks(active bool) (sites []*site) {
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.flags == hookLocks && h.active() == active && p.unwindID[h.own.addr] {
			sites = append(sites, h.sites...)
		}
	}
	return sites
}

// retireLocks takes the hooks out, unless they are wanted. probeMu is held.
func (p *process) retireLocks(ctx context.Context, wanted bool) error {
	if wanted || !p.injected.Load() || p.region == nil {
		return nil
	}
	remove := p.lockHooks(true)
	if len(remove) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
}

// countLockHooks is how many functions of how many processes are hooked for @locks.
func (t *target) countLockHooks() (n int) {
	for _, p := range t.processes() {
		n += len(p.lockHooks(true))
	}
	return n
}

// waitFunction finds the function in which glibc's mutexes are waited for, which libraries without debug information
// do not name: pthread_mutex_lock calls it, and it exchanges the word and makes the system call futex.
func waitFunction(mod *symbol.Module, lock symbol.Addr, size uint64) (a symbol.Addr, n uint64, ok bool) {
	if a, n, ok = mod.Symbol("__lll_lock_wait"); ok && n > 0 {
		return a, n, true
	}
	code, err := mod.BytesAt(lock, int(size))
	if err != nil {
		return 0, 0, false
	}
	for at := 0; at < len(code); {
		in, err := hook.Decode(code[at:])
		if err != nil {
			return 0, 0, false
		}
		at += in.Len
		if in.Len != 5 || code[at-5] != 0xe8 {
			continue
		}
		to := lock + symbol.Addr(at) + symbol.Addr(int64(int32(binary.LittleEndian.Uint32(code[at-4:]))))
		if n := waitSize(mod, to); n > 0 {
			return to, n, true
		}
	}
	return 0, 0, false
}

// waitSize is the length of a function that waits for a mutex, 0 of any other.
func waitSize(mod *symbol.Module, a symbol.Addr) uint64 {
	const most = 128
	code, err := mod.BytesAt(a, most)
	if err != nil {
		return 0
	}
	for at := 0; at < most; {
		in, err := hook.Decode(code[at:])
		if err != nil {
			return 0
		}
		at += in.Len
		if in.Len == 1 && code[at-1] == 0xc3 { // ret
			whole := code[:at]
			futex := bytes.Contains(whole, []byte{0xb8, 0xca, 0, 0, 0}) && bytes.Contains(whole, []byte{0x0f, 0x05})
			if futex && bytes.Contains(whole, []byte{0x87, 0x07}) { // xchg %eax,(%rdi)
				return uint64(at)
			}
			return 0
		}
	}
	return 0
}

// noLocks is said where the pattern finds nothing.
func (t *target) noLocks() string {
	if m := t.mainModule(); m != nil && m.Go {
		return "@locks: Go's locks are not seen; debug_session with threads tells what goroutines wait for"
	}
	return fmt.Sprintf("@locks: no threads library in the program, and none of %d slow paths of Rust's", len(slowPaths))
}
