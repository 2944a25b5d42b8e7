package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
)

// signalWait bounds how long the daemon may take to pass a signal on.
const signalWait = 10 * time.Second

// passSignals passes signals on until the returned function is called. What the shell had us ignore, as nohup does, the
// program does not get either.
func (r *running) passSignals(ctx context.Context) (stop func()) {
	signal.Ignore(syscall.SIGPIPE) // the write that fails says it
	got := make(chan os.Signal, 16)
	for _, s := range daemon.PassedSignals() {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	done := make(chan struct{})
	if ctx.Err() != nil { // it came while the program was being launched
		got <- syscall.SIGINT
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		times := 0
		for {
			select {
			case s := <-got:
				if s == syscall.SIGINT {
					times++
				}
				r.pass(ctx, s, times)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(got)
		close(done)
	}
}

// pass sends one signal to the program.
func (r *running) pass(ctx context.Context, s os.Signal, interrupts int) {
	if s == daemon.WindowChanged && r.terminal {
		r.resize(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signalWait)
	defer cancel()
	var took struct{ Stopped bool }
	err := r.client.callInto(ctx, "debug_session",
		map[string]any{"action": "signal", "sessionId": r.id, "signal": signalName(s)}, &took)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(r.app.err, "strobe: the daemon does not take %s for the program; strobe stop %s ends it\n", signalName(s),
			r.id)
	case err != nil: // it has ended, and we are about to
	case s == daemon.TerminalStop && took.Stopped:
		r.suspend(ctx)
	case s == syscall.SIGINT && interrupts == 2 && isTerminal(r.app.err):
		fmt.Fprintf(r.app.err, "strobe: the program has had Ctrl-C twice; Ctrl-\\ sends SIGQUIT, strobe stop %s ends it\n",
			r.id)
	}
}

// suspend stops us, too, so that our shell sees the job stopped; its fg and bg send SIGCONT, which is passed on.
func (r *running) suspend(ctx context.Context) {
	r.cooked()
	daemon.StopSelf()
	r.raw()
}

// signalName is a signal as the daemon calls it.
func signalName(s os.Signal) string {
	for name, n := range signalNumbers {
		if n == int(s.(syscall.Signal)) {
			return name
		}
	}
	return s.String()
}

// raw hands our terminal to the program's pseudo-terminal, where it has one: what is typed goes there as it is, Ctrl-C
// too, and comes back as that one shows it.
func (r *running) raw() {
	r.mode.Lock()
	defer r.mode.Unlock()
	if f, ok := r.app.in.(*os.File); ok && r.terminal && r.restore == nil {
		r.restore, _ = daemon.RawTerminal(f)
	}
}

// cooked gives our terminal back.
func (r *running) cooked() {
	r.mode.Lock()
	defer r.mode.Unlock()
	if r.restore != nil {
		r.restore()
		r.restore = nil
	}
}

// resize gives the program's terminal the size of ours.
func (r *running) resize(ctx context.Context) {
	if size := windowSize(r.app); size != "" {
		resize := map[string]any{"action": "input", "sessionId": r.id, "terminalSize": size}
		r.client.call(ctx, "debug_session", resize) //nolint:errcheck // it has ended
	}
}

// windowSize is the size of our terminal; "": there is none.
func windowSize(a *app) string {
	for _, f := range []any{a.in, a.out, a.err} {
		if f, ok := f.(*os.File); ok {
			if columns, rows, err := daemon.WindowSize(f); err == nil && columns > 0 && rows > 0 {
				return fmt.Sprintf("%dx%d", columns, rows)
			}
		}
	}
	return ""
}
