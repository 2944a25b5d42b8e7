// Command strobe runs native programs under observation and answers questions about what they did. It
// is one binary: command line, MCP server and daemon. All of it is in internal/cli and below.
package main

import (
	"os"

	"github.com/strobe-debug/strobe/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
