package iochan

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

//go:generate make -s -C jack

// jackHelper is the process that is JACK's client (jack/jack.c).
//
//go:embed jack/jack_linux_amd64.bin
var jackHelper []byte

const (
	// jackMax bounds the wait for the helper to be JACK's client.
	jackMax = 10 * time.Second
	// maxJackFrame bounds what the helper tells at once.
	maxJackFrame = 1 << 20
	jackLibrary  = "libjack.so.0"
	installJack  = "apt-get install pipewire wireplumber pipewire-pulse pipewire-jack dbus"
)

// jackWay is MIDI by JACK. Goroutine: read.
type jackWay struct {
	m      *midiIO
	cmd    *exec.Cmd
	in     io.WriteCloser
	server *soundServer // the session's own; else nil
	own    string       // our client's name
	done   chan struct{}
	once   sync.Once

	writing sync.Mutex // over one frame
	env     map[string]string
	joined  map[string]bool
	input   bool // the target has one, which we are connected with
}

// pipewireJack is PipeWire's library for JACK's programs; "" if it is not installed.
func pipewireJack() string {
	found, err := filepath.Glob("/usr/lib/*/pipewire-0.3/jack/" + jackLibrary)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

func openJack(ctx context.Context, m *midiIO) (midiWay, error) {
	w := &jackWay{m: m, done: make(chan struct{}), joined: map[string]bool{}}
	libraries := []string{jackLibrary}
	env := os.Environ()
	lib := pipewireJack()
	if lib != "" {
		libraries = append(libraries, lib)
	}
	if m.arg == private {
		if lib == "" {
			return nil, fault.New(fault.Unsupported, installJack+"; or midi:pipes.",
				"midi:private needs PipeWire's library for JACK (%s), which is not installed", jackLibrary)
		}
		var err error
		if w.server, err = acquireServer(ctx, m.t); err != nil {
			return nil, err
		}
		if !w.server.jack {
			w.server.release()
			return nil, fault.New(fault.Unsupported, installJack+"; or midi:pipes.",
				"midi:private needs PipeWire, and the session's sound server is PulseAudio")
		}
		libraries = []string{lib}
		w.env = w.server.environment()
		w.env["LD_LIBRARY_PATH"] = strings.TrimSuffix(filepath.Dir(lib)+":"+os.Getenv("LD_LIBRARY_PATH"), ":")
		env = append(env, "PIPEWIRE_RUNTIME_DIR="+w.server.dir)
	}
	if err := w.start(env, libraries); err != nil {
		w.close() //nolint:errcheck // the first error counts
		return nil, err
	}
	return w, nil
}

func (w *jackWay) start(env, libraries []string) error {
	unsupported := func(why error) error {
		return fault.New(fault.Unsupported, "Add midi:private at the launch ("+installJack+"), or midi:pipes; or start "+
			"JACK: jackd, or PipeWire with pipewire-jack.", "no MIDI by JACK: %w", why)
	}
	fd, err := unix.MemfdCreate("strobe-jack", unix.MFD_CLOEXEC)
	if err != nil {
		close(w.done)
		return unsupported(err)
	}
	file := os.NewFile(uintptr(fd), "strobe-jack")
	defer file.Close()
	if _, err := file.Write(jackHelper); err != nil {
		close(w.done)
		return unsupported(err)
	}
	// The helper's file is its descriptor 3: nothing has to be written where programs may be run from.
	w.cmd = exec.Command("/proc/self/fd/3", append([]string{"strobe"}, libraries...)...)
	w.cmd.ExtraFiles, w.cmd.Env = []*os.File{file}, env
	in, err := w.cmd.StdinPipe()
	if err != nil {
		close(w.done)
		return unsupported(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		w.cmd = nil
		close(w.done)
		return unsupported(err)
	}
	w.in = in
	first := make(chan error, 1)
	go w.read(out, first)
	select {
	case err = <-first:
	case <-time.After(jackMax):
		err = fmt.Errorf("its client does not answer within %v", jackMax)
	}
	if err != nil {
		return unsupported(err)
	}
	return nil
}

// read is the goroutine that takes what the helper tells; first gets how it began.
func (w *jackWay) read(out io.Reader, first chan<- error) {
	defer close(w.done)
	in := bufio.NewReader(out)
	head := make([]byte, 5)
	ready := false
	for {
		_, err := io.ReadFull(in, head)
		n := binary.LittleEndian.Uint32(head[1:])
		if err == nil && n > maxJackFrame {
			err = fmt.Errorf("a frame of %d bytes", n)
		}
		body := make([]byte, min(n, maxJackFrame))
		if err == nil {
			_, err = io.ReadFull(in, body)
		}
		if err == nil && head[0] == 'e' {
			err = fmt.Errorf("%s", body)
		}
		switch {
		case err != nil && !ready:
			first <- err
			return
		case err == io.EOF:
			return
		case err != nil:
			w.m.lost(0, "JACK: "+err.Error())
			return
		}
		switch head[0] {
		case 'r':
			w.own, ready = string(body), true
			first <- nil
		case 'm':
			if len(body) > 8 {
				w.m.heard(int64(binary.LittleEndian.Uint64(body)), body[8:])
			}
		case 'k':
			if w.input {
				w.m.joined()
			}
		case 'l':
			if len(body) == 4 {
				w.m.lost(int(binary.LittleEndian.Uint32(body)), "JACK has no room for them")
			}
		case 'p':
			w.ports(parsePorts(body))
		}
	}
}

// ports connects with those of the target.
func (w *jackWay) ports(all []midiPort) {
	there := map[string]bool{}
	pids := w.m.t.PIDs()
	for i := range all {
		p := &all[i]
		mine := w.server != nil || p.pid != 0 && slices.Contains(pids, p.pid) ||
			w.m.Client != "" && strings.HasPrefix(p.client(), w.m.Client)
		if p.client() == w.own || !mine {
			continue
		}
		there[p.name] = true
		if w.joined[p.name] {
			continue
		}
		from, to := p.name, w.own+":in"
		direction := event.Out
		if p.input {
			from, to, direction = w.own+":out", p.name, event.In
		}
		if err := w.frame('c', []byte(from+"\x00"+to+"\x00")); err != nil {
			return
		}
		w.m.out(Heard{Stream: "sends", Direction: direction, What: map[string]any{"what": "connect", "port": p.name}})
		w.input = w.input || p.input
	}
	w.joined = there
}

func (w *jackWay) frame(kind byte, body []byte) error {
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.in.Write(append(head, body...))
	return err
}

func (w *jackWay) send(b []byte) error { return w.frame('m', b) }

func (w *jackWay) variables() map[string]string {
	if w.server == nil {
		return nil
	}
	return map[string]string{"dir": w.server.dir}
}

func (w *jackWay) environment() map[string]string { return w.env }

// close ends the helper, which has a moment to leave JACK.
func (w *jackWay) close() error {
	w.once.Do(func() {
		if w.cmd != nil {
			w.in.Close() //nolint:errcheck // it reads the end
			t := time.AfterFunc(time.Second, func() {
				w.cmd.Process.Kill() //nolint:errcheck // it has ended
			})
			<-w.done
			w.cmd.Wait() //nolint:errcheck // how it ended is of no interest
			t.Stop()
		}
		if w.server != nil {
			w.server.release()
		}
	})
	return nil
}
