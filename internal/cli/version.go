package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary and of the running daemon",
		Example: "  strobe version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			running := daemonVersion(cmd.Context())
			if a.json {
				return json.NewEncoder(a.out).Encode(struct {
					Version string `json:"version"`
					Daemon  string `json:"daemon,omitempty"`
					Go      string `json:"go"`
				}{daemon.Version(), running, runtime.Version()})
			}
			fmt.Fprintf(a.out, "strobe %s (%s, %s/%s)\n", daemon.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			switch {
			case running == "":
				fmt.Fprintln(a.out, "daemon: not running")
			case running != daemon.Version():
				fmt.Fprintf(a.out, "daemon %s: another build; `strobe daemon stop` lets the next call start this one\n", running)
			default:
				fmt.Fprintf(a.out, "daemon %s\n", running)
			}
			return nil
		},
	}
}

// daemonVersion asks the running daemon, and starts none. "" means that none answers.
func daemonVersion(ctx context.Context) string {
	home, err := daemon.Home()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := daemon.Dial(ctx, home)
	if err != nil {
		return ""
	}
	defer conn.Close()
	cl := sdk.NewClient(&sdk.Implementation{Name: "strobe-cli", Version: daemon.Version()}, nil)
	session, err := cl.Connect(ctx, &sdk.IOTransport{Reader: conn, Writer: conn, MaxLineLength: -1}, nil)
	if err != nil {
		return ""
	}
	c := &client{session: session}
	defer c.Close()
	return c.version()
}
