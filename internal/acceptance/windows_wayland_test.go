package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/ui/display"
)

// compositor starts a Wayland compositor without a screen, which ends with the test, and returns its socket. config is
// a file's content, whose name stands last. Sway refuses to be root.
func compositor(t testing.TB, config string, command ...string) string {
	t.Helper()
	strobetest.NeedCommand(t, command[0])
	dir, err := os.MkdirTemp("", "wl-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], file)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "WLR_BACKENDS=headless",
		"WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman"}
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it has ended
		cmd.Wait()                                      //nolint:errcheck // it was killed
	})
	var found []string
	defer func() {
		if b, err := os.ReadFile(said.Name()); found == nil && err == nil {
			t.Logf("%s says:\n%s", command[0], b)
		}
	}()
	strobetest.Eventually(t, time.Minute, fmt.Sprintf("%v makes a socket", command), func() bool {
		found, _ = filepath.Glob(filepath.Join(dir, "wayland-[0-9]"))
		return len(found) > 0
	})
	return found[0]
}

// sway is the compositor sway, with one output of 1600 by 1000 points.
func sway(t testing.TB) string {
	t.Helper()
	return compositor(t, "xwayland disable\noutput HEADLESS-1 resolution 1600x1000 position 0 0\n", "sway", "--unsupported-gpu", "-c")
}

// onWayland is the environment of a program that shows its windows by a compositor, with a bus of its own.
func onWayland(t *testing.T, socket string) args {
	t.Helper()
	d, err := display.Start(t.Context(), []string{strobetest.Binary(t), "display-keeper"}, 640, 480)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	env := args{"HOME": t.TempDir()}
	for name, v := range d.Env() {
		env[name] = v
	}
	for name, v := range map[string]string{"DISPLAY": "", "WAYLAND_DISPLAY": socket, "GDK_BACKEND": "wayland",
		"QT_QPA_PLATFORM": "wayland", "XDG_SESSION_TYPE": "wayland"} {
		env[name] = v
	}
	return env
}

// TestInterfaceOnWayland drives a program of GTK on sway: what it shows, a picture, a click, keys, the wheel, a drag.
func TestInterfaceOnWayland(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "Xvfb", "dbus-daemon", "gtk3-widget-factory")
	s := strobetest.Start(t, nil)
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", args{"command": "gtk3-widget-factory", "projectRoot": t.TempDir(),
		"env": onWayland(t, sway(t))}, &l)
	in := func(more args) args {
		more["sessionId"] = l.SessionID
		return more
	}
	var first looked
	strobetest.Eventually(t, time.Minute, "the window shows all of its elements", func() bool {
		err := s.Try("debug_ui", in(args{"maxTokens": 20_000}), &first) // an error until it has one
		return err == nil && first.Stats.AxNodes > 140
	})
	do := func(more args) (a acted) {
		t.Helper()
		s.Call(t, "debug_ui_action", in(more), &a)
		t.Logf("%v: %+v", more, a)
		return a
	}
	m := pictureOf(t, s, l.SessionID, "")
	colours := map[any]bool{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			colours[m.At(x, y)] = true
		}
	}
	if size := m.Bounds(); len(colours) < 50 || size.Dx() < 400 || size.Dy() < 300 {
		t.Errorf("the picture of %v has %d colours", size, len(colours))
	}
	// By the pointer: the program has no action for it.
	tabs := regexp.MustCompile(`tab#[0-9a-f]+`)
	page := tabs.FindAllString(first.Tree[strings.Index(first.Tree, "[page 1]"):], -1)
	if a := do(args{"action": "click", "id": page[0]}); !a.Done {
		t.Errorf("a click: %+v", a)
	}
	sliders := regexp.MustCompile(`(?m)sld#[0-9a-f]+ \(.*\) val=50`).FindAllString(first.Tree, -1)
	if len(sliders) == 0 {
		t.Fatalf("no slider in\n%s", first.Tree)
	}
	slider, _, _ := strings.Cut(sliders[0], " ")
	at := placeOf(t, look(t, s, in(args{"maxTokens": 20_000})).Tree, slider)
	a := do(args{"action": "drag", "id": slider, "to": args{"x": at[0] + at[2]*9/10, "y": at[1] + at[3]/2}})
	if !a.Done || a.Method != "pointer" || strings.Contains(a.After, "val=50") {
		t.Errorf("a drag: %+v", a)
	}
	if a = do(args{"action": "scroll", "id": slider, "direction": "up"}); !a.Done || a.After == a.Before {
		t.Errorf("the wheel: %+v", a)
	}
	entry := regexp.MustCompile(`txt#[0-9a-f]+`).FindString(first.Tree)
	text := "Wayland ÄÖ 世界 √ 🎛"
	if a = do(args{"action": "key", "id": entry, "key": "ctrl+a"}); !a.Done {
		t.Errorf("a key: %+v", a)
	}
	if a = do(args{"action": "type", "id": entry, "text": text}); !a.Done || a.Method != "keyboard" ||
		!strings.Contains(a.After, text) {
		t.Errorf("keys: %+v", a)
	}
	// A place, and what is there is told by what changes.
	now := look(t, s, in(args{"maxTokens": 20_000})) // the first may have been of a window that was still growing
	box := regexp.MustCompile(`chk#[0-9a-f]+ \[checkbutton\] \S+ checked\n`).FindString(now.Tree)
	box, _, _ = strings.Cut(box, " ")
	at = placeOf(t, now.Tree, box)
	if a = do(args{"action": "click", "at": args{"x": at[0] + at[2]/2, "y": at[1] + at[3]/2}}); !a.Done ||
		!slices.ContainsFunc(a.Changed, func(s string) bool { return strings.Contains(s, box) }) {
		t.Errorf("a click at the place of %s: %+v", box, a)
	}
}

// placeOf is x, y, width and height of an element.
func placeOf(t *testing.T, tree, id string) (at [4]int) {
	t.Helper()
	i := strings.Index(tree, id)
	if i < 0 || id == "" {
		t.Fatalf("no %q in\n%s", id, tree)
	}
	m := regexp.MustCompile(`\((\d+)x(\d+)\+(\d+)\+(\d+)\)`).FindStringSubmatch(tree[i:])
	for k, from := range []int{3, 4, 1, 2} {
		at[k], _ = strconv.Atoi(m[from])
	}
	return at
}
