package jvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
)

const (
	// listensWithin is how long a JVM may take to open its socket once it was asked to: it does within milliseconds,
	// unless it is at a safepoint that takes long.
	listensWithin = 5 * time.Second
	loadsWithin   = 20 * time.Second
	listensLook   = 5 * time.Millisecond
)

// disabled is the option by which a JVM lets nobody in. SIGQUIT would have it print its threads.
const disabled = "-XX:+DisableAttachMechanism"

// quiet is the option by which a JVM says nothing of agents that come late.
const quiet = "-XX:+EnableDynamicAgentLoading"

// optionVariables are those by which a JVM is given options besides its arguments.
var optionVariables = []string{"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="}

func hasOption(img collector.Image, option string) bool {
	if slices.Contains(img.Args, option) {
		return true
	}
	if img.Env == nil {
		return false
	}
	return slices.ContainsFunc(img.Env(), func(v string) bool {
		return slices.ContainsFunc(optionVariables, func(name string) bool {
			return strings.HasPrefix(v, name) && strings.Contains(v, option)
		})
	})
}

// enter brings the agent into a JVM that runs, by the protocol by which tools of the JDK attach: a file that asks for
// it, SIGQUIT, and a socket that takes commands.
func enter(ctx context.Context, img collector.Image, in collector.Injector, lib, folder string) error {
	if hasOption(img, disabled) {
		return collector.StaysOut("JVM: it was started with " + disabled + " and lets no agent in; it is attached to as " +
			"machine code")
	}
	socket, err := listening(ctx, in, img.PID)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("talk with the JVM %d: %w", img.PID, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(loadsWithin)); err != nil {
		return err
	}
	// The version of the protocol, the command, and three arguments.
	if _, err := io.WriteString(conn, "1\x00load\x00"+lib+"\x00true\x00"+folder+"\x00"); err != nil {
		return fmt.Errorf("have the JVM %d load the agent: %w", img.PID, err)
	}
	said, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	if err != nil {
		return fmt.Errorf("have the JVM %d load the agent: %w", img.PID, err)
	}
	status, text, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if status != "0" || text != "" && !strings.Contains(text, "return code: 0") {
		return collector.StaysOut(fmt.Sprintf("JVM: it does not load the agent: %s; it is attached to as machine code",
			strings.ReplaceAll(strings.TrimSpace(status+" "+text), "\n", " ")))
	}
	return nil
}

// listening has a JVM listen at its socket, and returns where that is.
func listening(ctx context.Context, in collector.Injector, pid int) (string, error) {
	name, caught, err := inside(pid)
	if err != nil {
		return "", collector.StaysOut(fmt.Sprintf("JVM: process %d cannot be looked at: %v", pid, err))
	}
	tmp := filepath.Join("/proc", strconv.Itoa(pid), "root", "tmp")
	socket := filepath.Join(tmp, ".java_pid"+name)
	if _, err := os.Stat(socket); err == nil {
		return socket, nil
	}
	if !caught {
		return "", collector.StaysOut("JVM: it does not handle SIGQUIT (-Xrs, or it has only begun), by which an agent is " +
			"let in; it is attached to as machine code")
	}
	asks := filepath.Join(tmp, ".attach_pid"+name)
	f, err := os.OpenFile(asks, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("ask the JVM %d to let an agent in: %w", pid, err)
	}
	if err == nil {
		_ = f.Close()
		defer os.Remove(asks)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.SIGQUIT)
	}
	if err != nil {
		return "", fmt.Errorf("ask the JVM %d to let an agent in: %w", pid, err)
	}
	tick := time.NewTicker(listensLook)
	defer tick.Stop()
	for within := in.Patience(pid, listensWithin); ; {
		if _, err := os.Stat(socket); err == nil {
			return socket, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if !within() {
			return "", collector.StaysOut(fmt.Sprintf("JVM: it has not let an agent in within %v; it is attached to as "+
				"machine code", listensWithin))
		}
	}
}

// inside is the number that a process has in its own PID namespace, and whether it handles SIGQUIT.
func inside(pid int) (name string, caught bool, err error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return "", false, err
	}
	name = strconv.Itoa(pid)
	for line := range strings.Lines(string(b)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(rest)
		switch {
		case key == "NSpid" && len(fields) > 0:
			name = fields[len(fields)-1]
		case key == "SigCgt" && len(fields) == 1:
			mask, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				return "", false, err
			}
			caught = mask>>(uint(syscall.SIGQUIT)-1)&1 == 1
		}
	}
	return name, caught, nil
}

// saysFrom is the JDK from which on a JVM prints that an agent came late.
const saysFrom = 21

// entered says what a JVM has printed of the agent.
func entered(h *agentlink.Hello) string {
	major, _, _ := strings.Cut(h.Version, ".")
	if v, err := strconv.Atoi(major); err != nil || v < saysFrom || slices.Contains(h.Argv, quiet) {
		return ""
	}
	return fmt.Sprintf("the JVM %s has printed some lines of WARNING on standard error, as it does of every agent "+
		"that is loaded late; started with %s it does not", h.Version, quiet)
}
