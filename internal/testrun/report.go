package testrun

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/strobe-debug/strobe/internal/plainfile"
)

// report is a file that a framework writes its results into while it runs.
type report struct {
	name string
	f    *os.File
	at   int64
	b    []byte // what is read into
}

// readBytes is how much is read at once.
const readBytes = 64 << 10

// followEvery is how often reports are looked at: often enough for whoever watches a run.
const followEvery = 50 * time.Millisecond

// follow reads reports until stop is closed.
func (r *Run) follow(all []*report, stop <-chan struct{}) {
	if len(all) == 0 {
		return
	}
	t := time.NewTicker(followEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			for _, f := range all {
				r.read(f)
			}
		}
	}
}

// read hands over what was appended to a report. A file that was written anew is read from its start.
func (r *Run) read(f *report) {
	if f.f == nil {
		file, err := plainfile.Open(f.name)
		if err != nil {
			return // not yet there
		}
		f.f, f.b = file, make([]byte, readBytes)
	}
	for {
		n, err := f.f.ReadAt(f.b, f.at)
		if n > 0 {
			f.at += int64(n)
			r.mu.Lock()
			r.x.Report(f.name, f.b[:n])
			r.mu.Unlock()
		}
		if err != nil || n == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				r.m.cfg.Logger.Warn("read test report", "file", f.name, "err", err)
			}
			return
		}
	}
}

func (f *report) close() {
	if f.f != nil {
		f.f.Close()
	}
}
