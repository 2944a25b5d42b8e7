package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/daemon"
)

func isNull(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in == nil
	}
	info, err := f.Stat()
	if err != nil {
		return true // closed
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// pumpInput passes our standard input on to the program, until its end or the program's.
func (r *running) pumpInput(ctx context.Context) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.readInput(ctx, buf)
		if (n > 0 || err != nil) && !r.send(ctx, buf[:n], err != nil) {
			return
		}
		if err != nil {
			return
		}
	}
}

// readInput reads our standard input. In a terminal's background nobody may read it, and the shell would stop us if we
// did, with a program that perhaps wants nothing: there we wait until we are in front again.
func (r *running) readInput(ctx context.Context, buf []byte) (int, error) {
	f, ok := r.app.in.(*os.File)
	if !ok || !isTerminal(f) {
		return r.app.in.Read(buf)
	}
	signal.Ignore(daemon.BackgroundRead)
	for {
		if !daemon.InBackground(f) {
			if n, err := f.Read(buf); !errors.Is(err, syscall.EIO) || !daemon.InBackground(f) {
				return n, err
			}
		}
		select {
		case <-time.After(foregroundEvery):
		case <-ctx.Done():
			return 0, io.EOF
		}
	}
}

// foregroundEvery is how often we look whether the terminal is ours again.
const foregroundEvery = 200 * time.Millisecond

// send passes b on, then the end. It reports whether the program took that; it waits for one that does not read.
func (r *running) send(ctx context.Context, b []byte, eof bool) bool {
	for {
		req := map[string]any{"action": "input", "sessionId": r.id, "eof": eof}
		if utf8.Valid(b) {
			req["text"] = string(b)
		} else { // also where a read ends within a character
			req["base64"] = b
		}
		var took struct {
			Success bool
			Bytes   int
		}
		if err := r.client.callInto(ctx, "debug_session", req, &took); err != nil {
			return false // the program no longer reads, or has ended
		}
		if took.Success {
			return true
		}
		b = b[min(took.Bytes, len(b)):]
	}
}
