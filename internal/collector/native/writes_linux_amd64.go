package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// A program that was launched writes into files that the session reads. Who wrote what and when is recorded behind the
// system calls that write: a probe stands behind each of them that can be found in the C library and in the program
// itself. It changes no frame and no register. The session lays the bytes at these records; those without one keep the
// time at which they were read.

// wantsWrites reports whether a process's writes are to be recorded: it can reach one of the session's files. probeMu
// is held.
func (t *target) wantsWrites(p *process) bool {
	if _, ok := t.sink.(collector.WriteSink); !ok || t.cmd.NoWrites || t.out == [2]ring.OutFile{} || t.leaving.Load() ||
		t.stopping.Load() || p.sealed() != nil {
		return false
	}
	dir := fmt.Sprintf("/proc/%d/fd", p.pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		var st unix.Stat_t
		return unix.Stat(filepath.Join(dir, f.Name()), &st) == nil &&
			slices.Contains(t.out[:], ring.OutFile{Dev: st.Dev, Ino: st.Ino})
	})
}

// outFiles says which files the program is given to write to.
func outFiles(c *collector.Command) (out [2]ring.OutFile) {
	for i, f := range []*os.File{c.Stdout, c.Stderr} {
		var st unix.Stat_t
		if f != nil && unix.Fstat(int(f.Fd()), &st) == nil && (st.Mode&unix.S_IFMT == unix.S_IFIFO || c.Terminal) {
			out[i] = ring.OutFile{Dev: st.Dev, Ino: st.Ino}
		}
	}
	if out[1] == out[0] {
		out[1] = ring.OutFile{}
	}
	return out
}

// writeCalls are the system calls that write, and how their registers are read.
var writeCalls = map[uint32]uint8{
	unix.SYS_WRITE: ring.WriteBytes, unix.SYS_PWRITE64: ring.WriteBytes, unix.SYS_WRITEV: ring.WriteVector,
	unix.SYS_PWRITEV:  ring.WriteVector,
	unix.SYS_PWRITEV2: ring.WriteVector, unix.SYS_VMSPLICE: ring.WriteVector, unix.SYS_SENDFILE: ring.WriteFile,
	unix.SYS_SPLICE: ring.WriteSplice, unix.SYS_TEE: ring.WriteTee,
}

// callSite is the place behind a system call that writes, or does something to sockets.
type callSite struct {
	low  symbol.Addr // of the function's code
	code []byte
	off  int
	nr   sysNumber
}

// writes reports whether the call at a site may write.
func (s *callSite) writes() bool { return s.nr.mayWrite() }

// row is the hook table's entry of the probe there.
func (s *callSite) row() ring.Hook {
	kind, writes := writeCalls[s.nr.value]
	if !writes {
		kind = ring.WriteNone
	}
	return ring.Hook{Flags: ring.HookOutput, EnterGPRs: kind, ExitGPRs: s.nr.reg, EnterOps: s.nr.value}
}

type callSitesKey struct{}

// maxScanned bounds the code that is searched for system calls: some 10 ms, once for a file.
const maxScanned = 64 << 20

func callSites(mod *symbol.Module) []callSite {
	return mod.Memo(callSitesKey{}, func() any { return findCallSites(mod) }).([]callSite)
}

func findCallSites(mod *symbol.Module) (sites []callSite) {
	for _, s := range mod.Segments() {
		if !s.Exec || s.Filesz > maxScanned {
			continue
		}
		text, err := mod.BytesAt(s.Vaddr, int(s.Filesz))
		if err != nil {
			continue
		}
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte{0x0f, 0x05})
			if i < 0 {
				break
			}
			at += i + 2
			if site, ok := callSiteAt(mod, s.Vaddr+symbol.Addr(at-2)); ok {
				sites = append(sites, site)
			}
		}
	}
	return sites
}

// callSiteAt says whether a system call instruction at a place is one that writes or does something to sockets, and can
// have a probe behind it.
func callSiteAt(mod *symbol.Module, at symbol.Addr) (w callSite, ok bool) {
	if f, _, found := mod.Lookup(at); found {
		if onGoroutine(mod, f) { // its stack may be too small for the agent
			return w, false
		}
		w.low = f.Low
		w.code, _ = mod.Code(f)
	} else if e, found := mod.FrameEntry(at); found && e.Hi-e.Lo < maxDecoded && !mod.Go {
		w.low = e.Lo
		w.code, _ = mod.BytesAt(e.Lo, int(e.Hi-e.Lo))
	}
	if w.code == nil && !mod.Go {
		w.low, w.code = aroundCall(mod, at)
	}
	if len(w.code) < int(at-w.low)+2 {
		return w, false
	}
	nr, known := callNumber(w.code, int(at-w.low))
	if !known || !nr.matters() {
		return w, false
	}
	w.off, w.nr = int(at-w.low)+2, nr
	an := hook.AnalyzeAt(w.code, hook.Addr(w.low), w.off, 0, hook.Options{})
	return w, an.Patch == hook.PatchJump
}

// aroundCall is the code around a system call of a file that does not tell where its functions begin, as musl's: from
// where its number is loaded on. None: something else may jump to what stands behind the call.
func aroundCall(mod *symbol.Module, at symbol.Addr) (low symbol.Addr, code []byte) {
	const before, behind = 40, 32
	b, err := mod.BytesAt(at-before, before+2+behind)
	if err != nil {
		return 0, nil
	}
	for off := before - 5; off >= 0; off-- {
		if (b[off] != 0xb8 || b[off+3] != 0 || b[off+4] != 0) &&
			(b[off]&0xf8 != 0x48 || b[off+1] != 0x89 || b[off+2]&0xc7 != 0xc0) {
			continue
		}
		if nr, known := callNumber(b[off:], before-off); known && nr.matters() && !jumpedInto(mod, at+2) {
			return at - before + symbol.Addr(off), b[off:]
		}
	}
	return 0, nil
}

// jumpedInto reports whether bytes anywhere in a file's code would be a jump to between a place and where a patch there
// may end.
func jumpedInto(mod *symbol.Module, at symbol.Addr) bool {
	const most = 20
	for _, s := range mod.Segments() {
		if !s.Exec || s.Filesz > maxScanned {
			continue
		}
		text, err := mod.BytesAt(s.Vaddr, int(s.Filesz))
		if err != nil {
			return true
		}
		lands := func(next int, rel int64) bool {
			to := int64(s.Vaddr) + int64(next) + rel
			return to > int64(at) && to < int64(at)+most
		}
		for i := 0; i+6 <= len(text); i++ {
			switch c := text[i]; {
			case c == 0xe8 || c == 0xe9 || c&0xf0 == 0x80 && i > 0 && text[i-1] == 0x0f:
				if lands(i+5, int64(int32(binary.LittleEndian.Uint32(text[i+1:])))) {
					return true
				}
			case c == 0xeb || c&0xf0 == 0x70:
				if near := int64(s.Vaddr) + int64(i) - int64(at); near > -200 && near < 200 && lands(i+2, int64(int8(text[i+1]))) {
					return true
				}
			}
		}
	}
	return false
}

// sysNumber is that of a system call: a value, or the register that has it, also behind the call.
type sysNumber struct {
	value uint32
	reg   uint8 // + 1, in DWARF's numbering
}

// matters reports whether a probe behind the call has something to tell.
func (n sysNumber) matters() bool { return n.mayWrite() || socketCalls[n.value] }

func (n sysNumber) mayWrite() bool {
	_, writes := writeCalls[n.value]
	return writes || n.reg != 0
}

// kept are the registers, by their numbers in instructions, that hold their values across a system call and its
// preparation, as DWARF numbers them.
var kept = map[byte]uint8{3: 3, 5: 6, 12: 12, 13: 13, 14: 14, 15: 15}

// callNumber returns which system call the instruction at off makes, if the code just before it says so.
func callNumber(code []byte, off int) (nr sysNumber, known bool) {
	for at := 0; at < off; {
		in, err := hook.Decode(code[at:])
		if err != nil {
			return nr, false
		}
		b := code[at : at+in.Len]
		from, isKept := kept[in.ModRM>>3&7|in.Rex&4<<1]
		switch {
		case in.Map == 0 && in.Op == 0xb8 && in.Rex&1 == 0 && in.Len == 5: // mov $nr,%eax
			nr, known = sysNumber{value: binary.LittleEndian.Uint32(b[1:])}, true
		case in.Map == 0 && in.Op == 0xc7 && in.ModRM == 0xc0 && in.Rex&1 == 0 && in.Len >= 6: // mov $nr,%eax or %rax
			nr, known = sysNumber{value: binary.LittleEndian.Uint32(b[in.Len-4:])}, true
		case in.Map == 0 && (in.Op == 0x31 || in.Op == 0x33) && in.ModRM == 0xc0 && in.Rex&5 == 0: // xor %eax,%eax
			nr, known = sysNumber{}, true
		// mov reg,%rax
		case in.Map == 0 && in.Op == 0x89 && in.Enc == hook.EncLegacy && in.ModRM>>6 == 3 && in.ModRM&7 == 0 &&
			in.Rex&1 == 0 && isKept:
			nr, known = sysNumber{reg: from + 1}, true
		case !keepsRAX(&in):
			known = false
		}
		at += in.Len
		if at == off {
			return nr, known && in.Flow == hook.FlowNone
		}
	}
	return nr, false
}

// keepsRAX reports whether an instruction is one of those that prepare the arguments of a system call, and not its
// number.
func keepsRAX(in *hook.Inst) bool {
	reg, rm := in.ModRM>>3&7|in.Rex&4<<1, in.ModRM&7|in.Rex&1<<3
	if in.Enc != hook.EncLegacy || in.Map != 0 || in.Flow != hook.FlowNone {
		return false
	}
	switch {
	case in.Op == 0x89: // mov reg,rm
		return in.ModRM>>6 != 3 || rm != 0
	case in.Op == 0x8b, in.Op == 0x8d, in.Op == 0x63: // mov, lea, movslq
		return reg != 0
	case in.Op == 0x31, in.Op == 0x33: // xor
		return reg != 0 && rm != 0
	case in.Op > 0xb8 && in.Op <= 0xbf, in.Op == 0xb8 && in.Rex&1 != 0:
		return true
	case in.Op == 0xc7:
		return in.ModRM>>6 != 3 || rm != 0
	}
	return false
}

// mayWrite reports whether a module is searched for system calls that write: the program itself and its C library.
func mayWrite(m *loaded, first bool) bool {
	return first || isLibc(m, false)
}

// recordWrites puts the probes behind system calls that write in place. probeMu is held.
func (p *process) recordWrites(ctx context.Context) error {
	p.region.Control().Out = p.t.out
	p.paceLines()
	for i, m := range p.modules {
		mod, err := p.open(m)
		if err != nil || !mayWrite(m, i == 0) {
			continue
		}
		if err := p.probeGoCalls(ctx, m); err != nil {
			return err
		}
		sites := slices.DeleteFunc(slices.Clone(callSites(mod)), func(s callSite) bool { return !s.writes() })
		if len(sites) > 0 && !p.unwindID[uint64(sites[0].low)+m.bias+uint64(sites[0].off)] {
			if err := p.probeCalls(ctx, m, sites, ring.HookOutput); err != nil {
				return err
			}
		}
		for name, flags := range map[string]uint32{"prctl": ring.HookSeccomp, "setvbuf": ring.HookSetvbuf,
			"setlinebuf": ring.HookSetvbuf, "setbuffer": ring.HookSetvbuf} {
			if a, _, ok := mod.Symbol(name); ok && !p.unwindID[uint64(a)+m.bias] {
				p.ownHook(ctx, m, name, flags, 0)
			}
		}
	}
	var add []*site
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.ofWrites() && !h.active() && p.unwindID[h.own.addr] {
			add = append(add, h.sites...)
		}
	}
	if len(add) == 0 {
		return nil
	}
	p.t.sink.(collector.WriteSink).Wrote(nil)
	return p.t.tracer.Do(ctx, func() error { return p.apply(add, nil) })
}

// ofWrites reports a hook of those that tell who wrote what.
func (o *ownHook) ofWrites() bool {
	return o.flags == ring.HookOutput || o.flags == ring.HookSeccomp || o.flags == ring.HookSetvbuf
}

// probeCalls makes probes behind system calls of one module, as own hooks with those flags.
func (p *process) probeCalls(ctx context.Context, m *loaded, sites []callSite, flags uint32) error {
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, uint64(len(sites))*2*256)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	w := &stubWriter{p: p, a: a, at: a.next}
	for i := range sites {
		s := &sites[i]
		w.probe(m, s, s.off, s.row(), flags) // one that cannot be moved is read without a record
	}
	return w.flush()
}

// probe makes one probe, at an offset in a site's function. p.mu is held.
func (w *stubWriter) probe(m *loaded, s *callSite, off int, row ring.Hook, flags uint32) {
	an := hook.AnalyzeAt(s.code, hook.Addr(s.low), off, 0, hook.Options{})
	an.Addr += hook.Addr(m.bias)
	addr := uint64(an.Site())
	if an.Patch != hook.PatchJump || w.p.unwindID[addr] || w.p.patched(addr, addr+jumpBytes) {
		return
	}
	id := uint32(len(*w.p.hooks.Load()) + len(w.hooks))
	stub, err := w.add(hook.Spec{Kind: hook.Probe, ID: id, Code: s.code, Analysis: &an, EnterSlot: w.a.slot(slotProbe)})
	if err != nil {
		return
	}
	st, err := entrySite(&an, stub)
	if err != nil {
		return
	}
	w.p.unwindID[addr] = true
	*w.p.region.Hook(id) = row
	w.hooks = append(w.hooks, &hooked{id: id, sites: []*site{st}, own: &ownHook{flags: flags, addr: addr}})
}

// writes keeps what the records of a round tell of output, for the sink.
func (d *drainer) wrote(rs *ringState, rec *ring.Rec) {
	if len(rec.Payload) < 16+2*ring.WrotePrint {
		return
	}
	le := binary.LittleEndian
	known := min(le.Uint32(rec.Payload[4:]), ring.WrotePrint)
	stream := event.Stdout
	if le.Uint32(rec.Payload) == 2 {
		stream = event.Stderr
	}
	print := rec.Payload[16:]
	var thread event.ThreadID
	if hooks := *rs.p.hooks.Load(); int(rec.Hook) < len(hooks) && hooks[rec.Hook] != nil && hooks[rec.Hook].goes {
		ls, sp := d.goLanes(rs, rec.SP)
		thread = ls.at(sp).id
	} else {
		thread = rs.lanes.name(0)
	}
	d.writes = append(d.writes, collector.Write{
		TS: d.ts(rec.TSC), Thread: thread, Stream: stream, N: int64(min(le.Uint64(rec.Payload[8:]), 1<<40)),
		Head: bytes.Clone(print[:known]), Tail: bytes.Clone(print[ring.WrotePrint:][:known]),
	})
}

// tellWrites passes them on, before the calls of the same round.
func (d *drainer) tellWrites() {
	if k, ok := d.t.sink.(collector.WriteSink); ok && len(d.writes) > 0 {
		k.Wrote(d.writes)
	}
	d.writes = d.writes[:0]
}

// toldWrites says that all have been passed on that were recorded until then.
func (d *drainer) toldWrites(until int64) {
	if k, ok := d.t.sink.(collector.WriteSink); ok {
		k.WroteAll(until)
	}
}

// lineFlushes are how many lines stdout may flush at once, and how many a second in the long run, before it is left to
// fill its buffer as it would without us: 32,768 cost some 50 ms, 20,000 a second some 3%.
const (
	lineBurst   = 32 << 10
	lineEvery   = 50 * time.Microsecond
	tracedBurst = 256 << 10 // where functions are traced, whose calls cost as much
)

// lineBuffer makes the C library's stdout line-buffered, as on a terminal, if it goes to the session, so that output
// lands on the timeline when it happens. The program may still choose otherwise by setvbuf.
func (p *process) lineBuffer(mods []*loaded) {
	var st unix.Stat_t
	if p.t.cmd.Lines == "off" || unix.Stat(fmt.Sprintf("/proc/%d/fd/1", p.pid), &st) != nil ||
		!slices.Contains(p.t.out[:], ring.OutFile{Dev: st.Dev, Ino: st.Ino}) {
		return
	}
	for _, m := range mods {
		mod, err := p.open(m)
		if err != nil || m != mods[0] && !isLibc(m, false) {
			continue
		}
		if a, _, ok := mod.Symbol("_IO_2_1_stdout_"); ok {
			var b [4]byte
			at := uint64(a) + m.bias
			if p.mem.Read(at, b[:]) != nil {
				continue
			}
			flags := binary.LittleEndian.Uint32(b[:])
			if flags>>16 != 0xfbad { // _IO_MAGIC: else this is not the structure we know
				continue
			}
			const ioLineBuf = 0x200 // _IO_LINE_BUF of glibc's FILE._flags, at offset 0
			binary.LittleEndian.PutUint32(b[:], flags|ioLineBuf)
			if p.mem.Write(at, b[:]) == nil {
				p.stdout, p.stdoutKind = at, 1
			}
			return
		}
		if a, _, ok := mod.Symbol("stdout"); ok {
			if file, ok := p.muslStdout(m, mod, a); ok {
				const svb = 64 // F_SVB: setvbuf was called, so that the first write does not look for a terminal
				if p.mem.Write(file, []byte{5 | svb}) == nil {
					p.stdout, p.stdoutKind = file, 2
				}
				return
			}
		}
	}
}

// paceLines tells the agent how many lines stdout may flush.
func (p *process) paceLines() {
	c := p.region.Control()
	if p.stdoutKind == 0 || p.t.cmd.Lines == "always" || c.Stdout != 0 {
		return
	}
	c.LineMost, c.LineTicks = lineBurst, max(p.t.rt.clock.TicksIn(lineEvery), 1)
	if len(p.t.probes) > 0 {
		c.LineMost = tracedBurst
	}
	c.LineLeft, c.LineTSC = c.LineMost, p.t.rt.clock.Now()
	c.Stdout, c.LineKind = p.stdout, p.stdoutKind
}

// muslStdout is where musl's stdout is, if that is what a symbol leads to and nobody has written to it yet.
func (p *process) muslStdout(m *loaded, mod *symbol.Module, at symbol.Addr) (uint64, bool) {
	var b [148]byte
	if p.mem.Read(uint64(at)+m.bias, b[:8]) != nil {
		return 0, false
	}
	file := binary.LittleEndian.Uint64(b[:])
	if file == 0 { // it is relocated later
		words := map[symbol.Addr]symbol.Addr{at: 0}
		mod.Relocated(words)
		if words[at] == 0 {
			return 0, false
		}
		file = uint64(words[at]) + m.bias
	}
	if file == 0 || p.mem.Read(file, b[:]) != nil {
		return 0, false
	}
	le := binary.LittleEndian
	const permanentNoRead, svb = 5, 64
	flags := le.Uint32(b[:])
	return file, flags&^svb == permanentNoRead && le.Uint32(b[120:]) == 1 && le.Uint32(b[144:]) == '\n'
}
