package iochan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sound/pulse"
)

// A sound server of a session's own: no device, nothing of the user's, one sink that nobody hears and one source that
// only we play into. It is PipeWire with its session manager and a bus that this needs, or PulseAudio.

const (
	// serverMax bounds the start of a private server; 0.8 s is usual.
	serverMax = 15 * time.Second
	serverTry = 10 * time.Millisecond
	// Sinks and sources of a session.
	sinkOut, sinkIn, sourceIn = "strobe_out", "strobe_in", "strobe_mic"
	serverDirs                = "strobe-sound-"
	// monoSound is how what the target records from is laid out: copied to as many channels as it records.
	monoSound = "channels=1 channel_map=mono "
	// quantumConf has sound go round 23 times a second: a machine that is busy drops none.
	quantumConf = "context.properties = { default.clock.quantum = 2048 default.clock.min-quantum = 2048 }\n"
	// asoundConf makes programs that know ALSA only play by the server.
	asoundConf = "</usr/share/alsa/alsa.conf>\npcm.!default { type pulse }\nctl.!default { type pulse }\n"
	installPW  = "apt-get install pipewire wireplumber pipewire-pulse dbus"
)

// soundServer is a private server. Goroutine: keep, whose thread the processes live no longer than.
type soundServer struct {
	dir    string
	work   chan func()
	ended  chan struct{}
	closed sync.Once
	runs   []*exec.Cmd
	jack   bool // programs can use it as JACK
	of     Target
	users  int // needs servers.mu
}

// servers are the private servers of sessions: the channels of one share theirs.
var servers = struct {
	mu  sync.Mutex
	all map[Target]*soundServer
}{all: map[Target]*soundServer{}}

// acquireServer returns the session's server, and starts it where it is the first. The caller calls release.
func acquireServer(ctx context.Context, t Target) (*soundServer, error) {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	s := servers.all[t]
	if s == nil {
		var err error
		if s, err = startSoundServer(ctx); err != nil {
			return nil, err
		}
		s.of, servers.all[t] = t, s
	}
	s.users++
	return s, nil
}

// release ends the server with its last channel.
func (s *soundServer) release() {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(servers.all, s.of)
		s.stop()
	}
}

// startSoundServer starts one. The caller calls stop.
func startSoundServer(ctx context.Context) (*soundServer, error) {
	pipewire := lacking("pipewire", "wireplumber", "pipewire-pulse", "dbus-daemon")
	if pipewire != "" && lacking("pulseaudio") != "" {
		return nil, fault.New(fault.Unsupported, installPW+" (or pulseaudio).",
			"a private sound server needs %s, which is not installed", pipewire)
	}
	dir, err := ownDir(serverDirs)
	if err != nil {
		return nil, err
	}
	s := &soundServer{dir: dir, work: make(chan func()), ended: make(chan struct{})}
	go s.keep()
	ctx, cancel := context.WithTimeout(ctx, serverMax)
	defer cancel()
	if s.jack = pipewire == ""; s.jack {
		err = s.pipewire(ctx)
	} else {
		err = s.pulseaudio(ctx)
	}
	if err != nil {
		why := fault.New(fault.Unsupported, "Its last words are in the message; strobe doctor checks the machine.",
			"the private sound server did not start: %w%s", err, s.words())
		s.stop()
		return nil, why
	}
	return s, nil
}

func lacking(commands ...string) string {
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			return c
		}
	}
	return ""
}

// ownDir makes a directory for as long as we live, and removes those of workers that were killed.
func ownDir(prefix string) (string, error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		left = nil
	}
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			os.RemoveAll(dir) //nolint:errcheck // somebody else's: not ours to remove
		}
	}
	dir, err := os.MkdirTemp("", prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fault.New(fault.WriteFailed, "Make room in the directory for temporary files.", "%w", err)
	}
	return dir, nil
}

// keep is the goroutine that starts the processes: they get SIGKILL when its thread ends.
func (s *soundServer) keep() {
	defer close(s.ended)
	runtime.LockOSThread()
	for f := range s.work {
		f()
	}
	for i := len(s.runs) - 1; i >= 0; i-- {
		s.runs[i].Process.Kill() //nolint:errcheck // it has ended
		s.runs[i].Wait()         //nolint:errcheck // by our signal
	}
}

// run starts one process, which writes into a file of its name.
func (s *soundServer) run(command ...string) error {
	result := make(chan error)
	s.work <- func() {
		log, err := os.Create(filepath.Join(s.dir, filepath.Base(command[0])+".log"))
		if err != nil {
			result <- err
			return
		}
		defer log.Close()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.dir
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+s.dir, "PIPEWIRE_RUNTIME_DIR="+s.dir, "XDG_CONFIG_HOME="+s.dir,
			"XDG_STATE_HOME="+s.dir, "HOME="+s.dir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+s.dir+"/bus", "DISPLAY=",
			"PULSE_SERVER=", "PULSE_RUNTIME_PATH="+filepath.Join(s.dir, "pulse"), "PIPEWIRE_REMOTE=")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
		if err = cmd.Start(); err == nil {
			s.runs = append(s.runs, cmd)
		}
		result <- err
	}
	return <-result
}

// socketOf waits until somebody listens at a socket: it is there a moment before.
func (s *soundServer) socketOf(ctx context.Context, name string) error {
	for {
		if c, err := net.Dial("unix", filepath.Join(s.dir, name)); err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its socket %s does not come: %w", name, ctx.Err())
		case <-time.After(serverTry):
		}
	}
}

func (s *soundServer) pipewire(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(s.dir, "pipewire", "pipewire.conf.d"), 0o700); err != nil {
		return err
	}
	conf := filepath.Join(s.dir, "pipewire", "pipewire.conf.d", "strobe.conf")
	if err := os.WriteFile(conf, []byte(quantumConf), 0o600); err != nil {
		return err
	}
	for _, r := range []struct {
		command []string
		socket  string
	}{
		{[]string{"dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=unix:path=" + s.dir + "/bus"}, "bus"},
		{[]string{"pipewire"}, "pipewire-0"}, {[]string{"wireplumber"}, "bus"},
		{[]string{"pipewire-pulse"}, "pulse/native"},
	} {
		if err := s.run(r.command...); err != nil {
			return err
		}
		if err := s.socketOf(ctx, r.socket); err != nil {
			return err
		}
	}
	return s.furnish(ctx)
}

func (s *soundServer) pulseaudio(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(s.dir, "pulse"), 0o700); err != nil {
		return err
	}
	err := s.run("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=yes",
		"-L", "module-native-protocol-unix auth-anonymous=1 socket="+s.socket())
	if err != nil {
		return err
	}
	if err := s.socketOf(ctx, "pulse/native"); err != nil {
		return err
	}
	return s.furnish(ctx)
}

// furnish makes the sink and the source that programs get, and waits until they do.
func (s *soundServer) furnish(ctx context.Context) error {
	c, err := pulse.Dial(ctx, s.socket(), "Strobe", func(pulse.Event) {})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Load(ctx, "module-null-sink", "sink_name="+sinkOut); err != nil {
		return err
	}
	if _, err := loadInput(ctx, c, ""); err != nil {
		return err
	}
	for {
		err := c.Default(ctx, sinkOut, sourceIn)
		if _, sink, err := c.Server(ctx); err == nil && sink == sinkOut {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its sink does not become the one that programs get: %w", errors.Join(err, ctx.Err()))
		case <-time.After(serverTry):
		}
	}
	return os.WriteFile(filepath.Join(s.dir, "asound.conf"), []byte(asoundConf), 0o600)
}

// loadInput makes a sink and a source that has what is played into it; the numbers are for Unload, in that order.
func loadInput(ctx context.Context, c *pulse.Conn, suffix string) ([]uint32, error) {
	sink, err := c.Load(ctx, "module-null-sink", monoSound+"sink_name="+sinkIn+suffix)
	if err != nil {
		return nil, err
	}
	source, err := c.Load(ctx, "module-remap-source",
		monoSound+"master="+sinkIn+suffix+".monitor source_name="+sourceIn+suffix)
	if err != nil {
		return []uint32{sink}, err
	}
	return []uint32{source, sink}, nil
}

func (s *soundServer) socket() string { return filepath.Join(s.dir, "pulse", "native") }

// environment is what a program needs to meet this server and no other.
func (s *soundServer) environment() map[string]string {
	env := map[string]string{"PULSE_SERVER": "unix:" + s.socket(), "PIPEWIRE_RUNTIME_DIR": s.dir}
	found, err := filepath.Glob("/usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so")
	if err == nil && len(found) > 0 {
		env["ALSA_CONFIG_PATH"] = filepath.Join(s.dir, "asound.conf")
	}
	return env
}

// words are the last lines that the processes wrote.
func (s *soundServer) words() string {
	var out strings.Builder
	logs, err := filepath.Glob(filepath.Join(s.dir, "*.log"))
	if err != nil {
		return ""
	}
	for _, name := range logs {
		if b, err := os.ReadFile(name); err == nil {
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			if last := lines[len(lines)-1]; last != "" {
				fmt.Fprintf(&out, "; %s: %.200s", strings.TrimSuffix(filepath.Base(name), ".log"), last)
			}
		}
	}
	return out.String()
}

// stop ends the processes and waits for that.
func (s *soundServer) stop() {
	s.closed.Do(func() {
		close(s.work)
		<-s.ended
		os.RemoveAll(s.dir) //nolint:errcheck // in the directory for temporary files
	})
}
