package session

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui/display"
)

// openDisplay makes the display that a launch asks for, and has the program find that one only. nil: it gets none of
// its own.
func (m *Manager) openDisplay(ctx context.Context, cmd *collector.Command, r LaunchRequest) (*display.Display, error) {
	switch r.Display {
	case "virtual":
	case "user":
		if !slices.ContainsFunc(cmd.Env, func(kv string) bool {
			name, v, _ := strings.Cut(kv, "=")
			return v != "" && (name == "DISPLAY" || name == "WAYLAND_DISPLAY")
		}) {
			return nil, fault.New(fault.UINotAvailable, "Launch with display virtual, or give DISPLAY in env.",
				"the daemon sees no desktop: neither DISPLAY nor WAYLAND_DISPLAY is set")
		}
		return nil, nil
	default:
		return nil, nil
	}
	w, h, err := display.ParseSize(r.DisplaySize)
	if err != nil {
		return nil, err
	}
	d, err := display.Start(ctx, m.cfg.DisplayKeeper, w, h)
	if err != nil {
		return nil, err
	}
	over := d.Env()
	env := slices.DeleteFunc(slices.Clone(cmd.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, ours := over[name]
		return ours
	})
	for name, v := range over {
		if v != "" {
			env = append(env, name+"="+v)
		}
	}
	cmd.Env = env
	return d, nil
}

// closeDisplay ends the session's display: nothing of the program is left that shows anything.
func (s *Session) closeDisplay() {
	if s.display == nil {
		return
	}
	if err := s.display.Close(); err != nil {
		s.log.Warn("end display", "err", err)
	}
}

// Display is the session's own display, nil where it has none, or where that has ended.
func (s *Session) Display() *display.Display {
	if s.display == nil {
		return nil
	}
	select {
	case <-s.display.Gone():
		return nil
	default:
		return s.display
	}
}

// Environment is what the program's environment says of these variables; "" where it has them not. Of a program that
// has ended, nothing.
func Environment(pid int, names ...string) map[string]string {
	out := map[string]string{}
	for kv := range strings.SplitSeq(environOf(pid), "\x00") {
		name, v, _ := strings.Cut(kv, "=")
		if slices.Contains(names, name) {
			out[name] = v
		}
	}
	return out
}

func environOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	return string(b)
}

// HadDisplay reports whether the session got a display of its own.
func (s *Session) HadDisplay() bool { return s.display != nil }

// PIDs are the session's processes that live.
func (s *Session) PIDs() []int {
	if s.col == nil {
		return nil
	}
	return s.col.PIDs()
}

// Command is what was launched.
func (s *Session) Command() string { return s.meta.Command }
