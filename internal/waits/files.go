package waits

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	maxPolled = 1024 // files of one poll that are read
	shownFDs  = 4    // of them, in a few words
)

// pollDetail takes the files of a poll.
func pollDetail(w *Wait, t *Thread, p *Process) {
	n := t.Args[1]
	if p.Read == nil || n == 0 || n > maxPolled {
		return
	}
	b := make([]byte, n*8)
	if p.Read(t.Args[0], b) != nil {
		return
	}
	const in, priority, out, rdNorm, rdBand, wrNorm, wrBand = 1, 2, 4, 0x40, 0x80, 0x100, 0x200
	for ; len(b) > 0; b = b[8:] {
		fd, events := int(int32(binary.LittleEndian.Uint32(b))), binary.LittleEndian.Uint16(b[4:])
		if fd >= 0 { // the kernel passes others over
			w.Asked.Polled = append(w.Asked.Polled, Polled{fd, events&(in|priority|rdNorm|rdBand) != 0,
				events&(out|wrNorm|wrBand) != 0})
		}
	}
	polledDetail(w, p)
}

// selectDetail takes the files of a select.
func selectDetail(w *Wait, t *Thread, p *Process) {
	n := int(int32(t.Args[0]))
	if p.Read == nil || n <= 0 || n > maxPolled {
		return
	}
	files := make([]Polled, n)
	for set := range 3 { // to read, to write, exceptions
		if t.Args[1+set] == 0 {
			continue
		}
		b := make([]byte, (n+63)/64*8)
		if p.Read(t.Args[1+set], b) != nil {
			return
		}
		for fd := range files {
			if b[fd/8]&(1<<(fd%8)) == 0 {
				continue
			}
			files[fd].FD = fd
			files[fd].Read = files[fd].Read || set != 1
			files[fd].Write = files[fd].Write || set == 1
		}
	}
	for _, f := range files {
		if f.Read || f.Write {
			w.Asked.Polled = append(w.Asked.Polled, f)
		}
	}
	polledDetail(w, p)
}

// polledDetail names the files, the first few.
func polledDetail(w *Wait, p *Process) {
	all := w.Asked.Polled
	w.Asked.Known = true
	switch {
	case len(all) == 1 && p.File != nil:
		fd := all[0].FD
		w.FD, w.File = &fd, p.File(fd)
	case len(all) > 0:
		var fds []string
		for _, f := range all[:min(len(all), shownFDs)] {
			fds = append(fds, fmt.Sprint(f.FD))
		}
		w.Detail = "fds " + strings.Join(fds, ", ")
		if more := len(all) - shownFDs; more > 0 {
			w.Detail += fmt.Sprintf(" and %d more", more)
		}
	}
}

// fileLock says who holds the lock on a file.
func fileLock(w *Wait, t *Thread, p *Process) {
	if p.Lock == nil {
		return
	}
	holders, known := p.Lock(int(int32(t.Args[0])), t.Syscall == sysFlock)
	w.Asked.Known = known
	var words []string
	for _, h := range holders {
		who := fmt.Sprintf("process %d", h.PID)
		if h.PID == t.PID {
			who = "its own process"
		}
		w.Asked.Holders = append(w.Asked.Holders, h.PID)
		words = append(words, fmt.Sprintf("%s through descriptor %d", who, h.FD))
	}
	if len(words) > shownFDs {
		words = append(words[:shownFDs], fmt.Sprintf("%d more", len(words)-shownFDs))
	}
	if len(words) > 0 {
		w.Detail = "held by " + strings.Join(words, " and ")
	}
}

// byProcess settles who has to act where that is a process: the one that holds a file's lock, or the child that is
// waited for. Where it has one thread, it is that one.
func (a *analysis) byProcess(t *Thread) {
	w := t.Wait
	switch {
	case w.Asked == nil:
	case w.Kind == "file-lock" && w.Asked.Known && len(w.Asked.Holders) > 0:
		for _, pid := range w.Asked.Holders {
			if pid != w.Asked.Holders[0] {
				return
			}
		}
		if only := a.only(w.Asked.Holders[0]); only != nil {
			w.own(only.TID, "lock")
		}
	case w.Kind == "child" && w.Asked.child > 0:
		var child *Thread
		for _, o := range a.threads {
			if p := a.procs[o.PID]; p != nil && p.Parent == t.PID && o.TID == o.PID && o.Local == w.Asked.child {
				child = o
			}
		}
		if child == nil {
			return
		}
		if only := a.only(child.PID); only != nil {
			w.own(only.TID, "lock")
		}
	}
}

// only is the one thread of a process that was looked at, nil where it has more.
func (a *analysis) only(pid int) *Thread {
	var only *Thread
	for _, t := range a.threads {
		if t.PID != pid {
			continue
		}
		if only != nil {
			return nil
		}
		only = t
	}
	if p := a.procs[pid]; only == nil || p == nil || p.Alive == nil || p.Alive(only.Local) {
		return nil
	}
	return only
}
