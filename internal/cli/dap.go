package cli

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/dap"
	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) dapCommand() *cobra.Command {
	port := -1
	cmd := &cobra.Command{
		Use:   "dap",
		Short: "Serve the Debug Adapter Protocol on stdin and stdout (for an editor's configuration)",
		Long: `Connects an editor with the daemon by the Debug Adapter Protocol, and starts the daemon if there is none.
With --port it serves each connection to that port of the loopback interface, of processes of the same user.`,
		Example: `  strobe dap
  strobe dap --port 4711`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port >= 0 {
				return a.serveDAP(cmd.Context(), port)
			}
			return newDAP("").Serve(cmd.Context(), a.in, a.out)
		},
	}
	cmd.Flags().IntVar(&port, "port", -1, "port of the loopback interface to serve on; 0: one that is free, which is said")
	return cmd
}

// newDAP is a server for one editor; which tells connections of one process apart.
func newDAP(which string) *dap.Server {
	return &dap.Server{
		Connect: func(ctx context.Context, name string) (dap.Daemon, error) {
			c, err := connectAs(context.WithValue(ctx, asTools{}, true), name)
			if err != nil {
				return nil, err
			}
			return dapDaemon{c}, nil
		},
		Project: projectOf, Env: shellEnv(), SignalNumber: signalNumber,
		Client: fmt.Sprintf(" (dap %d%s)", os.Getpid(), which),
	}
}

// dapDaemon is the daemon as the adapter has it, whose errors are for people.
type dapDaemon struct{ c *client }

func (d dapDaemon) Close() { d.c.Close() }

func (d dapDaemon) Call(ctx context.Context, operation string, args map[string]any) (json.RawMessage, error) {
	raw, err := d.c.call(ctx, operation, args)
	var f *fault.Error
	if errors.As(err, &f) {
		err = fault.New(f.Code, inCommands(f.Hint), "%s", inCommands(f.Msg))
	}
	return raw, err
}

// serveDAP serves editors on a port until it is interrupted.
func (a *app) serveDAP(ctx context.Context, port int) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listen for editors: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	fmt.Fprintf(a.err, "strobe: dap on %s\n", l.Addr())
	var served sync.WaitGroup
	defer served.Wait()
	for n := 1; ; n++ {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("accept an editor: %w", err)
		}
		if uid, err := peerUser(conn); err != nil || uid != os.Getuid() {
			fmt.Fprintf(a.err, "strobe: a connection of user %d is refused\n", uid)
			conn.Close()
			continue
		}
		served.Go(func() {
			defer conn.Close()
			gone := context.AfterFunc(ctx, func() { conn.Close() })
			defer gone()
			if err := newDAP(fmt.Sprintf("/%d", n)).Serve(ctx, conn, conn); err != nil && ctx.Err() == nil {
				fmt.Fprintf(a.err, "strobe: %v\n", err)
			}
		})
	}
}

// peerUser is the user whose process is at the other end of a connection from this machine: a port is open to all of
// them, and who may launch programs here is only this one.
func peerUser(conn net.Conn) (int, error) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return -1, fmt.Errorf("find the user of a connection: %w", err)
	}
	defer f.Close()
	from, to := hexAddress(conn.RemoteAddr()), hexAddress(conn.LocalAddr())
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) > 7 && w[1] == from && w[2] == to {
			return strconv.Atoi(w[7])
		}
	}
	return -1, errors.New("find the user of a connection: the system does not list it")
}

// hexAddress is an IPv4 address as /proc/net/tcp has it: its bytes from the last to the first.
func hexAddress(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || t.IP.To4() == nil {
		return ""
	}
	ip := t.IP.To4()
	return strings.ToUpper(hex.EncodeToString([]byte{ip[3], ip[2], ip[1], ip[0]})) + fmt.Sprintf(":%04X", t.Port)
}
