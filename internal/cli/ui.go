package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/page"
)

func (a *app) uiCommand() *cobra.Command {
	port := 0
	cmd := &cobra.Command{
		Use:   "ui [SESSION]",
		Short: "Show the timeline in a browser",
		Long: `Serves a page with the timeline of sessions, until it is interrupted, and prints the link that opens it: once,
in one browser, on this machine. Through SSH, forward the port, as with ssh -L PORT:127.0.0.1:PORT HOST, and open the
link there.`,
		Example: `  strobe ui
  strobe ui app-2026-05-04-10h30 --port 8765`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			session := ""
			if len(args) > 0 {
				session = args[0]
			}
			return a.serveUI(cmd.Context(), port, session)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "port of the loopback interface to serve on (default: one that is free)")
	return cmd
}

// serveUI serves browsers until it is interrupted.
func (a *app) serveUI(ctx context.Context, port int, session string) error {
	d := &uiDaemon{}
	defer d.close()
	if session != "" { // a wrong id is said here, not in the browser
		if _, err := d.call(ctx, "debug_session", map[string]any{"action": "status", "sessionId": session}); err != nil {
			return err
		}
	} else if _, err := d.call(ctx, "debug_session", map[string]any{"action": "list"}); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listen for browsers: %w", err)
	}
	s := &page.Server{Call: d.call, User: peerUser, Me: os.Getuid(), Refused: func(user int, err error) {
		if err != nil {
			fmt.Fprintf(a.err, "strobe: a connection is refused: %v\n", err)
		} else {
			fmt.Fprintf(a.err, "strobe: a connection of user %d is refused\n", user)
		}
	}}
	link := s.Link(l, session)
	if a.json {
		err = json.NewEncoder(a.out).Encode(map[string]string{"url": link})
	} else {
		_, err = fmt.Fprintf(a.out, "%s\n", link)
		fmt.Fprintln(a.err, "strobe: open this link in a browser of this machine; Ctrl-C ends the page")
	}
	if err != nil {
		l.Close()
		return err
	}
	warmed := make(chan struct{})
	defer func() { <-warmed }()
	go func() { // while the person opens the link
		defer close(warmed)
		if session != "" {
			whole := map[string]any{"action": "picture", "sessionId": session, "lanes": []int{0}}
			d.call(ctx, "debug_timeline", whole) //nolint:errcheck // the page will say it
		}
	}()
	return s.Serve(ctx, l)
}

// uiDaemon is the daemon as the page has it: it is greeted again where it was restarted. Safe for concurrent use.
type uiDaemon struct {
	mu sync.Mutex // leaf; not held over calls
	c  *client
}

func (d *uiDaemon) call(ctx context.Context, operation string, args map[string]any) (raw json.RawMessage, err error) {
	var f *fault.Error
	for range 2 { // the page only looks, so that asking again does no harm
		c, err2 := d.get(ctx)
		if err2 != nil {
			return nil, err2
		}
		raw, err = c.call(ctx, operation, args)
		if err == nil || ctx.Err() != nil || errors.As(err, &f) && f.Code != fault.InternalError {
			break
		}
		d.drop(c) // the daemon may have ended: the next one answers
	}
	if errors.As(err, &f) {
		err = fault.New(f.Code, inCommands(f.Hint), "%s", inCommands(f.Msg))
	}
	return raw, err
}

func (d *uiDaemon) get(ctx context.Context) (*client, error) {
	d.mu.Lock()
	c := d.c
	d.mu.Unlock()
	if c != nil {
		return c, nil
	}
	// The connection outlives the request that makes it.
	own := context.WithValue(context.WithoutCancel(ctx), asTools{}, true)
	fresh, err := connectAs(own, fmt.Sprintf("page %d", os.Getpid()))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c != nil {
		fresh.Close()
		return d.c, nil
	}
	d.c = fresh
	return fresh, nil
}

func (d *uiDaemon) drop(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == c {
		d.c = nil
		c.Close()
	}
}

func (d *uiDaemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c != nil {
		d.c.Close()
	}
}
