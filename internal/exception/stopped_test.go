//go:build linux && amd64

package exception

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// stopped is a program at its fatal signal.
type stopped struct {
	pid    int
	mem    *os.File
	regs   unwind.Regs
	fsBase uint64
	mods   []unwind.Module
}

func (s *stopped) Read(addr uint64, b []byte) error {
	if addr >= 1<<62 {
		return fmt.Errorf("0x%x is no address", addr)
	}
	_, err := s.mem.ReadAt(b, int64(addr))
	return err
}

// allOfThisThread waits for traced threads too, and not for other tests' children: __WALL and __WNOTHREAD.
const allOfThisThread = syscall.WALL | 0x20000000

// runToCrash runs a program to the first signal that would end it, lets look at it, and kills it.
func runToCrash(t *testing.T, bin string, look func(*stopped), args ...string) {
	t.Helper()
	strobetest.NeedPtrace(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	proc, err := os.StartProcess(bin, append([]string{bin}, args...),
		&os.ProcAttr{Files: []*os.File{null, null, null}, Env: os.Environ(),
			Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		t.Fatalf("start %s: %v", bin, err)
	}
	pid := proc.Pid
	defer func() {
		syscall.Kill(pid, syscall.SIGKILL)
		var ws syscall.WaitStatus
		for { // its threads before it
			ended, err := syscall.Wait4(-1, &ws, allOfThisThread, nil)
			if err != nil && err != syscall.EINTR || ended == pid && !ws.Stopped() {
				break
			}
		}
		proc.Release()
	}()
	for started := false; ; started = true {
		var ws syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &ws, allOfThisThread, nil)
		if err != nil || !ws.Stopped() {
			t.Fatalf("%s %v ended (%x, %v) instead of crashing", bin, args, ws, err)
		}
		switch ws.StopSignal() {
		case syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGILL:
			s := &stopped{pid: pid}
			s.read(t, tid)
			look(s)
			s.mem.Close()
			return
		}
		if !started {
			if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACECLONE); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.PtraceCont(tid, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stopped) read(t *testing.T, tid int) {
	t.Helper()
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &r); err != nil {
		t.Fatal(err)
	}
	for i, v := range []uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12,
		r.R13, r.R14, r.R15, r.Rip} {
		s.regs.Set(i, v)
	}
	s.fsBase = r.Fs_base
	var err error
	if s.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", s.pid)); err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	at := map[string]int{}
	for sc := bufio.NewScanner(maps); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 6 || f[5][0] != '/' || !strings.Contains(f[5], ".so") && filepath.Ext(f[5]) != "" {
			continue
		}
		var lo, hi uint64
		fmt.Sscanf(f[0], "%x-%x", &lo, &hi)
		if i, ok := at[f[5]]; ok {
			s.mods[i].Hi = hi
			continue
		}
		m := module(t, f[5])
		at[f[5]] = len(s.mods)
		mod := unwind.Module{Mod: m, Lo: lo, Hi: hi}
		if m.PIE {
			mod.Bias = lo
		}
		s.mods = append(s.mods, mod)
	}
}

var (
	openMu sync.Mutex
	opened = map[string]*symbol.Module{}
)

// module opens a file once for all tests.
func module(t *testing.T, path string) *symbol.Module {
	t.Helper()
	openMu.Lock()
	defer openMu.Unlock()
	if m := opened[path]; m != nil {
		return m
	}
	m, err := symbol.Open(path, symbol.Options{})
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	opened[path] = m
	return m
}
