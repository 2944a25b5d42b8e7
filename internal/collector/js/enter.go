package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/iochan"
)

const (
	// sigUSR1 opens Node's inspector. Systems without it have no way in, either.
	sigUSR1 = syscall.Signal(10)
	// restarts is the flag SA_RESTART: libuv, by which a program's own handlers are called, sets it, Node for its own
	// handler does not.
	restarts = 0x10000000
	// opensWithin is how long Node may take to open its inspector: a thread of its own does it.
	opensWithin = 5 * time.Second
	// calmWithin is for how long a moment is looked for at which the signal does no harm.
	calmWithin = 500 * time.Millisecond
	opensLook  = 5 * time.Millisecond
	// inspectorPort is where Node listens if nobody says otherwise.
	inspectorPort = 9229
	// turnsWithin is how long the program's thread may take to let the agent in, which it does also within a loop.
	// closesWithin is for how long it is asked to close the inspector behind that.
	turnsWithin  = 5 * time.Second
	turnsLook    = 50 * time.Millisecond
	closesWithin = 10 * time.Minute
)

// inspectOption is one that makes a Node listen from its start, or says where it listens when it is asked to.
var inspectOption = regexp.MustCompile(`^--(inspect|debug)(-brk|-wait|-port)?(=.*)?$`)

// hasOption reports an option in a process's arguments before its script, or in NODE_OPTIONS.
func hasOption(img collector.Image, is func(string) bool) bool {
	for _, a := range img.Args[min(1, len(img.Args)):] {
		if !strings.HasPrefix(a, "-") {
			break
		}
		if is(a) {
			return true
		}
	}
	return img.Env != nil && slices.ContainsFunc(img.Env(), func(v string) bool {
		options, ok := strings.CutPrefix(v, "NODE_OPTIONS=")
		return ok && slices.ContainsFunc(strings.Fields(options), is)
	})
}

// listensElsewhere reports an option by which the inspector would listen for others than this machine.
func listensElsewhere(option string) bool {
	m := inspectOption.FindStringSubmatch(option)
	if m == nil || m[3] == "" {
		return false
	}
	host, _, err := net.SplitHostPort(m[3][1:])
	if err != nil {
		host = m[3][1:]
		if _, err := strconv.Atoi(host); err == nil {
			return false
		}
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host != "" && host != "localhost" && (err != nil || !ip.IsLoopback())
}

// enter brings the agent into a Node that runs, by its inspector, which is closed again where it was not open before.
func (rt *Runtime) enter(ctx context.Context, img collector.Image, in collector.Injector, dir, folder string) error {
	stays := func(format string, args ...any) error {
		return collector.StaysOut(fmt.Sprintf("Functions of JavaScript are not traced in process %d: ", img.PID) +
			fmt.Sprintf(format, args...) + "; it is attached to as machine code. Start it with debug_launch command instead")
	}
	mine := func(inspected bool) string {
		return fmt.Sprintf("((f,c)=>{const m=require(f);delete c[f];m.enter(%s,%t)})(%s,require.cache)", quoted(folder),
			inspected, quoted(filepath.Join(dir, "agent.cjs")))
	}
	for _, at := range inspectors(img) { // the user's, or one that somebody opened before
		if insp, err := inspect(ctx, at); err == nil {
			defer insp.conn.Close()
			if err := insp.enter(mine(true), in.Patience(img.PID, turnsWithin)); err != nil {
				return stays("its inspector at %v did not let the agent in: %v", at, err)
			}
			return nil
		}
	}
	if hasOption(img, func(o string) bool { return o == "--disable-sigusr1" }) {
		return stays("it was started with --disable-sigusr1, so that its inspector cannot be opened")
	}
	if hasOption(img, listensElsewhere) {
		return stays("its options have the inspector listen for other machines, where anybody could take it over")
	}
	address, flags, err := in.Handler(ctx, img.PID, sigUSR1)
	switch {
	case err != nil:
		return stays("how it handles SIGUSR1, which opens its inspector, cannot be found out: %v", err)
	case address <= 1:
		return stays("it does not handle SIGUSR1, which opens the inspector of Node (it was built without one, or has only " +
			"begun)")
	case flags&restarts != 0:
		return stays("it has a handler of its own for SIGUSR1, which else opens Node's inspector")
	}
	insp, at, err := open(ctx, in, img.PID)
	if err != nil {
		return stays("%v", err)
	}
	err = insp.enter(mine(false), in.Patience(img.PID, turnsWithin))
	insp.close(rt, img.PID, at)
	if err != nil {
		return stays("the agent did not come in: %v (it has printed on standard error that a debugger listens)", err)
	}
	return nil
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// loopback are the addresses of this machine alone that a process listens on, less those that it did before.
func loopback(pid int, before []netip.AddrPort) []netip.AddrPort {
	return slices.DeleteFunc(iochan.Listening(pid), func(at netip.AddrPort) bool {
		return !at.Addr().IsLoopback() || slices.Contains(before, at)
	})
}

// inspectors are the addresses where a process's inspector may listen already. Its other servers are not spoken to.
func inspectors(img collector.Image) []netip.AddrPort {
	ports := []uint16{inspectorPort}
	hasOption(img, func(option string) bool {
		if m := inspectOption.FindStringSubmatch(option); m != nil && m[3] != "" {
			text := m[3][strings.LastIndexAny(m[3], "=:")+1:]
			if port, err := strconv.ParseUint(text, 10, 16); err == nil {
				ports = append(ports, uint16(port))
			}
		}
		return false
	})
	return slices.DeleteFunc(loopback(img.PID, nil),
		func(at netip.AddrPort) bool { return !slices.Contains(ports, at.Port()) })
}

// calm are the system calls in which Node's thread may be met by a signal: its event loop and waits for other threads
// go on behind it. Others, a readSync of standard input, would fail by it with EINTR, and the program with them.
var calm = []int{202, 232, 281, 441} // futex, epoll_wait, epoll_pwait, epoll_pwait2 on x86-64

// raise sends a Node the signal when it does no harm.
func raise(ctx context.Context, in collector.Injector, pid int) error {
	for began := time.Now(); ; {
		blocked, err := in.Raise(ctx, pid, sigUSR1, calm)
		if err != nil {
			return fmt.Errorf("SIGUSR1 could not be sent to it: %w", err)
		}
		if blocked < 0 {
			return nil
		}
		if time.Since(began) > calmWithin {
			return fmt.Errorf("its thread is in a system call (number %d) that SIGUSR1, which opens its inspector, would have "+
				"fail, as the reading of a file or of standard input", blocked)
		}
		select {
		case <-time.After(opensLook):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open has a Node open its inspector, where it likes to.
func open(ctx context.Context, in collector.Injector, pid int) (*inspector, netip.AddrPort, error) {
	before := iochan.Listening(pid)
	if err := raise(ctx, in, pid); err != nil {
		return nil, netip.AddrPort{}, err
	}
	tick := time.NewTicker(opensLook)
	defer tick.Stop()
	var last error
	for within := in.Patience(pid, opensWithin); ; {
		for _, at := range loopback(pid, before) {
			insp, err := inspect(ctx, at)
			if err == nil {
				return insp, at, nil
			}
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, netip.AddrPort{}, ctx.Err()
		}
		if !within() {
			why := "its port is another program's (9229, or what --inspect-port says), or all its threads stand"
			if last != nil {
				why = last.Error()
			}
			return nil, netip.AddrPort{}, fmt.Errorf("it has opened no inspector within %v of SIGUSR1: %s", opensWithin, why)
		}
	}
}

// enter evaluates what brings the agent in. within says whether to wait on.
func (in *inspector) enter(expression string, within func() bool) error {
	id, err := in.send(expression)
	if err != nil {
		return err
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(turnsLook)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if !within() {
				_ = in.conn.SetReadDeadline(time.Now())
				return
			}
		}
	}()
	err = in.answer(id)
	close(over)
	<-done
	_ = in.conn.SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("its thread has run no JavaScript for %v: it is in a long call of C, or stands", turnsWithin)
	}
	return err
}

// close has the inspector that we had opened close itself: nobody finds it then. Where the program's thread is busy
// elsewhere it does so as soon as it is back.
func (in *inspector) close(rt *Runtime, pid int, at netip.AddrPort) {
	_, err := in.send("require('inspector').close()")
	if err != nil {
		rt.log.Warn("close the inspector", "pid", pid, "at", at, "err", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer in.conn.Close()
		_ = in.conn.SetReadDeadline(time.Now().Add(closesWithin))
		_ = in.closed()
	}()
	select {
	case <-done:
	case <-time.After(turnsWithin):
	}
}

// entered says what Node has printed, and what differs from a program that was launched.
func entered(h *agentlink.Hello) string {
	const whole = " What is loaded from now on is traced in full"
	if h.Inspected {
		return "the agent came by Node's inspector, which was open: its debugger is another's, so that there are no " +
			"points, and functions that are loaded already are not traced." + whole
	}
	return "Node has printed \"Debugger listening on …\" and \"Debugger attached.\" on standard error: its inspector " +
		"was opened by SIGUSR1, and is closed again. Functions that are loaded already are told by the debugger, at " +
		"0.1 to 0.2 ms a call: arguments; results where a variable or constant is returned, else <unreadable>; of " +
		"async ones and generators what is before the first await or yield; none of worker threads." + whole
}
