package corefile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/inspect"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Files opens cores. It implements collector.Cores.
type Files struct {
	cacheDir string // for symbol indexes
	tempDir  string // for unpacked cores
	natvis   *natvis.Library
}

// New returns an opener. cacheDir is for symbol indexes, "" for none; tempDir for cores that have to be unpacked, ""
// for the system's; described are the user's descriptions of types, which may be nil.
func New(cacheDir, tempDir string, described *natvis.Library) *Files {
	return &Files{cacheDir, tempDir, described}
}

func (x *Files) open(path, symbols string) (*symbol.Module, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fault.New(fault.LaunchFailed, "Give the program that the core is of.", "open %s: %w", path, err)
	}
	return symbol.Open(path, symbol.Options{SymbolsPath: symbols, CacheDir: x.cacheDir})
}

// Core is an open core file. It implements collector.Core. Modules stay open until Close.
type Core struct {
	files    *Files
	core     *core
	images   []*image
	written  time.Time // when the core was
	path     string
	secrets  *secret.Names
	warnings []string
	unwarned int

	mu   sync.Mutex // one reader at a time
	file *os.File   // nil: closed
	proc *snapshot.Process
	refs collector.Refs[int, inspect.Thing] // by the thread's place among the core's
}

var (
	_ collector.Cores = (*Files)(nil)
	_ collector.Core  = (*Core)(nil)
)

// OpenCore implements collector.Cores.
func (x *Files) OpenCore(ctx context.Context, r collector.CoreRequest) (collector.Core, error) {
	f, size, err := x.openFile(r.Core)
	if err != nil {
		return nil, err
	}
	c := &Core{files: x, file: f, path: r.Core, secrets: r.Secrets}
	if err := c.read(ctx, size, r); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (x *Core) read(ctx context.Context, size int64, r collector.CoreRequest) (err error) {
	if info, err := os.Stat(r.Core); err == nil {
		x.written = info.ModTime()
	}
	if x.core, err = parse(x.file, size); err != nil {
		return err
	}
	for _, p := range x.core.problems {
		x.warn(p)
	}
	if n := x.core.lacking; n > 0 {
		x.warn(fmt.Sprintf("the core is cut off: %d bytes of memory are missing at its end, so stacks or values may be, "+
			"too (see ulimit -c, and the disk's free space)", n))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := x.load(r.Binary, r.SymbolsPath); err != nil {
		return err
	}
	x.proc = x.process(r.ProjectRoot)
	if x.unwarned > 0 {
		x.warnings = append(x.warnings, fmt.Sprintf("%d more warnings of this kind", x.unwarned))
	}
	return nil
}

// Close implements collector.Core.
func (x *Core) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil
	}
	err := x.file.Close()
	x.file = nil
	for _, im := range x.images {
		im.close()
	}
	return err
}

// Describe implements collector.Core.
func (x *Core) Describe() collector.CoreInfo {
	i := collector.CoreInfo{PID: x.core.pid, Program: x.program(), Args: x.core.args, Warnings: slices.Clone(x.warnings)}
	if d := x.core.death(); d.Signal != nil {
		i.Signal, i.Fatal = d.Signal.Name(), true
	}
	i.Message = x.abortMessage()
	by := "the kernel"
	if x.core.debugger {
		by = "a debugger"
	}
	i.Detail = fmt.Sprintf("core of %s, written by %s at %s, %d threads", filepath.Base(i.Program), by,
		x.written.Format(time.DateTime), len(x.core.threads))
	return i
}

// Crash implements collector.Core.
func (x *Core) Crash(context.Context) (collector.Crash, event.Thread, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return collector.Crash{}, event.Thread{}, errClosed()
	}
	d := x.core.death()
	pic := snapshot.New(x.proc)
	d.Caught = x.caught(pic, d.Thread)
	th := event.Thread{PID: int32(x.core.pid), TID: int32(d.Thread.TID), Name: d.Thread.Name}
	c := pic.Crash(d)
	if c == nil {
		return collector.Crash{}, th, fault.New(fault.InternalError, "Report this core.",
			"the core has no signal and no state")
	}
	return collector.Crash{PID: x.core.pid, Crash: *c}, th, nil
}

func errClosed() error {
	return fault.New(fault.SessionNotFound, "debug_session list shows what there is.",
		"the core was closed: its session was stopped")
}

// Inspect implements collector.Inspector.
func (x *Core) Inspect(_ context.Context, q collector.Inspection) ([]collector.Reading, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil, errClosed()
	}
	at := 0
	if q.ThreadID != 0 {
		at = slices.IndexFunc(x.core.threads, func(th thread) bool { return th.tid == q.ThreadID })
	}
	if at < 0 {
		return nil, fault.New(fault.ValidationError, "Its threads are "+x.threadIDs()+".", "the core has no thread %d",
			q.ThreadID)
	}
	return inspect.Read(x.proc, x.core.picture(at), q)
}

// threadIDs lists some of the threads.
func (x *Core) threadIDs() string {
	const most = 20
	var b strings.Builder
	for i, th := range x.core.threads {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(x.core.threads)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, th.tid)
	}
	return b.String()
}
