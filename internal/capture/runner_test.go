//go:build linux && amd64

package capture

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// The runner checks plans without the engine: it runs a program under ptrace with a breakpoint at
// every function, and does what the agent does over the registers it finds.

type observed struct {
	name   string
	fn     *Function
	walks  *Walks
	args   value.Object
	ret    value.Value
	hasRet bool
	done   bool
	saved  [6]uint64
}

// machineState is what a plan reads.
type machineState struct {
	memory func(addr uint64, n int) []byte // instead of the process's
	pid    int
	gpr    [16]uint64 // by DWARF number
	fp     [512]byte
	cfa    uint64

	saved *[6]uint64 // argument registers at the entry of the call
}

func readState(t *testing.T, pid int) (*machineState, syscall.PtraceRegs) {
	t.Helper()
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &r); err != nil {
		t.Fatalf("get registers: %v", err)
	}
	fp, err := fpregs(pid)
	if err != nil {
		t.Fatalf("get vector registers: %v", err)
	}
	s := &machineState{pid: pid, fp: fp}
	s.gpr = [16]uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13,
		r.R14, r.R15}
	return s, r
}

func (s *machineState) read(addr uint64, n int) []byte {
	if s.memory != nil {
		return s.memory(addr, n)
	}
	b := make([]byte, n)
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", s.pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	if addr >= 1<<62 {
		return nil
	}
	if k, _ := f.ReadAt(b, int64(addr)); k < n {
		return b[:k]
	}
	return b
}

// run executes one side of a plan as the agent does.
func (s *machineState) run(first []uint8, ops []ring.Op, walks *Walks, depth int) []byte {
	a := newInterp(s.read, walks, depth)
	for _, r := range first {
		a.p = binary.LittleEndian.AppendUint64(a.p, s.gpr[r])
	}
	for _, op := range ops {
		walk := uint16(op.Slot) | uint16(op.Dst)<<8
		switch op.Code {
		case ring.OpSave:
			for i, r := range argGPRs {
				s.saved[i] = s.gpr[r]
			}
		case ring.OpSaved:
			a.p = binary.LittleEndian.AppendUint64(a.p, s.saved[op.Src])
		case ring.OpReg:
			a.p = binary.LittleEndian.AppendUint64(a.p, s.gpr[op.Src])
		case ring.OpXMM:
			a.p = append(a.p, s.fp[160+16*int(op.Src):][:op.Size]...)
		case ring.OpST0:
			a.p = append(append(a.p, s.fp[32+16*int(op.Src):][:10]...), 0, 0, 0, 0, 0, 0)
		case ring.OpStack:
			b := s.read(s.cfa+uint64(int64(op.Off)), int(op.Size))
			a.p = append(a.p, append(b, make([]byte, int(op.Size)-len(b))...)...)
		case ring.OpRoot:
			at := binary.LittleEndian.Uint64(a.p[op.SrcOff:])
			if at == 0 {
				break
			}
			at += uint64(int64(op.Off))
			switch op.Src {
			case rootText:
				a.textNode(at, uint64(op.Size), walk, 1)
			case rootObject:
				a.copyNode(at, uint64(op.Size), walk, 0)
			default:
				a.copyNode(at, uint64(op.Size), walk, 1)
			}
		case ring.OpGather:
			switch op.Src {
			case 0:
				a.node(value.GatherAddr(op.Off), walk, 0)
			case 1:
				a.p = append(a.p, a.p[op.SrcOff:][:op.Size]...)
			default:
				n := a.nodes[len(a.nodes)-1]
				binary.LittleEndian.PutUint32(a.p[n.at+8:], uint32(len(a.p)-n.bytes))
			}
			if op.Src == 1 {
				continue // parts are not padded
			}
		}
		a.pad()
	}
	a.walkAll()
	return a.p
}

// trace runs a program and returns what every function of its own that is named f<number> showed.
func trace(t *testing.T, bin string) map[string]*observed {
	t.Helper()
	return traceBodies(t, bin, "")
}

// traceBodies does so for functions whose names have suffix behind the number.
func traceBodies(t *testing.T, bin, suffix string) map[string]*observed {
	t.Helper()
	m, err := symbol.Open(bin, symbol.Options{})
	if err != nil {
		t.Fatalf("open %s: %v", bin, err)
	}
	defer m.Close()
	out := map[string]*observed{}
	byAddr := map[uint64]*observed{}
	walks := NewWalks(nil, nil)
	fns := m.Functions()
	for i := range fns {
		f := &fns[i]
		name, ok := strings.CutSuffix(f.Name, suffix)
		if !ok {
			continue
		}
		name = name[strings.LastIndexByte(name, ':')+1:]
		var n int
		if _, err := fmt.Sscanf(name, "f%d", &n); err != nil || name != fmt.Sprintf("f%d", n) || !f.HasDWARF {
			continue
		}
		c, err := Compile(m, f, Options{Depth: 1, Walks: walks})
		if err != nil {
			t.Errorf("compile %s: %v", f.Name, err)
			continue
		}
		if c.Plan.MaxEnter > ring.MaxPayload || c.Plan.MaxExit > ring.MaxPayload {
			t.Errorf("%s: payload of %d, %d bytes", f.Name, c.Plan.MaxEnter, c.Plan.MaxExit)
		}
		l, err := value.Unmarshal(c.Layout.Marshal())
		if err != nil {
			t.Fatalf("%s: layout does not read back: %v", f.Name, err)
		}
		c.Layout = l
		byAddr[uint64(f.Low)] = &observed{fn: c, name: name, walks: walks} // clones share the name
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	proc, err := os.StartProcess(bin, []string{bin},
		&os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		t.Fatalf("start %s: %v", bin, err)
	}
	pid := proc.Pid
	defer func() { syscall.Kill(pid, syscall.SIGKILL); proc.Wait() }()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatalf("wait for %s: %v", bin, err)
	}
	follow(t, pid, loadBase(t, pid, bin, m), byAddr, out)
	return out
}

func loadBase(t *testing.T, pid int, bin string, m *symbol.Module) uint64 {
	t.Helper()
	if !m.PIE {
		return 0
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasSuffix(s.Text(), bin) {
			var lo uint64
			fmt.Sscanf(s.Text(), "%x-", &lo)
			return lo
		}
	}
	t.Fatalf("%s is not mapped", bin)
	return 0
}

// follow runs the tracee to its end.
func follow(t *testing.T, pid int, base uint64, byAddr map[uint64]*observed, out map[string]*observed) {
	saved := map[uint64]byte{}
	put := func(a uint64, c byte) byte {
		var b [1]byte
		syscall.PtracePeekText(pid, uintptr(a), b[:])
		if _, err := syscall.PtracePokeText(pid, uintptr(a), []byte{c}); err != nil {
			t.Fatalf("write breakpoint: %v", err)
		}
		return b[0]
	}
	for a := range byAddr {
		saved[base+a] = put(base+a, 0xcc)
	}
	var current *observed
	var back, want uint64
	for {
		if err := syscall.PtraceCont(pid, 0); err != nil {
			t.Fatalf("continue: %v", err)
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
			t.Fatalf("wait: %v", err)
		}
		if ws.Exited() || ws.Signaled() {
			if !ws.Exited() || ws.ExitStatus() != 0 {
				t.Errorf("program ended with %v", ws)
			}
			return
		}
		s, r := readState(t, pid)
		at := r.Rip - 1
		if ws.StopSignal() != syscall.SIGTRAP {
			t.Fatalf("program stopped by %v at %#x", ws.StopSignal(), r.Rip)
		}
		r.Rip = at
		if current != nil && at == back && r.Rsp == want {
			put(at, saved[at])
			delete(saved, at)
			current.exit(s)
			current = nil
		} else {
			put(at, saved[at])
			current = byAddr[at-base]
			name := current.name
			out[name] = current
			s.cfa, s.saved = r.Rsp+8, &current.saved
			payload := s.run(argGPRs[:current.fn.Plan.EnterGPRs], current.fn.Plan.Enter, current.walks, 1)
			if len(payload) > current.fn.Plan.MaxEnter {
				t.Errorf("%s: payload of %d bytes, at most %d planned", name, len(payload), current.fn.Plan.MaxEnter)
			}
			current.args = current.fn.Layout.Enter(payload)
			back, want = binary.LittleEndian.Uint64(s.read(r.Rsp, 8)), r.Rsp+8
			saved[back] = put(back, 0xcc)
		}
		if err := syscall.PtraceSetRegs(pid, &r); err != nil {
			t.Fatalf("set registers: %v", err)
		}
	}
}

// exit does what the collector does: a result of one word travels in event.Ret only.
func (o *observed) exit(s *machineState) {
	s.saved = &o.saved
	payload := s.run([]uint8{rax, rdx}[:o.fn.Plan.ExitGPRs], o.fn.Plan.Exit, o.walks, 1)
	ret := int64(0)
	if len(payload) >= 8 {
		ret = int64(binary.LittleEndian.Uint64(payload))
	}
	hasRet := len(payload) > 0
	if len(payload) <= 8 {
		payload = nil
		if n, signed, ok := o.fn.Layout.ScalarRet(); ok {
			ret = value.Normalize(ret, n, signed)
		}
	}
	o.ret, o.hasRet = o.fn.Layout.Exit(payload, ret, hasRet)
	o.done = true
}
