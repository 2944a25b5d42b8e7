package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) attachCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "attach PID",
		Short: "Watch a process that runs, show its output, then what it did",
		Long: `Attaches to a process and shows what it writes to its standard output and error from now on. Ctrl-C, or
--timeout, detaches: the process runs on as before. With --trace, a tree of the traced calls follows on stderr. The
timeline stays for strobe query.`,
		Example: `  strobe attach 4711
  strobe attach --trace 'parser::**' --timeout 10s $(pgrep -n server)`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.attach(cmd.Context(), f, args[0]) },
	}
	c.Flags().StringArrayVarP(&f.trace, "trace", "t", nil, "trace these functions (repeatable; see strobe trace)")
	c.Flags().IntVar(&f.depth, "depth", 0, "how deep values are followed, 1 to 10")
	c.Flags().BoolVar(&f.retain, "retain", false, "keep the timeline on disk, also when the daemon ends")
	c.Flags().BoolVar(&f.block, "block", false, "make the program wait rather than lose calls when buffers are full")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "detach after this time")
	c.Flags().StringVar(&f.projectRoot, "project-root", "",
		"what @usercode means (default: the repository around the program's file, of a script around where it runs)")
	c.Flags().StringVar(&f.symbols, "symbols", "", "file or directory with debug info")
	return c
}

func (a *app) attach(ctx context.Context, f runFlags, arg string) error {
	pid, err := strconv.Atoi(arg)
	if err != nil || pid <= 0 {
		return fault.New(fault.ValidationError, "Give its number; pgrep NAME shows it.", "%q is no process id", arg)
	}
	req := map[string]any{"pid": pid}
	if req["projectRoot"], err = projectOfProcess(pid, f.projectRoot); err != nil {
		return err
	}
	if err := f.common(req); err != nil {
		return err
	}
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := a.launch(ctx, c, req)
	if err != nil {
		return err
	}
	r.leave = true
	fmt.Fprintf(a.err, "%s attached to %d as %s\n", paintOn(a.err, dim, "strobe:"), pid, r.id)
	return r.follow(ctx, f)
}

// projectOfProcess is the directory that @usercode means: the one given, else the repository around the program's file;
// of an interpreter's program, around where it runs, or around its script if that is elsewhere.
func projectOfProcess(pid int, given string) (string, error) {
	if given != "" {
		root, err := filepath.Abs(given)
		if err != nil {
			return "", fmt.Errorf("find project root: %w", err)
		}
		return root, nil
	}
	dir := "/"
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		dir = filepath.Dir(exe)
		if interpreter.MatchString(filepath.Base(exe)) {
			cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			dir = placeOfScript(cwd, strings.Split(string(line), "\x00"))
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = "/"
	}
	return repository(dir), nil
}

// placeOfScript is the directory of the user's own script that a command line names, if it is not below that of the
// repository around cwd, else cwd. One that was installed says nothing of the project.
func placeOfScript(cwd string, args []string) string {
	first := true // of what is no option: the program, whatever it is called
	for i, arg := range args {
		if i == 0 || strings.HasPrefix(arg, "-") || takesValue.MatchString(args[i-1]) || installed.MatchString(arg) {
			continue
		}
		if !scripts.MatchString(arg) && (!first || tools.MatchString(arg)) {
			first = false
			continue
		}
		first = false
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(cwd, arg)
		}
		info, err := os.Stat(arg)
		if err != nil || !info.Mode().IsRegular() && !(info.IsDir() && runs(arg)) {
			continue
		}
		if under(repository(cwd), arg) && cwd != "/" {
			return cwd
		}
		if info.IsDir() {
			return arg
		}
		return filepath.Dir(arg)
	}
	return cwd
}

// runs reports a directory that an interpreter takes for a program.
func runs(dir string) bool {
	for _, name := range []string{"__main__.py", "package.json", "index.js"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

var (
	scripts = regexp.MustCompile(`\.(py|[cm]?[jt]s|[jt]sx|jar)$`)
	// options of interpreters whose value may be a file, too
	takesValue = regexp.MustCompile(`^(-[rWXcm]|-cp|-classpath|` +
		`--(require|import|loader|experimental-loader|config|preload|env-file|tsconfig|class-path))$`)
	tools     = regexp.MustCompile(`(^|/)s?bin/|^/usr/`)
	installed = regexp.MustCompile(`(^|/)(node_modules|site-packages|dist-packages)/`)
)
