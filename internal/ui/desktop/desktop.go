// Package desktop owns the platforms' user interfaces: it puts together what ui wants of them. On Linux that is the
// accessibility bus and the X server or the Wayland compositor; elsewhere it answers with what is missing.
//
// It stands between service, which opens one for each session that is looked at, and ui, atspi, x11 and wayland.
package desktop

import (
	"context"
	"strings"

	"github.com/strobe-debug/strobe/internal/ui"
)

// Where says where a program shows its windows, as its own environment does.
type Where struct {
	Display, Authority string // of the X server
	Bus, Accessibility string // addresses
	Wayland, Runtime   string // a compositor's socket, and the folder where it is; "": it shows them by X11
	Own                bool   // nobody else uses it
}

// Variables are those of a program's environment that Where is made of.
var Variables = []string{"DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "WAYLAND_DISPLAY",
	"HOME", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "GDK_BACKEND", "QT_QPA_PLATFORM"}

// Of reads a program's environment.
func Of(env map[string]string) Where {
	w := Where{Display: env["DISPLAY"], Authority: env["XAUTHORITY"], Bus: env["DBUS_SESSION_BUS_ADDRESS"],
		Accessibility: env["AT_SPI_BUS_ADDRESS"], Runtime: env["XDG_RUNTIME_DIR"]}
	if byWayland(env) {
		w.Wayland = env["WAYLAND_DISPLAY"]
	}
	if w.Authority == "" && env["HOME"] != "" {
		w.Authority = env["HOME"] + "/.Xauthority"
	}
	if w.Bus == "" && env["XDG_RUNTIME_DIR"] != "" {
		w.Bus = "unix:path=" + env["XDG_RUNTIME_DIR"] + "/bus"
	}
	return w
}

// byWayland reports whether a program that finds these variables uses Wayland. Where it could use X11 as well, it does
// so unless it was told otherwise.
func byWayland(env map[string]string) bool {
	if env["WAYLAND_DISPLAY"] == "" || env["DISPLAY"] == "" {
		return env["WAYLAND_DISPLAY"] != ""
	}
	said := env["GDK_BACKEND"] + " " + env["QT_QPA_PLATFORM"]
	if strings.Contains(said, "x11") || strings.Contains(said, "xcb") {
		return false
	}
	return strings.Contains(said, "wayland") || env["XDG_SESSION_TYPE"] == "wayland"
}

// Open connects to it.
func Open(ctx context.Context, w Where) (ui.Desktop, error) { return open(ctx, w) }
