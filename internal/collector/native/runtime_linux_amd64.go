package native

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// Config is what a Runtime needs.
type Config struct {
	Logger    *slog.Logger
	CacheDir  string          // for symbol indexes; "" for none
	Natvis    *natvis.Library // the user's descriptions of types; nil: none
	RingBytes int             // per thread, a power of two; 0 for the default
}

// Runtime watches native programs. Safe for concurrent use.
type Runtime struct {
	log       *slog.Logger
	cacheDir  string
	natvis    *natvis.Library
	ringBytes int
	clock     *ring.Clock

	mu      sync.Mutex // leaf
	modules map[fileKey]*openModule
	opens   uint64 // calls of open
}

// defaultRingBytes holds some 40,000 records, a burst of calls. Only pages that were written exist.
const defaultRingBytes = 2 << 20

// New makes the runtime. It holds no resources but cached symbols.
func New(c Config) *Runtime {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.RingBytes == 0 {
		c.RingBytes = defaultRingBytes
	}
	return &Runtime{log: c.Logger, cacheDir: c.CacheDir, natvis: c.Natvis, ringBytes: c.RingBytes,
		clock: ring.NewClock(), modules: map[fileKey]*openModule{}}
}

// Name is native.
func (rt *Runtime) Name() string { return "native" }

// Detect reports whether the file is an ELF executable, whatever its language.
func (rt *Runtime) Detect(cmd *collector.Command) (bool, error) {
	f, err := plainfile.Open(cmd.Path)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", cmd.Path, err)
	}
	defer f.Close()
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	return n == 4 && string(magic[:]) == elf.ELFMAG, nil
}

// Launch starts the program with its probes in force.
func (rt *Runtime) Launch(ctx context.Context, cmd *collector.Command, sink collector.Sink) (collector.Collector,
	error) {
	t, err := newTarget(rt, cmd, sink)
	if err != nil {
		return nil, fault.New(fault.LaunchFailed, "Run `strobe doctor`.", "start a tracer for %s: %w", cmd.Path, err)
	}
	t.sampling.Store(&cmd.Tracing.Sampling)
	if t.probes, err = parseProbes(cmd.Tracing.Probes); err != nil {
		return nil, err
	}
	if t.watches, err = parseWatches(cmd.Tracing.Watches); err != nil {
		t.tracer.Close()
		return nil, err
	}
	if cmd.PID != 0 {
		if err := t.attach(ctx); err != nil {
			t.tracer.Close()
			return nil, attachFault(cmd.PID, err)
		}
		return t, nil
	}
	if err := t.launch(ctx); err != nil {
		t.tracer.Close()
		return nil, launchFault(cmd, err)
	}
	return t, nil
}

func launchFault(cmd *collector.Command, err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return err
	}
	switch {
	case errors.Is(err, syscall.EACCES):
		return fault.New(fault.LaunchFailed, "Make it executable (chmod +x), and check the file system's noexec option.",
			"%s is not executable: %w", cmd.Path, err)
	case errors.Is(err, syscall.ENOEXEC):
		return fault.New(fault.LaunchFailed, "Give a script a first line such as #!/bin/sh, or launch its interpreter with "+
			"the script as an argument.", "%s is no program that the kernel can run: %w", cmd.Path, err)
	case errors.Is(err, syscall.ENOENT):
		return fault.New(fault.LaunchFailed, "Check the command, and the interpreter that its first line or its ELF "+
			"header names.", "%s, or the interpreter it needs, does not exist: %w", cmd.Path, err)
	case errors.Is(err, syscall.EPERM):
		return fault.New(fault.PermissionDenied, "Run `strobe doctor`: it says whether ptrace is allowed on this machine.",
			"trace %s: %w", cmd.Path, err)
	}
	return fault.New(fault.LaunchFailed, "Run the command in a shell to see whether it starts there, then `strobe "+
		"doctor`.", "launch %s: %w", cmd.Path, err)
}

// fileKey identifies a file's contents as far as the file system tells.
type fileKey struct {
	path, symbols string
	dev, ino      uint64
	size, mtime   int64
}

// maxModules is how many files' symbols are kept that may be in no target any more: every program that is built in a
// place of its own, as tests are, would add one.
const maxModules = 128

type openModule struct {
	used uint64 // opens is then; under mu
	once sync.Once
	done atomic.Bool
	mod  *symbol.Module
	err  error
}

// open reads a file's symbols, once per version of it.
func (rt *Runtime) open(path, symbols string) (*symbol.Module, error) {
	key, err := keyOf(path, symbols)
	if err != nil {
		return nil, err
	}
	rt.mu.Lock()
	om := rt.modules[key]
	if om == nil {
		om = &openModule{}
		for old := range rt.modules { // an older version of the same file
			if old.path == path && old.symbols == symbols {
				delete(rt.modules, old)
			}
		}
		rt.modules[key] = om
	}
	rt.opens++
	om.used = rt.opens
	for len(rt.modules) > maxModules {
		oldest := key
		for k, m := range rt.modules {
			if m.used < rt.modules[oldest].used {
				oldest = k
			}
		}
		delete(rt.modules, oldest) // who uses it has it
	}
	rt.mu.Unlock()
	om.once.Do(func() {
		defer om.done.Store(true)
		om.mod, om.err = symbol.Open(path, symbol.Options{SymbolsPath: symbols, CacheDir: rt.cacheDir})
	})
	return om.mod, om.err
}

// Known implements collector.Warmer: the files whose symbols are there, the last used first.
func (rt *Runtime) Known() []string {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var keys []fileKey
	for k, m := range rt.modules {
		if k.symbols == "" && m.done.Load() {
			keys = append(keys, k)
		}
	}
	sorting.By(keys, func(a, b fileKey) int { return cmp.Compare(rt.modules[b].used, rt.modules[a].used) })
	paths := make([]string, len(keys))
	for i, k := range keys {
		paths[i] = k.path
	}
	return paths
}

// Warm implements collector.Warmer.
func (rt *Runtime) Warm(files []string) {
	for _, path := range files {
		if _, err := rt.open(path, ""); err != nil {
			rt.log.Debug("read symbols ahead", "path", path, "err", err)
		}
	}
}

func keyOf(path, symbols string) (fileKey, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fileKey{}, fmt.Errorf("read %s: %w", path, err)
	}
	return fileKey{path, symbols, st.Dev, st.Ino, st.Size, st.Mtim.Nano()}, nil
}

// opened reports whether open has an answer ready.
func (rt *Runtime) opened(path, symbols string) bool {
	key, err := keyOf(path, symbols)
	if err != nil {
		return false
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	om := rt.modules[key]
	return om != nil && om.done.Load()
}
