// Package cli owns the command line: one file per subcommand, each a thin MCP client of the daemon.
//
// It is the outermost front end and has no place in the data path: what a command prints is a tool's
// answer. Exit codes: 0 done, 1 nothing found, 2 error, 130 interrupted; `strobe run` passes its program's
// own code on.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Exit codes of every command but run.
const (
	exitOK          = 0
	exitNothing     = 1
	exitError       = 2
	exitInterrupted = 130
)

// exitStatus ends a command with a code of its own. An empty message prints nothing.
type exitStatus struct {
	code int
	msg  string
}

func (e *exitStatus) Error() string { return e.msg }

// app is one invocation.
type app struct {
	in       io.Reader
	out, err io.Writer
	json     bool // print tools' results as they are
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C takes the default action: the user insists
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	root := a.root()
	root.SetArgs(args)
	return a.exitCode(ctx, root.ExecuteContext(ctx))
}

func (a *app) exitCode(ctx context.Context, err error) int {
	var status *exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		if status.msg != "" {
			fmt.Fprintln(a.err, "strobe: "+status.msg)
		}
		return status.code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has seen enough, as with `| head`
	}
	var f *fault.Error
	if errors.As(err, &f) {
		err = f
	}
	fmt.Fprintln(a.err, "strobe: "+inCommands(err.Error()))
	return exitError
}

// Root returns the command tree, for the generated documentation.
func Root() *cobra.Command {
	return (&app{in: os.Stdin, out: os.Stdout, err: os.Stderr}).root()
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "strobe",
		Short: "See what a program really does",
		Long: `Strobe runs a program (C, C++, Rust with -g, Go, Python, JavaScript, Java) and records
every call, argument, result and line of output on one timeline, without changing the program. Traces are added and
taken away while it runs. An LLM uses it through MCP (strobe mcp), you through the commands below.`,
		Example: `  strobe run --trace 'parser::**' -- ./build/app --input x.json
  strobe query app-2026-05-04-10h30 --view tree
  strobe doctor`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       daemon.Version(),
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			cmd.SetContext(context.WithValue(cmd.Context(), asTools{}, a.json))
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the tool's structured result")
	root.AddCommand(a.runCommand(), a.attachCommand(), a.traceCommand(), a.queryCommand(), a.exportCommand(),
		a.reportCommand(), a.importCommand(), a.pushCommand(), a.pullCommand(),
		a.fleetCommand(), a.upCommand(), a.requestCommand(),
		a.demoCommand(), a.coreCommand(), a.sessionsCommand(), a.breakCommand(), a.continueCommand(), a.memoryCommand(),
		a.watchCommand(), a.channelCommand(), a.scenarioCommand(),
		a.huntCommand(), a.racesCommand(), a.locksCommand(),
		a.testCommand(), a.diffCommand(), a.threadsCommand(), a.stopCommand(),
		a.lookCommand(), a.actCommand(),
		a.doctorCommand(), a.installCommand(), a.uninstallCommand(),
		a.versionCommand(), a.manCommand(), a.mcpCommand(), a.dapCommand(), a.uiCommand(), a.daemonCommand(),
		a.keeperCommand(), a.workerCommand(), a.displayKeeperCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Example = "  source <(strobe completion bash)"
			c.Args = nil // its own refuses nothing
			for _, shell := range c.Commands() {
				shell.Example = "  strobe completion " + shell.Name()
			}
		}
	}
	showUsage(root)
	a.completeValues(root)
	return root
}
