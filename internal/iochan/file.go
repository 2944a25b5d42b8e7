package iochan

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// The file channel tells of the files that a pattern selects: created, written, renamed, deleted, their mode changed.
// Writes that follow each other are one; a file that is written beside another and renamed over it is one save of that
// other. It does not know who did it: the system does not say.

const (
	// writesQuiet is how long a file must be left alone until its writes are told.
	writesQuiet = 40 * time.Millisecond
	// flushQuiet is how long a flush waits for more.
	flushQuiet = 2 * time.Millisecond
	// maxWatched bounds the directories that one channel watches.
	maxWatched = 20_000
	// maxFile bounds what a message writes.
	maxFile = 64 << 20
)

var pathField = Field{Name: "path", Type: "string", Required: true, Doc: "absolute, or from the pattern's directory"}

var fileKind = Kind{
	Name: "file", Arg: "GLOB", NeedsArg: true,
	Doc: "Files that a pattern selects: what happens to them, by whomever; and changes of them.",
	Messages: []Spec{
		{"write", "writes a file, in place; directories are made", []Field{pathField,
			{Name: "text", Type: "string", Doc: "what is in it then"}, {Name: "base64", Type: "string", Doc: "instead of text"},
			{Name: "atomic", Type: "boolean", Doc: "beside it, then renamed, as editors save"}}},
		{"append", "adds to its end", []Field{pathField, {Name: "text", Type: "string", Doc: "what"},
			{Name: "base64", Type: "string", Doc: "instead of text"}}},
		{"truncate", "cuts it", []Field{pathField, {Name: "size", Type: "integer", Max: 1 << 40, Doc: "bytes that stay"}}},
		{"delete", "deletes it", []Field{pathField}},
		{"rename", "renames it", []Field{pathField, {Name: "to", Type: "string", Required: true, Doc: "as path"}}},
		{"chmod", "sets its mode", []Field{pathField,
			{Name: "mode", Type: "string", Required: true, Doc: "octal: 0644"}}},
	},
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"create", "write", "save", "rename", "delete", "chmod", "lost"},
			Doc: "what happened; save: written beside it and renamed over it"},
		{Name: "path", Type: "string", Doc: "from the pattern's directory"},
		{Name: "from", Type: "string", Doc: "of rename: what it was called"},
		{Name: "size", Type: "integer", Doc: "bytes, afterwards"},
		{Name: "writes", Type: "integer", Doc: "notices of the system that are told as one"},
		{Name: "directory", Type: "boolean", Doc: "it is one"},
		{Name: "mode", Type: "string", Doc: "of chmod"},
		{Name: "text", Type: "string", Doc: "of a write and a save: the text, when it is under 1 KB"},
	},
	New: func(arg string, _ json.RawMessage) (Channel, error) { return &files{pattern: arg}, nil },
}

// files is a file channel. Goroutine: watch, which alone has what is behind the channels.
type files struct {
	pattern string
	glob    glob
	out     Out
	w       *fsnotify.Watcher
	flushes chan chan struct{}
	once    sync.Once
	closing chan struct{}
	done    chan struct{}
	known   map[string]bool // files of the pattern that are there
	open    map[string]*pending
	order   []string // of open
	moved   string   // what the notice before took away by a rename
}

// pending is what happened to a file of late.
type pending struct {
	what    string
	at      int64 // the first notice
	last    time.Time
	writes  int
	created bool
}

func (f *files) Name() string { return "file:" + f.pattern }

// Open implements Channel.
func (f *files) Open(_ context.Context, t Target, out Out) error {
	var err error
	if f.glob, err = newGlob(t.Root(), f.pattern); err != nil {
		return err
	}
	f.out = out
	info, err := os.Stat(f.glob.base)
	if err != nil || !info.IsDir() {
		return invalid("Make it first, or choose a pattern whose first directories exist.",
			"there is no directory %s, where %s begins", f.glob.base, f.pattern)
	}
	if f.w, err = fsnotify.NewBufferedWatcher(4096); err != nil {
		return fault.New(fault.Unsupported, "Raise fs.inotify.max_user_instances, or remove other file channels.",
			"watch files: %w", err)
	}
	f.known, f.open = map[string]bool{}, map[string]*pending{}
	f.flushes, f.closing, f.done = make(chan chan struct{}), make(chan struct{}), make(chan struct{})
	if err := f.watchTree(f.glob.base, false); err != nil {
		f.w.Close()
		f.w = nil
		return fault.New(fault.Unsupported, "Choose a narrower pattern, or raise fs.inotify.max_user_watches.",
			"watch %s: %w", f.glob.base, err)
	}
	go f.watch()
	return nil
}

var errTooMany = errors.New("there are more than " + strconv.Itoa(maxWatched) + " directories below it")

// watchTree watches a directory and those below it that can have files of the pattern. What is there is known, or told
// as created where it came after the channel was opened.
func (f *files) watchTree(dir string, tell bool) error {
	levels := f.glob.deep()
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone, or not ours to read: others are
		}
		if !d.IsDir() {
			if f.glob.match(p) && !f.known[p] {
				f.known[p] = true
				if tell {
					f.note(p, "create")
				}
			}
			return nil
		}
		if levels >= 0 && strings.Count(strings.TrimPrefix(p, strings.TrimSuffix(f.glob.base, "/")), "/") > levels {
			return fs.SkipDir
		}
		if len(f.w.WatchList()) >= maxWatched {
			return errTooMany
		}
		return f.w.Add(p)
	})
}

// watch is the goroutine of the channel.
func (f *files) watch() {
	defer close(f.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(f.tellQuiet(false))
		select {
		case e := <-f.w.Events:
			f.notice(e)
		case err := <-f.w.Errors:
			f.out(Heard{Stream: "files", Direction: event.Out, What: map[string]any{"what": "lost", "why": err.Error()}})
		case <-timer.C:
		case c := <-f.flushes:
			f.drain()
			close(c)
		case <-f.closing:
			f.drain()
			return
		}
	}
}

// drain takes what has come, and tells all.
func (f *files) drain() {
	for quiet := time.NewTimer(flushQuiet); ; quiet.Reset(flushQuiet) {
		select {
		case e := <-f.w.Events:
			f.notice(e)
			continue
		case <-quiet.C:
		}
		f.tellQuiet(true)
		return
	}
}

// notice takes one notice of the system.
func (f *files) notice(e fsnotify.Event) {
	p := e.Name
	moved := f.moved
	f.moved = ""
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			if err := f.watchTree(p, true); err != nil {
				f.out(Heard{Stream: "files", Direction: event.Out,
					What: map[string]any{"what": "lost", "path": f.short(p), "why": err.Error()}})
			}
		}
		switch there := f.known[p]; {
		case !f.glob.match(p):
			// It is only of interest when it is renamed into the pattern.
			if moved != "" && f.known[moved] {
				f.gone(moved, "delete")
			}
		case moved != "" && (there || f.fresh(moved)):
			f.forget(moved)
			f.note(p, "save")
		case moved != "":
			f.tellOne(moved)
			f.forget(moved)
			f.out(Heard{Stream: "files", Direction: event.Out, What: fileEvent{What: "rename", Path: f.short(p),
				From: f.short(moved), Size: sizeOf(p)}})
			f.known[p] = true
		default:
			f.note(p, "create")
		}
		return
	}
	if moved != "" && f.known[moved] {
		f.gone(moved, "delete") // renamed to where nobody looks
	}
	switch {
	case e.Has(fsnotify.Rename):
		f.moved = p
	case e.Has(fsnotify.Remove):
		if f.glob.match(p) {
			f.gone(p, "delete")
		}
		delete(f.open, p)
	case e.Has(fsnotify.Write):
		f.note(p, "write")
	case e.Has(fsnotify.Chmod):
		f.note(p, "chmod")
	}
}

// fresh reports whether a file that was renamed is one that was only made to be so: it is not of the pattern, or it
// came a moment ago.
func (f *files) fresh(p string) bool {
	o := f.open[p]
	return !f.glob.match(p) || o != nil && o.created
}

func (f *files) forget(p string) {
	delete(f.known, p)
	delete(f.open, p)
}

func (f *files) gone(p, what string) {
	f.tellOne(p)
	if f.known[p] {
		f.out(Heard{Stream: "files", Direction: event.Out, What: fileEvent{What: what, Path: f.short(p)}})
	}
	f.forget(p)
}

// note keeps a change until the file is left alone.
func (f *files) note(p, what string) {
	if !f.glob.match(p) {
		return
	}
	f.known[p] = true
	o := f.open[p]
	if o == nil {
		o = &pending{what: what, at: Monotonic()}
		f.open[p] = o
		f.order = append(f.order, p)
	}
	o.last = time.Now()
	switch what {
	case "create":
		o.created = true
	case "write":
		o.writes++
		if o.what == "chmod" {
			o.what = what
		}
	case "save":
		o.what = what
		o.writes++
	}
}

// tellQuiet tells of the files that were left alone, or all, and returns how long until the next one is.
func (f *files) tellQuiet(all bool) time.Duration {
	next := time.Hour
	for len(f.order) > 0 {
		p := f.order[0]
		if o := f.open[p]; o != nil {
			if wait := writesQuiet - time.Since(o.last); wait > 0 && !all {
				// A file that is written all the time is told of all the same.
				if age := time.Duration(Monotonic() - o.at); age < 10*writesQuiet {
					return min(next, wait)
				}
			}
			f.tellOne(p)
		}
		f.order = f.order[1:]
	}
	f.order = nil
	return next
}

// fileEvent is what an event of the channel shows.
type fileEvent struct {
	What      string `json:"what"`
	Path      string `json:"path"`
	From      string `json:"from,omitempty"`
	Size      *int64 `json:"size,omitempty"`
	Writes    int    `json:"writes,omitempty"`
	Directory bool   `json:"directory,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Text      string `json:"text,omitempty"`
}

func (f *files) tellOne(p string) {
	o := f.open[p]
	delete(f.open, p)
	if o == nil {
		return
	}
	e := fileEvent{What: o.what, Path: f.short(p), Writes: o.writes, Size: sizeOf(p)}
	if info, err := os.Lstat(p); err == nil {
		e.Directory = info.IsDir()
		if o.what == "chmod" {
			e.Mode = "0" + strconv.FormatUint(uint64(info.Mode().Perm()), 8)
		}
	}
	if (o.writes > 0 || o.what == "save" || o.what == "create") && e.Size != nil && *e.Size > 0 && *e.Size < 1<<10 {
		if b, err := os.ReadFile(p); err == nil && isText(b) {
			e.Text = string(b)
		}
	}
	f.out(Heard{Stream: "files", Direction: event.Out, At: o.at, What: e})
}

func sizeOf(p string) *int64 {
	info, err := os.Lstat(p)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	n := info.Size()
	return &n
}

// short is a path as it is told: from the pattern's directory.
func (f *files) short(p string) string {
	if rel, err := filepath.Rel(f.glob.base, p); err == nil {
		return rel
	}
	return p
}

// Flush implements Flusher.
func (f *files) Flush(ctx context.Context) {
	c := make(chan struct{})
	select {
	case f.flushes <- c:
		<-c
	case <-f.done:
	case <-ctx.Done():
	}
}

// Close implements Channel.
func (f *files) Close() error {
	if f.w == nil {
		return nil
	}
	var err error
	f.once.Do(func() {
		close(f.closing)
		<-f.done
		err = f.w.Close()
	})
	return err
}

// Send implements Channel.
func (f *files) Send(_ context.Context, m Message) (any, error) {
	var b struct {
		Path, Text, Base64, To, Mode string
		Size                         int64
		Atomic                       bool
	}
	if err := m.Into(&b); err != nil {
		return nil, err
	}
	data := []byte(b.Text)
	if b.Base64 != "" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(b.Base64); err != nil {
			return nil, invalid("Encode it with the standard alphabet and padding.", "base64: %w", err)
		}
	}
	if len(data) > maxFile {
		return nil, invalid("Write less.", "%d bytes, the limit is %d", len(data), maxFile)
	}
	p := f.abs(b.Path)
	err := f.change(m.Do, p, f.abs(b.To), b.Mode, b.Size, data, b.Atomic)
	if err == nil {
		return map[string]any{"path": p}, nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return nil, err
	}
	code := fault.WriteFailed
	if errors.Is(err, fs.ErrPermission) {
		code = fault.PermissionDenied
	}
	return nil, fault.New(code, "Look at the file and its directory.", "%s: %w", m.Do, err)
}

func (f *files) abs(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(f.glob.base, p)
}

func (f *files) change(do, p, to, mode string, size int64, data []byte, atomic bool) error {
	switch do {
	case "write":
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return err
		}
		if !atomic {
			return os.WriteFile(p, data, 0o666)
		}
		tmp := filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".strobe")
		if err := os.WriteFile(tmp, data, 0o666); err != nil {
			return err
		}
		return os.Rename(tmp, p)
	case "append":
		file, err := os.OpenFile(p, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return errors.Join(err, file.Close())
	case "truncate":
		return os.Truncate(p, size)
	case "delete":
		return os.Remove(p)
	case "rename":
		return os.Rename(p, to)
	}
	bits, err := strconv.ParseUint(mode, 8, 12)
	if err != nil {
		return invalid("Write it in octal: 0644.", "mode %q: %w", mode, err)
	}
	return os.Chmod(p, fs.FileMode(bits&0o777))
}
