package desktop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
	"github.com/strobe-debug/strobe/internal/ui/display"
)

// shown is a program with windows that may be looked at.
type shown struct {
	toolkit string
	command []string
	soak    bool // too large to be installed for every run
	moves   bool // its elements change while nobody does anything
}

var programs = []shown{
	{toolkit: "GTK 3", command: []string{"gtk3-widget-factory"}, moves: true},
	{toolkit: "GTK 3", command: []string{"mousepad"}, soak: true},
	{toolkit: "GTK 3", command: []string{"qalculate-gtk"}, soak: true},
	{toolkit: "GTK 4", command: []string{"gnome-calculator"}, soak: true},
	{toolkit: "GTK 4", command: []string{"gtk4-widget-factory"}, soak: true, moves: true},
	{toolkit: "Qt 5", command: []string{"featherpad"}, soak: true},
	{toolkit: "Qt 5", command: []string{"/usr/lib/x86_64-linux-gnu/qt5/examples/widgets/widgets/styles/styles"}, soak: true},
	{toolkit: "Qt 6", command: []string{"qt6ct"}, soak: true},
	{toolkit: "Chromium", command: []string{"chromium", "--no-sandbox", "--force-renderer-accessibility", "--no-first-run",
		"data:text/html,<title>t</title><h1>Head</h1><button>Go</button><input value=in>"}, soak: true},
	{toolkit: "Tk", command: []string{"wish"}, soak: true},
}

// virtual makes a display, which ends with the test.
func virtual(t *testing.T) *display.Display {
	t.Helper()
	d, err := display.Start(t.Context(), []string{strobetest.Binary(t), "display-keeper"}, 1600, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.Runtime); err == nil {
			t.Errorf("%s is left", d.Runtime)
		}
		for _, pid := range d.PIDs {
			if err := syscall.Kill(pid, 0); err == nil {
				t.Errorf("process %d of the display is left", pid)
			}
		}
	})
	return d
}

// launch starts a program on a display, and ends it with the test.
func launch(t *testing.T, d *display.Display, command []string) int {
	t.Helper()
	if os.Getuid() == 0 && command[0] == "chromium" {
		command = append(slices.Clone(command), "--user-data-dir="+t.TempDir())
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+t.TempDir())
	for name, v := range d.Env() {
		if v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if command[0] == "wish" {
		cmd.Stdin = strings.NewReader("button .b -text Press; pack .b; vwait forever\n")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it has ended
		cmd.Wait()                                      //nolint:errcheck // it was killed
	})
	return cmd.Process.Pid
}

// openAt connects to a display.
func openAt(t *testing.T, d *display.Display) ui.Desktop {
	t.Helper()
	desk, err := Open(t.Context(), Where{Display: d.Info.Display, Authority: d.Authority, Accessibility: d.Accessibility,
		Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(desk.Close)
	if err := desk.Changes(t.Context(), func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	return desk
}

// settled looks until looks give the same number of elements for a while.
func settled(t *testing.T, desk ui.Desktop, pid int, command string) *ui.Tree {
	t.Helper()
	last, since := -1, time.Now()
	var tree *ui.Tree
	strobetest.Eventually(t, time.Minute, command+" shows the same number of elements for a while", func() bool {
		var err error
		if tree, err = desk.Look(t.Context(), ui.Look{PIDs: []int{pid}}); err != nil {
			t.Fatal(err)
		}
		if tree.Nodes != last {
			last, since = tree.Nodes, time.Now()
		}
		return time.Since(since) > 600*time.Millisecond && last > 0 && (last > 1 || command == "wish")
	})
	return tree
}

// TestLooksAreWhole: what a look finds is what a walk finds that asks for one thing after the other.
func TestLooksAreWhole(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // Open says why; TestElsewhere
	}
	for _, p := range programs {
		if p.soak && os.Getenv("STROBE_SOAK") == "" {
			continue
		}
		name := p.command[0][strings.LastIndexByte(p.command[0], '/')+1:]
		t.Run(name, func(t *testing.T) {
			strobetest.NeedCommand(t, p.command[0])
			d := virtual(t)
			pid := launch(t, d, p.command)
			desk := openAt(t, d)
			tree := settled(t, desk, pid, p.command[0])
			if p.command[0] == "wish" {
				if len(tree.Bare) != 1 || len(tree.Windows) != 1 {
					t.Errorf("a program without accessibility: %d windows, bare %v", len(tree.Windows), tree.Bare)
				}
				return
			}
			slow := slowly(t, d, pid)
			var took []time.Duration
			for range 20 {
				again, err := desk.Look(t.Context(), ui.Look{PIDs: []int{pid}})
				if err != nil {
					t.Fatal(err)
				}
				tree, took = again, append(took, again.Took)
			}
			slices.Sort(took)
			t.Logf("%-9s %-22s %4d elements, of %4d, median %v", p.toolkit, name, tree.Nodes, len(slow), took[len(took)/2])
			found := map[string]bool{}
			for _, w := range tree.Windows {
				w.Walk(func(n *ui.Node) bool { found[n.Key] = true; return true })
			}
			for key, what := range slow {
				if !found[key] && !p.moves {
					t.Errorf("the look lacks %s", what)
				}
			}
			for key := range found { // GTK 4's cache has pages that its lists of children have not
				if _, ok := slow[key]; !ok && !p.moves && p.toolkit != "GTK 4" {
					t.Errorf("the slow walk lacks %s", key)
				}
			}
			if p.moves && len(found) < len(slow)-5 {
				t.Errorf("%d elements, the slow walk has %d", len(found), len(slow))
			}
		})
	}
}

// slowly walks what a process shows, call by call: what shows, by its key.
func slowly(t *testing.T, d *display.Display, pid int) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := dbus.Dial(ctx, d.Accessibility)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const iface = "org.a11y.atspi.Accessible"
	children := func(bus, path string) (out [][2]string) {
		m, err := c.Call(ctx, bus, path, iface, "GetChildren", "", nil)
		if err != nil {
			return nil
		}
		m.Body.Array(8, func() {
			m.Body.Struct()
			out = append(out, [2]string{m.Body.String(), m.Body.String()})
		})
		return out
	}
	found := map[string]string{}
	var walk func(bus, path string, gtk4 bool)
	walk = func(bus, path string, gtk4 bool) {
		for _, r := range children(bus, path) {
			m, err := c.Call(ctx, r[0], r[1], iface, "GetState", "", nil)
			if err != nil || found[r[0]+r[1]] != "" {
				continue
			}
			var bits uint64
			shift := 0
			m.Body.Array(4, func() { bits |= uint64(m.Body.Uint32()) << shift; shift += 32 })
			if bits&(1<<30) == 0 || bits&(1<<25) == 0 && !gtk4 || bits&(1<<6) != 0 {
				continue
			}
			name, _ := c.Property(ctx, r[0], r[1], iface, "Name")
			found[r[0]+r[1]] = fmt.Sprintf("%s%s %v", r[0], r[1], name)
			walk(r[0], r[1], gtk4)
		}
	}
	for _, app := range children("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root") {
		if p, err := c.PID(ctx, app[0]); err == nil && p == pid {
			version, _ := c.Property(ctx, app[0], app[1], "org.a11y.atspi.Application", "Version")
			kit, _ := c.Property(ctx, app[0], app[1], "org.a11y.atspi.Application", "ToolkitName")
			walk(app[0], app[1], kit == "GTK" && strings.HasPrefix(fmt.Sprint(version), "4"))
		}
	}
	return found
}
