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
	args   value.Object
	ret    value.Value
	hasRet bool
	done   bool
}

// machineState is what a plan reads.
type machineState struct {
	pid  int
	gpr  [16]uint64 // by DWARF number
	fp   [512]byte
	cfa  uint64
	mem  func(addr uint64, n int) []byte // nil when unreadable
	text func(addr uint64, n int) ([]byte, bool)
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
	s.gpr = [16]uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	return s, r
}

func (s *machineState) read(addr uint64, n int) []byte {
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
func (s *machineState) run(first []uint8, ops []ring.Op) []byte {
	var p []byte
	for _, r := range first {
		p = binary.LittleEndian.AppendUint64(p, s.gpr[r])
	}
	pad := func() {
		for len(p)%8 != 0 {
			p = append(p, 0)
		}
	}
	slots := map[uint8][]byte{}
	for _, op := range ops {
		switch op.Code {
		case ring.OpReg:
			p = binary.LittleEndian.AppendUint64(p, s.gpr[op.Src])
		case ring.OpXMM:
			p = append(p, s.fp[160+16*int(op.Src):][:op.Size]...)
		case ring.OpST0:
			p = append(append(p, s.fp[32+16*int(op.Src):][:10]...), 0, 0, 0, 0, 0, 0)
		case ring.OpStack:
			b := s.read(s.cfa+uint64(int64(op.Off)), int(op.Size))
			p = append(p, append(b, make([]byte, int(op.Size)-len(b))...)...)
		case ring.OpMem, ring.OpCStr:
			from := p
			if op.Slot != 0 {
				from = slots[op.Slot]
			}
			addr := binary.LittleEndian.Uint64(from[op.SrcOff:])
			n, status, data := 0, ring.StatusOK, []byte(nil)
			length := uint64(0)
			switch {
			case addr == 0:
				status = ring.StatusNull
			default:
				data = s.read(addr+uint64(int64(op.Off)), int(op.Size))
				if op.Code == ring.OpCStr {
					if i := strings.IndexByte(string(data), 0); i >= 0 {
						data = data[:i]
					} else if len(data) == int(op.Size) {
						status, length = ring.StatusCut, uint64(len(data))|1<<63
					}
				} else if len(data) < int(op.Size) {
					status, data = ring.StatusUnreadable, nil
				}
				n = len(data)
			}
			p = binary.LittleEndian.AppendUint32(p, uint32(n))
			p = binary.LittleEndian.AppendUint32(p, uint32(status))
			p = append(p, data...)
			pad()
			if status == ring.StatusCut {
				p = binary.LittleEndian.AppendUint64(p, length)
			}
			if op.Dst != 0 {
				slots[op.Dst] = data
			}
		}
		pad()
	}
	return p
}

// trace runs a program and returns what every function of its own that is named f<number> showed.
func trace(t *testing.T, bin string) map[string]*observed {
	t.Helper()
	m, err := symbol.Open(bin, symbol.Options{})
	if err != nil {
		t.Fatalf("open %s: %v", bin, err)
	}
	defer m.Close()
	out := map[string]*observed{}
	byAddr := map[uint64]*observed{}
	fns := m.Functions()
	for i := range fns {
		f := &fns[i]
		name := f.Name[strings.LastIndexByte(f.Name, ':')+1:]
		var n int
		if _, err := fmt.Sscanf(name, "f%d", &n); err != nil || name != fmt.Sprintf("f%d", n) || !f.HasDWARF {
			continue
		}
		c, err := Compile(m, f, 1)
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
		byAddr[uint64(f.Low)] = &observed{fn: c, name: name} // clones share the name
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	proc, err := os.StartProcess(bin, []string{bin}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}})
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
			s.cfa = r.Rsp + 8
			payload := s.run(argGPRs[:current.fn.Plan.EnterGPRs], current.fn.Plan.Enter)
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
	payload := s.run([]uint8{rax, rdx}[:o.fn.Plan.ExitGPRs], o.fn.Plan.Exit)
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
