//go:build linux && amd64

package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// stopped is a program at its fatal signal, or where a test wants it. It is valid until the test ends.
type stopped struct {
	pid  int
	mem  *os.File
	regs Regs
	mods []Module
}

func (s *stopped) Read(addr uint64, b []byte) error {
	if addr >= 1<<62 {
		return fmt.Errorf("%#x is not an address", addr)
	}
	_, err := s.mem.ReadAt(b, int64(addr))
	return err
}

// allOfThisThread waits for traced threads too, and not for other tests' children: __WALL and __WNOTHREAD.
const allOfThisThread = syscall.WALL | 0x20000000

// crash runs a program until a signal would end it: the first SIGABRT or, where the program has no handler, any fault.
func crash(t testing.TB, bin string, args ...string) *stopped {
	t.Helper()
	handled := len(args) > 0 && regexp.MustCompile("handler|altstack|raise").MatchString(args[0])
	return stopAt(t, func(_ int, ws syscall.WaitStatus) bool {
		return ws.StopSignal() == syscall.SIGABRT || !handled &&
			(ws.StopSignal() == syscall.SIGSEGV || ws.StopSignal() == syscall.SIGFPE)
	}, bin, args...)
}

// stopAt runs a program until the first stop of a thread that is the wanted one.
func stopAt(t testing.TB, wanted func(tid int, ws syscall.WaitStatus) bool, bin string, args ...string) *stopped {
	t.Helper()
	strobetest.NeedPtrace(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	// As in gdb, so that also what is left over in uninitialized variables is the same.
	const noRandomization, query = 0x0040000, 0xffffffff
	old, _, _ := syscall.RawSyscall(syscall.SYS_PERSONALITY, query, 0, 0)
	syscall.RawSyscall(syscall.SYS_PERSONALITY, old|noRandomization, 0, 0)
	defer syscall.RawSyscall(syscall.SYS_PERSONALITY, old, 0, 0)
	proc, err := os.StartProcess(bin, append([]string{bin}, args...), &os.ProcAttr{Files: []*os.File{null, null, null},
		Env: append(os.Environ(), "RUST_BACKTRACE=0"), Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		t.Fatalf("start %s: %v", bin, err)
	}
	pid := proc.Pid
	t.Cleanup(func() {
		syscall.Kill(pid, syscall.SIGKILL)
		var ws syscall.WaitStatus
		for { // its threads before it
			ended, err := syscall.Wait4(-1, &ws, allOfThisThread, nil)
			if err != nil && err != syscall.EINTR || ended == pid && !ws.Stopped() {
				break
			}
		}
		proc.Release()
	})
	tid := pid
	for sig, started := 0, false; ; {
		var ws syscall.WaitStatus
		if tid, err = syscall.Wait4(-1, &ws, allOfThisThread, nil); err != nil {
			t.Fatalf("wait for %s: %v", bin, err)
		}
		if !ws.Stopped() {
			t.Fatalf("%s %v ended (%v) instead of crashing", bin, args, ws)
		}
		sig = int(ws.StopSignal())
		if wanted(tid, ws) {
			break
		}
		if ws.StopSignal() == syscall.SIGTRAP || ws.StopSignal() == syscall.SIGSTOP { // exec, clone, a new thread
			sig = 0
		}
		if !started {
			if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACECLONE); err != nil {
				t.Fatal(err)
			}
			started = true
		}
		if err := syscall.PtraceCont(tid, sig); err != nil {
			t.Fatal(err)
		}
	}
	s := &stopped{pid: pid}
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &r); err != nil {
		t.Fatal(err)
	}
	for i, v := range []uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12,
		r.R13, r.R14, r.R15, r.Rip} {
		s.regs.Set(i, v)
	}
	if s.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.mem.Close() })
	s.loadModules(t)
	return s
}

var (
	openMu sync.Mutex
	opened = map[string]*symbol.Module{}
)

// module opens a file once for all tests.
func module(t testing.TB, path string) *symbol.Module {
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

func (s *stopped) loadModules(t testing.TB) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type span struct{ lo, hi uint64 }
	spans := map[string]*span{}
	var order []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) < 6 || fields[5][0] != '/' && fields[5] != "[vdso]" {
			continue
		}
		var lo, hi uint64
		fmt.Sscanf(fields[0], "%x-%x", &lo, &hi)
		if sp := spans[fields[5]]; sp != nil {
			sp.hi = hi
			continue
		}
		spans[fields[5]] = &span{lo, hi}
		order = append(order, fields[5])
	}
	for _, path := range order {
		sp := spans[path]
		var m *symbol.Module
		if path == "[vdso]" {
			data := make([]byte, sp.hi-sp.lo)
			if err := s.Read(sp.lo, data); err != nil {
				t.Fatal(err)
			}
			if m, err = symbol.OpenBytes(path, data); err != nil {
				t.Fatalf("open the vDSO: %v", err)
			}
		} else if !strings.Contains(path, ".so") && filepath.Ext(path) != "" {
			continue // locale archives
		} else {
			m = module(t, path)
		}
		bias := uint64(0)
		if m.PIE {
			bias = sp.lo
		}
		s.mods = append(s.mods, Module{Mod: m, Bias: bias, Lo: sp.lo, Hi: sp.hi})
	}
}

var (
	builtMu sync.Mutex
	built   = map[string]string{}
)

// build compiles a program of testdata once.
func build(t testing.TB, source, compiler string, flags ...string) string {
	t.Helper()
	strobetest.NeedTime(t)
	strobetest.NeedCommand(t, compiler)
	builtMu.Lock()
	defer builtMu.Unlock()
	key := strings.Join(append([]string{source, compiler}, flags...), " ")
	if p := built[key]; p != "" {
		return p
	}
	dir, err := os.MkdirTemp(scratch, "b")
	if err != nil {
		t.Fatal(err)
	}
	src, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	cmd := exec.Command(compiler, append([]string{"-g", "-o", out, src}, flags...)...)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", key, err, b)
	}
	built[key] = out
	return out
}

var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "unwind-test-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	for _, m := range opened {
		m.Close()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// gdbFrame is a frame as gdb sees it.
type gdbFrame struct {
	name, file string
	line       int
	signal     bool
	locals     []gdbLocal
}

// gdbLocal is an integer or pointer in a frame; value is decimal, or why there is none.
type gdbLocal struct{ name, value string }

const gdbScript = `
import gdb
gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("set print frame-arguments none")
for s in "HANDLED".split():
    gdb.execute("handle %s nostop noprint pass" % s)
def show_locals(f):
    try:
        b = f.block()
    except RuntimeError:
        return
    while b is not None:
        for s in b:
            if not (s.is_argument or s.is_variable) or s.addr_class == gdb.SYMBOL_LOC_STATIC:
                continue
            try:
                t = s.type.strip_typedefs()
                if t.code not in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR):
                    continue
                v = s.value(f)
                text = "optimized out" if v.is_optimized_out else str(int(v))
            except gdb.error as e:
                text = "error " + str(e)
            print("L|%d|%s|%s" % (n - 1, s.name, text))
        if b.function is not None:
            break
        b = b.superblock
gdb.execute("run ARGS >/dev/null 2>/dev/null")
f = gdb.newest_frame()
n = 0
while f is not None:
    if f.type() == gdb.TAILCALL_FRAME: # made up from call sites: it is not on the stack
        f = f.older()
        continue
    n += 1
    if n <= 200:
        sal = f.find_sal()
        name = f.name()
        fn = f.function()
        if fn is not None:
            name = fn.print_name
        show_locals(f)
        print("F|%s|%s|%d|%d" % (name, sal.symtab.fullname() if sal.symtab else "", sal.line, f.type() == gdb.SIGTRAMP_FRAME))
    try:
        f = f.older()
    except gdb.error as e:
        break
print("N|%d" % n)
`

// gdbStack asks gdb for the stack at the same signal. count is the number of frames.
func gdbStack(t testing.TB, bin string, args ...string) (frames []gdbFrame, count int) {
	t.Helper()
	strobetest.NeedCommand(t, "gdb")
	handled := ""
	if len(args) > 0 && regexp.MustCompile("handler|altstack|raise").MatchString(args[0]) {
		handled = "SIGSEGV SIGUSR1"
	}
	script := filepath.Join(t.TempDir(), "stack.py")
	text := strings.NewReplacer("HANDLED", handled, "ARGS", strings.Join(args, " ")).Replace(gdbScript)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", script, bin)
	cmd.Env = append(os.Environ(), "RUST_BACKTRACE=0", "DEBUGINFOD_URLS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	var locals []gdbLocal // they come before their frame
	for _, line := range strings.Split(string(out), "\n") {
		p := strings.Split(line, "|")
		switch {
		case p[0] == "F" && len(p) >= 5:
			k := len(p)
			f := gdbFrame{name: strings.Join(p[1:k-3], "|"), file: p[k-3], signal: p[k-1] == "1"}
			f.line, _ = strconv.Atoi(p[k-2])
			f.locals, locals = locals, nil
			frames = append(frames, f)
		case p[0] == "L" && len(p) == 4:
			locals = append(locals, gdbLocal{p[2], p[3]})
		case p[0] == "N":
			count, _ = strconv.Atoi(p[1])
		}
	}
	if len(frames) == 0 {
		t.Fatalf("gdb shows no frames:\n%s", out)
	}
	return frames, count
}
