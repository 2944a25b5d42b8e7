package cli

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
)

func (a *app) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP on stdin and stdout (for an agent's configuration)",
		Long: `Connects an MCP client on stdin and stdout with the daemon, and starts the daemon if there is none. When the
daemon is restarted, the connection goes on.`,
		Example: `  strobe mcp
  {"mcpServers": {"strobe": {"command": "strobe", "args": ["mcp"]}}}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.Home()
			if err != nil {
				return err
			}
			p := &daemon.Proxy{
				In: a.in, Out: a.out,
				Connect: func(ctx context.Context) (net.Conn, error) { return daemon.Connect(ctx, home) },
				Hung:    func() error { return daemon.Hung(home) },
			}
			return p.Run(cmd.Context())
		},
	}
}
