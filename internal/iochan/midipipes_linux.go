package iochan

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
)

// pipesWay is two named pipes with MIDI as it is on a cable: the program reads in, and writes out. Goroutine: read.
type pipesWay struct {
	m       *midiIO
	dir     string
	in, out *os.File
	done    chan struct{}
	once    sync.Once
}

func openPipes(m *midiIO) (midiWay, error) {
	dir, err := ownDir("strobe-midi-")
	if err != nil {
		return nil, err
	}
	w := &pipesWay{m: m, dir: dir, done: make(chan struct{})}
	// Opened for both ways they wait for nobody, and do not end when the program closes its end.
	for name, f := range map[string]**os.File{"in": &w.in, "out": &w.out} {
		p := filepath.Join(dir, name)
		if err = syscall.Mkfifo(p, 0o600); err == nil {
			*f, err = os.OpenFile(p, os.O_RDWR|syscall.O_NONBLOCK, 0)
		}
		if err != nil {
			close(w.done)
			w.close() //nolint:errcheck // the first error counts
			return nil, fault.New(fault.Unsupported, "Make named pipes possible in the directory for temporary files.",
				"named pipes for MIDI: %w", err)
		}
	}
	m.joined() // what is sent waits in the pipe
	go w.read()
	return w, nil
}

func (w *pipesWay) read() {
	defer close(w.done)
	b := make([]byte, 4096)
	for {
		n, err := w.out.Read(b)
		if err != nil {
			return
		}
		w.m.heard(Monotonic(), b[:n])
	}
}

func (w *pipesWay) send(b []byte) error {
	_, err := w.in.Write(b)
	return err
}

func (w *pipesWay) variables() map[string]string {
	return map[string]string{"in": filepath.Join(w.dir, "in"), "out": filepath.Join(w.dir, "out")}
}

func (w *pipesWay) environment() map[string]string { return nil }

func (w *pipesWay) close() error {
	w.once.Do(func() {
		for _, f := range []*os.File{w.in, w.out} {
			if f != nil {
				f.Close() //nolint:errcheck // a pipe
			}
		}
		<-w.done
		os.RemoveAll(w.dir) //nolint:errcheck // in the directory for temporary files
	})
	return nil
}
