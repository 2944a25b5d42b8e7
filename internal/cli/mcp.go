package cli

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	var tools string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP on stdin and stdout (for an agent's configuration)",
		Long: `Connects an MCP client on stdin and stdout with the daemon, and starts the daemon if there is none. When the
daemon is restarted, the connection goes on. With --tools ask the list of tools has five, with the parameters that
most questions need, in under 2 KB; what is not listed is still taken.`,
		Example: `  strobe mcp
  strobe mcp --tools ask
  {"mcpServers": {"strobe": {"command": "strobe", "args": ["mcp"]}}}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.Home()
			if err != nil {
				return err
			}
			tier := ""
			switch tools {
			case "all":
			case mcp.TierAsk:
				tier = mcp.TierAsk
			default:
				return fault.New(fault.ValidationError, "Give ask or all.", "--tools %q is neither", tools)
			}
			p := &daemon.Proxy{
				Tier: tier,
				In:   a.in, Out: a.out,
				Connect: func(ctx context.Context) (net.Conn, error) { return daemon.Connect(ctx, home) },
				Hung:    func() error { return daemon.Hung(home) },
			}
			return p.Run(cmd.Context())
		},
	}
	c.Flags().StringVar(&tools, "tools", "all", "which tools are listed: ask or all")
	return c
}
