package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/install"
)

// installFlags are those of install and uninstall.
type installFlags struct {
	agents  []string
	project string
	dryRun  bool
}

func (f *installFlags) add(c *cobra.Command) {
	names := strings.Join(install.IDs(), ", ")
	c.Flags().StringArrayVar(&f.agents, "agent", nil, "only this agent (repeatable): "+names)
	c.Flags().StringVar(&f.project, "project", "", "the files of the project in this directory, not the user's")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be written, and write nothing")
	complete := cobra.FixedCompletions(install.IDs(), cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("agent", complete); err != nil {
		panic(err) // the flag is added above
	}
}

func (f *installFlags) options() (install.Options, error) {
	o := install.Options{Getenv: os.Getenv, Agents: f.agents, DryRun: f.dryRun}
	var err error
	if o.Home, err = os.UserHomeDir(); err != nil {
		return o, err
	}
	if o.Store, err = daemon.Home(); err != nil {
		return o, err
	}
	if o.Command, err = thisBinary(); err != nil {
		return o, err
	}
	if f.project != "" {
		if o.Project, err = filepath.Abs(f.project); err != nil {
			return o, err
		}
		if info, err := os.Stat(o.Project); err != nil {
			return o, err
		} else if !info.IsDir() {
			return o, fmt.Errorf("%s is no directory", o.Project)
		}
	}
	return o, nil
}

// thisBinary returns the path by which agents start this program: the one in PATH if it leads here, for a new version
// may replace what a link leads to.
func thisBinary() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("strobe"); err == nil && filepath.IsAbs(found) {
		if to, err := filepath.EvalSymlinks(found); err == nil && to == real {
			return found, nil
		}
	}
	return real, nil
}

func (a *app) installCommand() *cobra.Command {
	var f installFlags
	var print bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Make coding agents use Strobe: MCP entry, skills and sub-agent",
		Long: `Finds the coding agents that the user has and adds to each one's configuration the entry that starts strobe
mcp, and where it has skills and sub-agents of its own those too. Of a file only the bytes of Strobe's entry change; one
that does not parse is left alone. A backup is kept in Strobe's directory, and strobe uninstall puts everything back.`,
		Example: `  strobe install
  strobe install --dry-run
  strobe install --agent codex --agent zed
  strobe install --project . --agent claude-code
  strobe install --print --agent cursor`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			if print {
				text, err := install.Print(o)
				if err != nil {
					return a.noAgents(err)
				}
				fmt.Fprint(a.out, text)
				return nil
			}
			results, err := install.Install(o)
			if results == nil && err != nil {
				return a.noAgents(err)
			}
			return a.showInstalled(results, f.dryRun, err)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&print, "print", false, "print the entry, to be added by hand, and write nothing")
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Take Strobe out of coding agents' files",
		Long: `Takes out what strobe install has put in, of the user's files and of all projects', or of one agent or project.
A file that nobody changed since gets the very bytes back that it had; of another only Strobe's entry goes. Strobe
itself and its sessions stay.`,
		Example: `  strobe uninstall
  strobe uninstall --dry-run
  strobe uninstall --agent codex`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			results, err := install.Uninstall(o)
			if err == nil && len(results) == 0 {
				if a.json {
					err = a.showInstalled(results, f.dryRun, nil)
				}
				return errors.Join(err, &exitStatus{exitNothing, "no agent's files have anything of Strobe's"})
			}
			return a.showInstalled(results, f.dryRun, err)
		},
	}
	f.add(c)
	return c
}

func (a *app) noAgents(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &exitStatus{exitNothing, "no coding agent was found; name one with --agent: " +
			strings.Join(install.IDs(), ", ")}
	}
	return err
}

func (a *app) showInstalled(results []install.Result, dryRun bool, err error) error {
	if err != nil {
		fmt.Fprintln(a.err, "strobe: "+err.Error())
	}
	failed := err != nil
	for i := range results {
		failed = failed || results[i].Failed()
	}
	if a.json {
		if results == nil {
			results = []install.Result{}
		}
		if err := json.NewEncoder(a.out).Encode(map[string]any{"agents": results, "dryRun": dryRun}); err != nil {
			return err
		}
	} else {
		for i := range results {
			a.showAgent(&results[i])
		}
		if dryRun {
			fmt.Fprintln(a.out, "Nothing was written: --dry-run.")
		} else if !failed {
			fmt.Fprintln(a.out, "Agents that are running take it at their next start.")
		}
	}
	if failed {
		return &exitStatus{exitError, ""}
	}
	return nil
}

func (a *app) showAgent(r *install.Result) {
	fmt.Fprintln(a.out, r.Name)
	for _, c := range r.Changes {
		colour := map[string]string{install.Failed: red, install.Left: yellow, install.Unchanged: dim}[c.Action]
		if colour == "" {
			colour = green
		}
		fmt.Fprintf(a.out, "  %s  %-9s  %s\n", a.paint(colour, fmt.Sprintf("%-9s", c.Action)), c.What, c.Path)
		if c.Text != "" && (c.Action == install.Added || c.Action == install.Updated) {
			for line := range strings.Lines(c.Text) {
				fmt.Fprintf(a.out, "      %s", a.paint(dim, line))
			}
		}
		if c.Backup != "" {
			fmt.Fprintf(a.out, "      backup: %s\n", c.Backup)
		}
		if c.Error != "" {
			fmt.Fprintf(a.out, "      %s\n", c.Error)
		}
	}
	if r.Note != "" {
		fmt.Fprintf(a.out, "  %s\n", r.Note)
	}
}
