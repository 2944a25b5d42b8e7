package display

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
	"github.com/strobe-debug/strobe/internal/ui/x11"
)

func platformLacks() error { return nil }

// apart keeps a terminal's signals from the keeper: it ends when it is told, or left alone.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// keeper has a display's programs.
type keeper struct {
	dir  string
	env  []string
	info Info
	runs []*exec.Cmd
}

// Bounds of the keeper's waits.
const (
	managerMax = 3 * time.Second        // for the window manager to say that it is there
	holdEvery  = 500 * time.Millisecond // looks whether the program still lives
	polite     = 300 * time.Millisecond // between asking to end and killing
)

// RunKeeper is the keeper's life: it makes a display, says so as one line of JSON, and ends it when it reads "end", or
// when its input ends and the process that it last read of ("hold PID") has ended.
func RunKeeper(in io.Reader, out io.Writer, width, height int) error {
	// What is started dies with the thread that started it, where we are killed: it is this one, which lasts.
	runtime.LockOSThread()
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	// What the bus starts, and what that leaves, is ours to end.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	k := &keeper{}
	defer k.end()
	var said struct {
		Info  *Info
		Fault *fault.Error
	}
	err := k.start(width, height)
	if err != nil {
		f := fault.New(fault.UINotAvailable, "See what it says; strobe doctor looks at the rest.", "start a display: %w", err)
		said.Fault = f
	} else {
		said.Info = &k.info
	}
	if err2 := json.NewEncoder(out).Encode(said); err != nil || err2 != nil {
		return errors.Join(err, err2)
	}
	k.live(in, terms)
	return nil
}

// live waits until the display is not wanted any more, or has died.
func (k *keeper) live(in io.Reader, terms <-chan os.Signal) {
	lines := make(chan string)
	go func() {
		s := bufio.NewScanner(in)
		for s.Scan() {
			lines <- s.Text()
		}
		close(lines)
	}()
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	held, left := 0, false
	for {
		select {
		case <-terms:
			return
		case line, ok := <-lines:
			if !ok {
				if left, lines = true, nil; held == 0 {
					return
				}
				continue
			}
			if line == "end" {
				return
			}
			if pid, found := strings.CutPrefix(line, "hold "); found {
				held, _ = strconv.Atoi(pid) // ours, and a number
			}
		case <-tick.C:
			if k.ended(k.runs[0]) || left && syscall.Kill(held, 0) != nil {
				return
			}
		}
	}
}

// ended reaps what has ended and reports whether that is one of them.
func (k *keeper) ended(cmd *exec.Cmd) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

func (k *keeper) start(width, height int) error {
	dir, err := os.MkdirTemp("", "strobe-display-")
	if err != nil {
		return err
	}
	k.dir = dir
	k.info = Info{Width: width, Height: height, Authority: filepath.Join(dir, "authority"), Runtime: dir,
		Bus: "unix:path=" + filepath.Join(dir, "bus")}
	secret := make([]byte, 16)
	rand.Read(secret) //nolint:errcheck // it never fails
	if err := os.WriteFile(k.info.Authority, x11.Authority(secret), 0o600); err != nil {
		return err
	}
	if k.info.Display, err = k.server(width, height); err != nil {
		return err
	}
	// What the bus starts keeps its settings to itself: none of the user's is written.
	k.env = environ(map[string]string{"DISPLAY": k.info.Display, "XAUTHORITY": k.info.Authority, "XDG_RUNTIME_DIR": dir,
		"DBUS_SESSION_BUS_ADDRESS": k.info.Bus, "GSETTINGS_BACKEND": "memory", "GDK_BACKEND": "x11", "WAYLAND_DISPLAY": "",
		"AT_SPI_BUS_ADDRESS": "", "SESSION_MANAGER": "", "DESKTOP_SESSION": "", "XDG_CURRENT_DESKTOP": ""})
	ctx, cancel := context.WithTimeout(context.Background(), startMax)
	defer cancel()
	if err := k.bus(ctx); err != nil {
		return err
	}
	x, err := x11.Dial(ctx, k.info.Display, k.info.Authority)
	if err != nil {
		return err
	}
	defer x.Close() //nolint:errcheck // nothing of it is wanted any more
	if err := x.SetText(x.Root, "AT_SPI_BUS", k.info.Accessibility); err != nil {
		return err
	}
	return k.manager(x)
}

// server starts the X server, which finds a free number and says it when it is ready.
func (k *keeper) server(width, height int) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd := exec.Command(find("Xvfb"), "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", width, height),
		"-auth", k.info.Authority, "-nolisten", "tcp", "-noreset", "-dpi", "96")
	cmd.ExtraFiles = []*os.File{w}
	said := &tail{}
	err = errors.Join(k.run(cmd, said), w.Close())
	if err != nil {
		return "", err
	}
	if err := r.SetReadDeadline(time.Now().Add(startMax)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("Xvfb did not get ready: %w: %s", err, said)
	}
	return ":" + strings.TrimSpace(line), nil
}

// bus starts the message bus, and by it accessibility.
func (k *keeper) bus(ctx context.Context) error {
	cmd := exec.Command(find("dbus-daemon"), "--session", "--nofork", "--nopidfile", "--address="+k.info.Bus,
		"--print-address=3")
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.ExtraFiles, cmd.Env = []*os.File{w}, k.env
	said := &tail{}
	if err := errors.Join(k.run(cmd, said), w.Close()); err != nil {
		return err
	}
	if err := r.SetReadDeadline(time.Now().Add(startMax)); err != nil {
		return err
	}
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		return fmt.Errorf("dbus-daemon did not get ready: %w: %s", err, said)
	}
	c, err := dbus.Dial(ctx, k.info.Bus)
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := c.Call(ctx, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", "", nil)
	if err != nil {
		return fmt.Errorf("start accessibility: %w", err)
	}
	k.info.Accessibility = m.Body.String()
	for _, name := range []string{"IsEnabled", "ScreenReaderEnabled"} {
		w := &dbus.Builder{}
		w.String("org.a11y.Status")
		w.String(name)
		w.Signature("b")
		w.Bool(true)
		if _, err := c.Call(ctx, "org.a11y.Bus", "/org/a11y/bus", dbus.Props, "Set", "ssv", w.Body()); err != nil {
			return fmt.Errorf("switch accessibility on: %w", err)
		}
	}
	return nil
}

// run starts a program that dies with us; what it says goes to said.
func (k *keeper) run(cmd *exec.Cmd, said io.Writer) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	k.runs = append(k.runs, cmd)
	k.info.PIDs = append(k.info.PIDs, cmd.Process.Pid)
	return nil
}

// managers are window managers that may be there.
var managers = [][]string{{"openbox", "--sm-disable", "--config-file"}}

// openboxConfig leaves every key to the programs.
const openboxConfig = `<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
<focus><focusNew>yes</focusNew><followMouse>no</followMouse><focusLast>yes</focusLast></focus>
<placement><policy>Smart</policy></placement>
<theme><name>Clearlooks</name><titleLayout>NLIMC</titleLayout><animateIconify>no</animateIconify></theme>
<desktops><number>1</number><popupTime>0</popupTime></desktops>
<resize><popupShow>Never</popupShow></resize>
<keyboard/>
<mouse><dragThreshold>3</dragThreshold>
<context name="Titlebar">
<mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
<mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind></context>
<context name="Titlebar Top Right Bottom Left TLCorner TRCorner BRCorner BLCorner">
<mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind></context>
<context name="Client">
<mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
<mousebind button="Middle" action="Press"><action name="Focus"/></mousebind>
<mousebind button="Right" action="Press"><action name="Focus"/></mousebind></context>
<context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
<context name="Maximize"><mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind></context>
<context name="BRCorner"><mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
</mouse></openbox_config>
`

// manager starts a window manager where there is one.
func (k *keeper) manager(x *x11.Conn) error {
	config := filepath.Join(k.dir, "openbox.xml")
	if err := os.WriteFile(config, []byte(openboxConfig), 0o600); err != nil {
		return err
	}
	for _, m := range managers {
		path := find(m[0])
		if path == "" {
			continue
		}
		cmd := exec.Command(path, append(m[1:len(m):len(m)], config)...)
		cmd.Env = k.env
		if err := k.run(cmd, &tail{}); err != nil {
			return err
		}
		for end := time.Now().Add(managerMax); !x.HasManager() && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		k.info.Manager = m[0]
		return nil
	}
	k.info.Warnings = append(k.info.Warnings, "no window manager is installed (openbox): windows stand in the corner, "+
		"and dialogs may get no keys")
	return nil
}

// end ends everything that is below us, and removes the folder.
func (k *keeper) end() {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for end := time.Now().Add(polite); ; time.Sleep(10 * time.Millisecond) {
			below := descendants()
			if len(below) == 0 {
				break
			}
			for _, pid := range below {
				syscall.Kill(pid, sig) //nolint:errcheck // it has ended
			}
			if time.Now().After(end) {
				break
			}
		}
	}
	if k.dir != "" {
		os.RemoveAll(k.dir) //nolint:errcheck // a temporary folder
	}
}

// descendants lists the processes below us, and reaps those that have ended.
func descendants() []int {
	for {
		var ws syscall.WaitStatus
		if pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			break
		}
	}
	parents := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" {
			if ppid, err := strconv.Atoi(fields[1]); err == nil {
				parents[ppid] = append(parents[ppid], pid)
			}
		}
	}
	var all []int
	for next := []int{os.Getpid()}; len(next) > 0; {
		below := parents[next[0]]
		all, next = append(all, below...), append(next[1:], below...)
	}
	return all
}

// environ is our own environment with these laid over it; "" takes one out.
func environ(over map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := over[name]; !ok {
			out = append(out, kv)
		}
	}
	for name, v := range over {
		if v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// tail keeps the end of what a program says.
type tail struct {
	mu sync.Mutex // leaf
	b  []byte
}

const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
