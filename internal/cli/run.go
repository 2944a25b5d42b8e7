package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
)

type runFlags struct {
	trace       []string
	depth       int
	retain      bool
	block       bool
	terminal    bool
	timeout     time.Duration
	signal      string
	grace       time.Duration
	dir         string
	projectRoot string
	symbols     string
	display     string
	displaySize string
	secrets     bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS]...",
		Short: "Run a program, show its output, then what it did",
		Long: `Runs a program under observation. Its output comes out here as it is written, its standard input is yours,
and so are signals: Ctrl-C, Ctrl-\\, Ctrl-Z with fg and bg, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGWINCH go to its
process group. With --trace, a tree of the traced calls follows on stderr. The timeline stays for strobe query; the
exit code is the program's own (128 + n for signal n).

With --timeout it is asked to end by --signal and killed if it has not after --grace. With --terminal, keys go to
the program's terminal as they are typed, Ctrl-C and Ctrl-Z too.

With --json every line is one JSON object: the answer to the launch, each output event, and the final status.`,
		Example: `  strobe run -- ./build/app --verbose
  strobe run --trace 'parser::**' --trace '!parser::detail::**' -- ./build/app input.txt
  strobe run --retain --timeout 10s --trace @usercode -- ./server`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), f, args) },
	}
	c.Flags().SetInterspersed(false) // what follows the program is the program's
	c.Flags().StringArrayVarP(&f.trace, "trace", "t", nil,
		"trace these functions from the first instruction (repeatable; see strobe trace)")
	c.Flags().IntVar(&f.depth, "depth", 0, "how deep values are followed, 1 to 10")
	c.Flags().BoolVar(&f.retain, "retain", false, "keep the timeline on disk, also when the daemon ends")
	c.Flags().BoolVar(&f.block, "block", false, "make the program wait rather than lose calls when buffers are full")
	c.Flags().BoolVar(&f.terminal, "terminal", false, "give the program a pseudo-terminal")
	c.Flags().StringVar(&f.display, "display", "", "virtual: give it a display of its own (see strobe look); user: yours")
	c.Flags().StringVar(&f.displaySize, "display-size", "", "of a virtual display (default 1280x800)")
	c.Flags().BoolVar(&f.secrets, "keep-secrets", false, "record passwords, tokens and keys, too")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end the program after this time")
	c.Flags().StringVar(&f.signal, "signal", "SIGTERM", "what --timeout asks with: "+askedWith)
	c.Flags().DurationVar(&f.grace, "grace", defaultGrace, "how long it may take then until it is killed")
	c.Flags().StringVarP(&f.dir, "directory", "C", "", "run the program in this directory")
	c.Flags().StringVar(&f.projectRoot, "project-root", "",
		"what @usercode means (default: the repository around the directory, or around a program or script elsewhere)")
	c.Flags().StringVar(&f.symbols, "symbols", "", "file or directory with debug info")
	return c
}

// running is one program that `strobe run` waits for.
type running struct {
	app     *app
	leave   bool // it is attached to: let it run on at the end
	client  *client
	id      string
	pid     int // 0: one of several, or not known
	cursor  int64
	stopped bool // we ended it
	gone    bool // somebody else has deleted the session

	terminal bool       // it has a pseudo-terminal
	mode     sync.Mutex // leaf
	restore  func()     // puts our own terminal back; nil: it is as it was

	also string                // a kind of event beside output that is shown
	show func(*rawEvent) error // how

	report func(context.Context, *running) error // of runTelling
}

func (a *app) run(ctx context.Context, f runFlags, args []string) error {
	return a.runTelling(ctx, f, args, nil)
}

// runTelling is run with a report at the end, while the session is there, instead of the calls.
func (a *app) runTelling(ctx context.Context, f runFlags, args []string,
	report func(context.Context, *running) error) error {
	req, err := a.launchRequest(f, args)
	if err != nil {
		return err
	}
	r, input, err := a.begin(ctx, req)
	if err != nil {
		return err
	}
	defer r.client.Close()
	r.report = report
	return r.inFront(ctx, f, input)
}

// inFront stands between the program and the user until it ends: its output comes out here, what is typed and the
// signals that we get are its.
func (r *running) inFront(ctx context.Context, f runFlags, input bool) error {
	r.terminal = f.terminal
	r.raw()
	defer r.cooked()
	defer r.passSignals(ctx)()
	ctx = context.WithoutCancel(ctx) // an interrupt is the program's
	if input {
		go r.pumpInput(ctx) // parked in a read until this process ends
	}
	return r.follow(ctx, f)
}

// begin launches a program of which this process has the standard streams. input: there is some to pass on.
func (a *app) begin(ctx context.Context, req map[string]any) (r *running, input bool, err error) {
	if input = !isNull(a.in); input {
		req["stdin"] = "pipe"
	}
	c, err := connect(ctx)
	if err != nil {
		return nil, false, err
	}
	if r, err = a.launch(ctx, c, req); err != nil {
		c.Close()
	}
	return r, input, err
}

// launch begins a session and says what there is to warn of.
func (a *app) launch(ctx context.Context, c *client, req map[string]any) (*running, error) {
	raw, err := c.call(ctx, "debug_launch", req)
	if err != nil {
		return nil, err
	}
	var launched struct {
		SessionID string   `json:"sessionId"`
		PID       int      `json:"pid"`
		Warnings  []string `json:"warnings"`
	}
	if err := decode("debug_launch", raw, &launched); err != nil {
		return nil, err
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
	}
	a.warn(launched.Warnings)
	return &running{app: a, client: c, id: launched.SessionID, pid: launched.PID}, nil
}

// launchRequest gives the program this shell's directory and environment, not the daemon's.
func (a *app) launchRequest(f runFlags, args []string) (map[string]any, error) {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return nil, fmt.Errorf("find working directory: %w", err)
	}
	root := f.projectRoot
	if root == "" {
		root = projectOf(dir, args)
	} else if root, err = filepath.Abs(root); err != nil {
		return nil, fmt.Errorf("find project root: %w", err)
	}
	req := map[string]any{"command": args[0], "cwd": dir, "projectRoot": root, "env": shellEnv()}
	if len(args) > 1 {
		req["args"] = args[1:]
	}
	if f.terminal {
		req["terminal"] = true
		if size := windowSize(a); size != "" {
			req["terminalSize"] = size
		}
	}
	for name, v := range map[string]string{"display": f.display, "displaySize": f.displaySize} {
		if v != "" {
			req[name] = v
		}
	}
	return req, f.common(req)
}

// common adds what is said alike of programs that are launched and of those that run.
func (f *runFlags) common(req map[string]any) (err error) {
	if len(f.trace) > 0 {
		req["trace"] = f.trace
	}
	if f.depth > 0 {
		req["serializationDepth"] = f.depth
	}
	if f.block {
		req["onFullBuffer"] = "block"
	}
	if f.secrets {
		req["keepSecrets"] = true
	}
	if f.symbols != "" {
		if req["symbolsPath"], err = filepath.Abs(f.symbols); err != nil {
			return fmt.Errorf("find symbols: %w", err)
		}
	}
	return nil
}

// repository returns the nearest directory at or above dir that is a repository, else dir.
func repository(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// follow shows the program's output until it ends, then what it did, and returns its exit code.
func (r *running) follow(ctx context.Context, f runFlags) error {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, errTimeout)
		defer cancel()
	}
	end, err := r.watch(ctx, f)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if r.gone {
		return end.err()
	}
	if r.report != nil {
		return r.reported(ctx, end)
	}
	if f.retain && !r.stopped {
		// Keeps what was recorded beyond the daemon's life.
		if _, err := r.client.call(ctx, "debug_session",
			map[string]any{"action": "stop", "sessionId": r.id, "retain": true}); err != nil {
			return err
		}
	}
	if r.app.json {
		raw, err := r.client.call(ctx, "debug_session", map[string]any{"action": "status", "sessionId": r.id})
		if err != nil {
			return err
		}
		fmt.Fprintf(r.app.out, "%s\n", raw)
	} else {
		r.summary(ctx, f, end)
	}
	if r.leave && r.stopped {
		return nil
	}
	return end.err()
}

var errTimeout = errors.New("time is up")

// watch relays output until the program has ended and all of it was shown.
func (r *running) watch(ctx context.Context, f runFlags) (*outcome, error) {
	end := &outcome{}
	for {
		wait := 5000
		if end.ended() || r.stopped {
			wait = 0
		}
		n, lifeSign, err := r.page(ctx, wait)
		if ctx.Err() != nil && !r.stopped {
			if end, err = r.stop(ctx, f); err != nil {
				return nil, err
			}
			ctx = context.WithoutCancel(ctx)
			continue
		}
		// as with | head: whom nobody reads gets SIGPIPE, and so it does
		if errors.Is(err, syscall.EPIPE) && !r.stopped && !r.leave {
			return r.end(ctx, "SIGPIPE", f.grace)
		}
		if err != nil {
			return r.deleted(end, err)
		}
		switch {
		case end.ended() && n == 0:
			return end, nil
		case !end.ended() && (n == 0 || lifeSign):
			req := map[string]any{"action": "status", "sessionId": r.id}
			err := r.client.callInto(ctx, "debug_session", req, end)
			if err != nil && ctx.Err() == nil {
				return r.deleted(end, err)
			}
		}
	}
}

// pageEvents bounds one page of output, which the daemon also bounds in bytes.
const pageEvents = 500

// page writes the next output events; it waits up to waitMs for one. lifeSign: an event of the process was
// among them, which may be the program's end.
func (r *running) page(ctx context.Context, waitMs int) (n int, lifeSign bool, err error) {
	kinds := []string{"stdout", "stderr", "process", "crash"}
	if r.also != "" {
		kinds = append(kinds, r.also)
	}
	req := map[string]any{
		"sessionId": r.id, "eventType": kinds,
		"afterEventId": r.cursor, "limit": pageEvents, "verbose": true,
	}
	if waitMs > 0 {
		req["waitMs"] = waitMs
	}
	raw, err := r.client.call(ctx, "debug_query", req)
	if err != nil {
		return 0, false, err
	}
	var page struct {
		Events      []rawEvent `json:"events"`
		LastEventID int64      `json:"lastEventId"`
	}
	if err := decode("debug_query", raw, &page); err != nil {
		return 0, false, err
	}
	if r.app.json {
		err = r.copyEvents(raw)
	}
	for i := range page.Events {
		e := &page.Events[i]
		r.cursor = max(r.cursor, e.ID)
		isOutput := e.EventType == "stdout" || e.EventType == "stderr"
		switch own := e.EventType == r.also; {
		case !isOutput && !own:
			lifeSign = lifeSign || e.PID == r.pid || r.pid == 0 // those of its children are not its end
		case r.app.json || err != nil:
		case own:
			err = r.show(e)
		default:
			err = r.relay(&e.shownEvent)
		}
	}
	r.cursor = max(r.cursor, page.LastEventID)
	return len(page.Events), lifeSign, err
}

// relay writes output where the program wrote it.
func (r *running) relay(e *shownEvent) error {
	w := r.app.out
	if e.EventType == "stderr" {
		w = r.app.err
	}
	b, err := e.output()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// copyEvents writes the events of an answer as they are, one in a line.
func (r *running) copyEvents(raw json.RawMessage) error {
	var page struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := decode("debug_query", raw, &page); err != nil {
		return err
	}
	for _, e := range page.Events {
		if _, err := fmt.Fprintf(r.app.out, "%s\n", e); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the program: the user's Ctrl-C or the time limit.
func (r *running) stop(ctx context.Context, f runFlags) (*outcome, error) {
	why := "interrupted"
	if errors.Is(context.Cause(ctx), errTimeout) {
		why = errTimeout.Error()
	}
	ask := cmp.Or(f.signal, "SIGTERM")
	doing := "asking the program to end with " + ask
	if r.leave {
		doing = "detaching"
	}
	fmt.Fprintf(r.app.err, "strobe: %s; %s\n", why, doing)
	end, err := r.end(ctx, ask, f.grace)
	if err == nil && end.Hint != "" && !r.leave {
		fmt.Fprintf(r.app.err, "strobe: %s\n", strings.ToLower(end.Hint[:1])+end.Hint[1:])
	}
	return end, err
}

// end asks the program to end, or lets go of it.
func (r *running) end(ctx context.Context, ask string, grace time.Duration) (*outcome, error) {
	if r.report != nil {
		if err := r.report(context.WithoutCancel(ctx), r); err != nil {
			return nil, err
		}
	}
	r.stopped = true
	end := &outcome{}
	req := map[string]any{"action": "stop", "sessionId": r.id, "retain": true, "kill": !r.leave}
	if !r.leave {
		req["signal"], req["graceMs"] = ask, grace.Milliseconds()
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+30*time.Second)
	defer cancel()
	if err := r.client.callInto(bound, "debug_session", req, end); err != nil {
		return nil, err
	}
	if end.Status == "" {
		end.Status = "exited"
	}
	return end, nil
}

// summary says on stderr what was recorded.
func (r *running) summary(ctx context.Context, f runFlags, end *outcome) {
	w := r.app.err
	if len(f.trace) > 0 {
		var page struct{ Tree, Text, Hint string }
		req := map[string]any{"sessionId": r.id, "view": "tree", "limit": 200}
		if !slices.ContainsFunc(f.trace, func(p string) bool { return p != "@coverage" }) {
			req = map[string]any{"sessionId": r.id, "view": "coverage"}
		}
		if err := r.client.callInto(ctx, "debug_query", req, &page); err != nil {
			fmt.Fprintf(w, "strobe: %v\n", err)
		}
		for _, text := range []string{strings.TrimRight(page.Tree+page.Text, "\n"), page.Hint} {
			if text != "" {
				fmt.Fprintln(w, text)
			}
		}
	}
	r.died(ctx)
	r.notRecorded(ctx)
	how := "ended"
	switch {
	case r.leave && r.stopped:
		how = "detached; it runs on"
	case end.Signal != "":
		how = paintOn(w, red, end.Signal)
	case end.ExitCode != nil && *end.ExitCode == 0:
		how = "exit code 0"
	case end.ExitCode != nil:
		how = paintOn(w, yellow, fmt.Sprintf("exit code %d", *end.ExitCode))
	}
	fmt.Fprintf(w, "%s %s  (%s)\n", paintOn(w, dim, "strobe:"), r.id, how)
	if home, err := daemon.Home(); err == nil && f.retain {
		fmt.Fprintf(w, "%s kept in %s\n", paintOn(w, dim, "strobe:"), filepath.Join(home, "sessions", r.id+".db"))
	}
}

// notRecorded says what the recording lacks, such as all that came when the disk was full.
func (r *running) notRecorded(ctx context.Context) {
	var st struct {
		StoreError    string `json:"storeError"`
		DroppedEvents int64  `json:"droppedEvents"`
	}
	req := map[string]any{"action": "status", "sessionId": r.id}
	if r.client.callInto(ctx, "debug_session", req, &st) != nil || st.StoreError == "" {
		return
	}
	r.app.warn([]string{fmt.Sprintf("recording ended early, %d events are not "+
		"in it: %s", st.DroppedEvents, st.StoreError)})
}

// shellEnv is the environment that the command was called with, which the daemon, started by another shell, does not
// have.
func shellEnv() map[string]string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" && utf8.ValidString(kv) {
			env[k] = v
		}
	}
	return env
}
