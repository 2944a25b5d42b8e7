package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/mcp"
)

// stopTimeout bounds a clean end: stopping sessions, then flushing their stores.
const stopTimeout = 20 * time.Second

// Backend is what a daemon serves: tools, and what they know of the work under way.
type Backend struct {
	Tools []mcp.Tool
	// Busy reports whether a session or a test runs: such a daemon never ends by idleness.
	Busy func() bool
	// Close ends every session and flushes; ctx bounds it.
	Close func(ctx context.Context) error
}

// Options configure Run. Zero values mean the defaults.
type Options struct {
	Home     string
	Detached bool // log to daemon.log, as automatically started daemons do, instead of stderr
	Idle     time.Duration
	// NewBackend makes what is served, after the lock was taken. Default: the built-in one.
	NewBackend func(home string, log *slog.Logger) (*Backend, error)
}

// spareThreads is how many goroutines may run beyond one for each CPU. Tracers and what empties the rings sleep most of
// the time and then must run at once: the kernel lets a thread that has slept run before those that decode, the runtime
// only after milliseconds.
const spareThreads = 3

// manyThreads lets more goroutines run than there are CPUs, unless the environment says how many.
func manyThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + spareThreads)
	}
}

// Run is the daemon: it serves until SIGTERM or SIGINT, the end of ctx or of its usefulness, and then
// ends its sessions cleanly. It returns nil at once when another daemon serves the same home.
func Run(ctx context.Context, o Options) error {
	if o.Home == "" {
		home, err := Home()
		if err != nil {
			return err
		}
		o.Home = home
	}
	if o.Idle == 0 {
		o.Idle = idleFromEnv()
	}
	if o.NewBackend == nil {
		o.NewBackend = builtin
	}
	if err := prepareHome(o.Home); err != nil {
		return err
	}
	sealFiles()
	lock, err := takeLock(LockPath(o.Home))
	if errors.Is(err, errLockHeld) {
		return nil // the other one serves, or will in a moment
	}
	if err != nil {
		return homeFault(o.Home, err)
	}
	defer lock.Close()
	var out io.Writer = os.Stderr
	if o.Detached {
		if out, err = openLog(LogPath(o.Home), maxLogBytes, true); err != nil {
			return homeFault(o.Home, err)
		}
	}
	level := slog.LevelInfo
	if os.Getenv(envDebugLog) == "debug" {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	return serve(ctx, o, log)
}

func serve(ctx context.Context, o Options, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	back, err := o.NewBackend(o.Home, log)
	if err != nil {
		return err
	}
	srv := mcp.NewServer(mcp.Config{Tools: back.Tools, Version: Version(), Logger: log})
	l, err := listen(SocketPath(o.Home))
	if err != nil {
		return errors.Join(homeFault(o.Home, err), back.Close(ctx))
	}
	d := &server{opts: o, log: log, back: back, mcp: srv, conns: map[net.Conn]struct{}{}, lastUsed: time.Now()}
	log.Info("daemon serves", "home", o.Home, "version", Version(), "pid", os.Getpid())
	why := d.run(ctx, l)
	log.Info("daemon ends", "reason", why)

	// A second signal during the clean end takes the default action: the user insists.
	stop()
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err = back.Close(bound)
	d.closeConns()
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// listen makes the socket under another name and moves it into place, so that no client ever sees
// one with wider permissions, and a stale one of a dead daemon goes. The caller holds the lock.
func listen(path string) (*net.UnixListener, error) {
	fresh := path + "~"
	if len(fresh) > maxSocketPath {
		fresh = path
	}
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("put socket in place: %w", err)
	}
	return l, nil
}

// server is a running daemon. Its goroutines: run's accept loop and watch, and one per connection.
type server struct {
	opts Options
	log  *slog.Logger
	back *Backend
	mcp  *mcp.Server
	wg   sync.WaitGroup

	mu       sync.Mutex // leaf
	conns    map[net.Conn]struct{}
	lastUsed time.Time // when the last client went, or work was seen
}

// run serves until ctx ends or the daemon was idle for long enough, and says why.
func (d *server) run(ctx context.Context, l *net.UnixListener) string {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	accepting := make(chan struct{})
	go func() { // ends when the listener is closed
		defer close(accepting)
		d.accept(ctx, l, cancel)
	}()
	next := d.watch(ctx, l, cancel)
	// The path goes first: a client that comes now starts the next daemon instead of being cut off.
	os.Remove(SocketPath(d.opts.Home))
	next.Close()
	<-accepting
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	return "asked to"
}

var errIdle = errors.New("idle")

// watch waits for the daemon's end. Meanwhile it ends an idle one, and puts back a socket that was
// deleted under a living daemon. It returns the listener in use.
func (d *server) watch(ctx context.Context, l *net.UnixListener, cancel context.CancelCauseFunc) *net.UnixListener {
	every := min(max(d.opts.Idle/8, 10*time.Millisecond), 5*time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return l
		case <-tick.C:
		}
		if d.idle() {
			cancel(errIdle)
			return l
		}
		if _, err := os.Lstat(SocketPath(d.opts.Home)); errors.Is(err, os.ErrNotExist) {
			again, err := listen(SocketPath(d.opts.Home))
			if err != nil {
				cancel(fmt.Errorf("put back the socket: %w", err))
				return l
			}
			d.log.Warn("socket was deleted; made again")
			l.Close()
			l = again
			go d.accept(ctx, l, cancel) // ends when l is closed
		}
	}
}

func (d *server) idle() bool {
	d.mu.Lock()
	clients, since := len(d.conns), time.Since(d.lastUsed)
	d.mu.Unlock()
	if clients > 0 || d.back.Busy() {
		d.mu.Lock()
		d.lastUsed = time.Now()
		d.mu.Unlock()
		return false
	}
	return since >= d.opts.Idle
}

func (d *server) accept(ctx context.Context, l *net.UnixListener, cancel context.CancelCauseFunc) {
	wait := time.Millisecond
	for {
		c, err := l.AcceptUnix()
		switch {
		case err == nil:
			wait = time.Millisecond
			d.wg.Go(func() { d.client(ctx, c) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Out of descriptors or memory: passes when some are freed.
			if wait = min(wait*2, time.Second); wait == time.Second {
				d.log.Warn("accept", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

func (d *server) client(ctx context.Context, c *net.UnixConn) {
	defer c.Close()
	uid, err := peerUID(c)
	if err != nil || uid != os.Getuid() {
		d.log.Warn("client refused", "uid", uid, "error", err)
		return
	}
	d.mu.Lock()
	d.conns[c] = struct{}{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.conns, c)
		d.lastUsed = time.Now()
		d.mu.Unlock()
	}()
	// Not under ctx: answers to calls in flight still go out while the daemon ends.
	if err := d.mcp.Serve(context.WithoutCancel(ctx), c); err != nil {
		d.log.Debug("client gone", "error", err)
	}
}

// closeConns cuts off the clients that are left and waits for their goroutines, for a moment.
func (d *server) closeConns() {
	d.mu.Lock()
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	done := make(chan struct{})
	go func() { d.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
}
