package stuck

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
)

// readTries is how often goroutines are read that change meanwhile.
const readTries = 3

// goProgramOf reads the goroutines of a process; nil where it runs no Go program. loops are those of its threads that
// ran a moment ago.
func goProgramOf(pid int, other goroutine.Source, loops map[int]*collector.Loop) *goProgram {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	mem, err := ptrace.OpenMem(pid)
	if err != nil {
		return nil
	}
	defer mem.Close()
	g := &goProgram{pid: pid, loops: loops}
	program, exe, err := goroutine.OfProcess(pid, mem, other)
	if errors.Is(err, goroutine.ErrNotGo) {
		return nil
	}
	if err != nil {
		g.err = err
		return g
	}
	defer exe.Close()
	for range readTries {
		before, foreign := threadsOf(pid, program, loops)
		if g.dump, g.err = program.Read(); g.err != nil {
			continue
		}
		if after, _ := threadsOf(pid, program, loops); after == before {
			g.still, g.foreign = before, foreign
		}
		break
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		g.still = ""
	}
	g.now = time.Duration(now.Nano())
	return g
}

// threadsOf is the same twice only if no thread of a process ran in between: each sleeps, and has not been put to sleep
// again. It is "" if one does not sleep. Where goroutines are in loops that does not count: the runtime's threads look
// for others that could run, and there is one only if the goroutines say so. foreign are the threads that do not wait
// in Go's scheduler, which does so by futex and epoll.
func threadsOf(pid int, program *goroutine.Program, loops map[int]*collector.Loop) (still string,
	foreign map[int]bool) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return "", nil
	}
	var b strings.Builder
	foreign = map[int]bool{}
	waits := []int{unix.SYS_FUTEX, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT}
	if len(loops) > 0 {
		waits = append(waits, unix.SYS_NANOSLEEP, unix.SYS_RESTART_SYSCALL)
	}
	for _, e := range list {
		dir := fmt.Sprintf("/proc/%d/task/%s/", pid, e.Name())
		status, err1 := os.ReadFile(dir + "status")
		call, err2 := os.ReadFile(dir + "syscall")
		tid, err3 := strconv.Atoi(e.Name())
		if errors.Join(err1, err2, err3) != nil {
			return "", nil
		}
		fmt.Fprint(&b, tid)
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			switch name {
			case "State":
				if !strings.HasPrefix(value, "S") && len(loops) == 0 {
					return "", nil
				}
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				if len(loops) == 0 {
					b.WriteString(" " + value)
				}
			}
		}
		b.WriteByte('\n')
		f := strings.Fields(string(call)) // number, six arguments, stack pointer, instruction
		if len(f) != 9 {
			if len(loops) > 0 {
				continue
			}
			return "", nil
		}
		pc, err := strconv.ParseUint(f[8], 0, 64)
		nr, err2 := strconv.Atoi(f[0])
		if err != nil || err2 != nil || !program.Has(pc) || !slices.Contains(waits, nr) {
			foreign[tid] = true
		}
	}
	return b.String(), foreign
}
