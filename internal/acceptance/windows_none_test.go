package acceptance

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestNoInterface: where there is nothing to look at, the answer says what is missing.
func TestNoInterface(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	root := t.TempDir()
	none := args{"DISPLAY": "", "WAYLAND_DISPLAY": "", "XDG_RUNTIME_DIR": "", "AT_SPI_BUS_ADDRESS": ""}
	launch := func(more args) args {
		in := args{"command": "sleep", "args": []string{"60"}, "projectRoot": root, "env": none}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	refused(t, s, "debug_launch", launch(args{"display": "user"}), "UI_NOT_AVAILABLE", "DISPLAY")
	refused(t, s, "debug_launch", launch(args{"display": "virtual", "displaySize": "big"}), "VALIDATION_ERROR", "big")
	refused(t, s, "debug_launch", launch(args{"displaySize": "800x600"}), "VALIDATION_ERROR", "displaySize")
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", launch(nil), &l)
	refused(t, s, "debug_ui", args{"sessionId": l.SessionID}, "UI_NOT_AVAILABLE", "DISPLAY")
	refused(t, s, "debug_ui_action", args{"sessionId": l.SessionID, "action": "click", "title": "x"}, "UI_NOT_AVAILABLE",
		"DISPLAY")
	s.Stop(t, l.SessionID)
	s.Call(t, "debug_launch", launch(args{"env": args{"DISPLAY": "", "WAYLAND_DISPLAY": "wayland-7"}}), &l)
	refused(t, s, "debug_ui", args{"sessionId": l.SessionID}, "UI_NOT_AVAILABLE", "wayland-7")
	s.Stop(t, l.SessionID)
	s.Call(t, "debug_launch", launch(args{"env": args{"DISPLAY": ":6543"}}), &l)
	refused(t, s, "debug_ui", args{"sessionId": l.SessionID}, "UI_NOT_AVAILABLE", ":6543")
	s.Stop(t, l.SessionID)
	refused(t, s, "debug_ui", args{}, "VALIDATION_ERROR", "sessionId")
}

// TestDisplayMissing: without the programs that a display takes, the packages are named that have them.
func TestDisplayMissing(t *testing.T) {
	strobetest.NeedPtrace(t)
	home := strobetest.Home(t)
	s := strobetest.Connect(t, home, "PATH="+t.TempDir())
	t.Cleanup(func() { s.StopDaemon(t) })
	refused(t, s, "debug_launch", args{"command": "/bin/sleep", "args": []string{"1"}, "projectRoot": t.TempDir(),
		"display": "virtual"}, "UI_NOT_AVAILABLE", "Xvfb", "dbus-daemon")
}
