// Package display owns displays that are a session's own: an X server without a screen, a message bus, accessibility
// and a window manager, so that what is clicked there never touches the user's desktop, and machines without a screen
// have one.
//
// It stands between session, which has one made before the program starts, and the system's programs. All of them are
// children of one process, the display's keeper, which is this binary again: however the session's own process ends,
// the keeper ends what it started, and where the program lives on without a session, only when that has ended.
package display

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Size is how large a display is when nobody says.
const (
	DefaultWidth  = 1280
	DefaultHeight = 800
	MaxSide       = 8192 // 256 MB of picture
	MinSide       = 100
)

// startMax bounds the start of all programs: it takes half a second, on a busy machine several.
const startMax = 20 * time.Second

// endMax is how long they may take to end.
const endMax = 5 * time.Second

// Info is what there is to know of a display.
type Info struct {
	Display       string   `json:"display"` // ":77"
	Width         int      `json:"width"`
	Height        int      `json:"height"`
	Authority     string   `json:"authority"` // file with the secret by which the server lets in
	Bus           string   `json:"bus"`       // address of the session's message bus
	Accessibility string   `json:"accessibility"`
	Runtime       string   `json:"runtime"` // folder
	Manager       string   `json:"manager"` // of windows; "": there is none
	PIDs          []int    `json:"pids"`
	Warnings      []string `json:"warnings,omitempty"`
}

// Env is what a program needs to find the display, and no other.
func (i *Info) Env() map[string]string {
	return map[string]string{
		"DISPLAY": i.Display, "XAUTHORITY": i.Authority, "XDG_RUNTIME_DIR": i.Runtime,
		// Qt 6 does not register where it is told the accessibility bus by a variable: it asks the session's bus, others
		// the X server.
		"DBUS_SESSION_BUS_ADDRESS": i.Bus, "AT_SPI_BUS_ADDRESS": "",
		"XDG_SESSION_TYPE": "x11", "WAYLAND_DISPLAY": "", "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb",
		"QT_ACCESSIBILITY": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "ACCESSIBILITY_ENABLED": "1",
		"NO_AT_BRIDGE": "0",
		"GSK_RENDERER": "cairo", // by software GL, GTK 4 takes a CPU and a half
	}
}

// Display is one that runs. Safe for concurrent use.
type Display struct {
	Info
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{}
	once sync.Once
	err  error
}

// first is what the keeper says once: how it went.
type first struct {
	Info  *Info
	Fault *struct {
		Code      fault.Code
		Msg, Hint string
	}
}

// ParseSize reads "1280x800"; "" is the default.
func ParseSize(s string) (w, h int, err error) {
	if s == "" {
		return DefaultWidth, DefaultHeight, nil
	}
	a, b, _ := strings.Cut(s, "x")
	w, err1 := strconv.Atoi(a)
	h, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || min(w, h) < MinSide || max(w, h) > MaxSide {
		return 0, 0, fault.New(fault.ValidationError, fmt.Sprintf("For example 1280x800; each side has %d to %d points.",
			MinSide, MaxSide), "displaySize %q is no size", s)
	}
	return w, h, nil
}

// Start makes a display by a keeper, which is started by this command and calls RunKeeper. ctx bounds the start only.
func Start(ctx context.Context, keeper []string, width, height int) (*Display, error) {
	if missing := Missing(); missing != nil {
		return nil, missing
	}
	if len(keeper) == 0 {
		return nil, fault.New(fault.Unsupported, "Run strobe itself.", "this process has no keeper of displays")
	}
	cmd := exec.Command(keeper[0], append(keeper[1:len(keeper):len(keeper)], fmt.Sprintf("%dx%d", width, height))...)
	apart(cmd)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the display's keeper: %w", err)
	}
	d := &Display{cmd: cmd, in: in, done: make(chan struct{})}
	said := make(chan []byte, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadBytes('\n') // nil: it has ended, which does not decode
		said <- line
		io.Copy(io.Discard, out) //nolint:errcheck // until it ends
		d.err = cmd.Wait()
		close(d.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	var f first
	select {
	case line := <-said:
		if err := json.Unmarshal(line, &f); err != nil {
			d.Close()
			return nil, fault.New(fault.UINotAvailable, "See daemon.log.", "the display's keeper ended: %v", d.err)
		}
	case <-ctx.Done():
		d.Close()
		return nil, fault.New(fault.UINotAvailable, "Try again when the machine is less busy.",
			"start a display: %w", ctx.Err())
	}
	if f.Fault != nil || f.Info == nil {
		d.Close()
		return nil, fault.New(f.Fault.Code, f.Fault.Hint, "%s", f.Fault.Msg)
	}
	d.Info = *f.Info
	return d, nil
}

// Hold tells whose display it is: without us, it ends with that process.
func (d *Display) Hold(pid int) { fmt.Fprintf(d.in, "hold %d\n", pid) }

// Gone is closed when the display has ended.
func (d *Display) Gone() <-chan struct{} { return d.done }

// Leave lets the display live as long as the program that it is held for.
func (d *Display) Leave() { d.once.Do(func() { d.in.Close() }) }

// Close ends the display with all its programs, and waits until they are gone.
func (d *Display) Close() error {
	d.once.Do(func() {
		io.WriteString(d.in, "end\n") //nolint:errcheck // it has ended
		d.in.Close()
	})
	select {
	case <-d.done:
		if d.Runtime != "" { // the keeper does so, unless it was killed
			return os.RemoveAll(d.Runtime)
		}
		return nil
	case <-time.After(endMax):
		return errors.Join(fmt.Errorf("display %s: not ended within %v", d.Display, endMax), d.cmd.Process.Kill())
	}
}
