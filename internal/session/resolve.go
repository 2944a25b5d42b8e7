package session

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/near"
)

// LaunchRequest is what a client asks for.
type LaunchRequest struct {
	Command      string // path, or name to be found in the program's PATH
	Args         []string
	Cwd          string // "": directory of Command if that is a path, else ProjectRoot
	ProjectRoot  string // absolute
	Env          map[string]string
	Stdin        string // text
	KeepStdin    bool   // stdin stays open for Session.Input
	Terminal     bool
	Columns      int // of the terminal; 0: what programs assume
	Rows         int
	SymbolsPath  string
	Tracing      Tracing
	OnFullBuffer string // a collector.OnFull; "": from settings
	KeepSecrets  bool   // they are recorded, whatever the settings say
	LineBuffer   string // auto, always or off; "": from settings
	StopOnEntry  bool   // pause before anything of the program itself has run
	QuietEntry   bool   // and no event tells of it: it is for the caller alone
	Name         string
	Display      string   // "virtual": the session gets one of its own; "user": there must be one; "": as it is
	DisplaySize  string   // of a virtual one, "1280x800"; "": the default
	Drivers      []string // see collector.Command
	// channels that are open already; the session closes them, if it begins. nil: it has none yet
	Channels *iochan.Hub
	// is told the session's id before the program runs, also where the launch fails then; nil: nobody
	Begun func(id string)
	// gets the output as it is recorded; nil: nobody. data is valid during the call only
	Tap func(stream iochan.Stream, data []byte)
}

// maxArgument is the most that exec takes as one argument or variable: MAX_ARG_STRLEN less the NUL, and room for a
// name.
const maxArgument = 128<<10 - 1

// maxNamesRead bounds how many directory entries are read to find near names.
const maxNamesRead = 5000

// resolve checks everything that can be checked before a process exists and returns the command
// without its files.
func resolve(r *LaunchRequest) (*collector.Command, error) {
	if err := checkStrings(r); err != nil {
		return nil, err
	}
	cmd := &collector.Command{Args: append([]string{r.Command}, r.Args...), Terminal: r.Terminal}
	if err := resolveProject(r, cmd); err != nil {
		return nil, err
	}
	root := cmd.ProjectRoot
	base := root
	if r.Cwd != "" {
		if base = r.Cwd; !filepath.IsAbs(base) {
			base = filepath.Join(root, base)
		}
		if err := checkDir("cwd", base); err != nil {
			return nil, err
		}
	}
	env := environment(os.Environ(), r.Env)
	var err error
	if strings.ContainsRune(r.Command, filepath.Separator) {
		cmd.Path = r.Command
		if !filepath.IsAbs(cmd.Path) {
			cmd.Path = filepath.Join(base, cmd.Path)
		}
		cmd.Path = filepath.Clean(cmd.Path)
		cmd.Dir = base
		if r.Cwd == "" {
			cmd.Dir = filepath.Dir(cmd.Path)
		}
		err = checkProgram(cmd.Path)
	} else {
		cmd.Dir = base
		cmd.Path, err = lookPath(r.Command, env["PATH"], base)
	}
	if err != nil {
		return nil, err
	}
	if err := checkExecutable(cmd.Path); err != nil {
		return nil, err
	}
	if _, given := r.Env["PWD"]; !given {
		env["PWD"] = cmd.Dir
	}
	if r.Terminal && env["TERM"] == "" {
		env["TERM"] = "xterm-256color"
	}
	cmd.Env = inOrder(env, os.Environ())
	return cmd, nil
}

// inOrder lists variables in the order in which they stand in base, new ones behind them: programs that list their
// environment say the same as without us.
func inOrder(env map[string]string, base []string) []string {
	out := make([]string, 0, len(env))
	left := maps.Clone(env)
	for _, kv := range base {
		k, _, _ := strings.Cut(kv, "=")
		if v, ok := left[k]; ok {
			out = append(out, k+"="+v)
			delete(left, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(left)) {
		out = append(out, k+"="+left[k])
	}
	return out
}

// symbolsPath is where to look for debug information, "" for the usual places.
func symbolsPath(r *LaunchRequest) (string, error) {
	path := r.SymbolsPath
	if path == "" {
		return "", nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.ProjectRoot, path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fault.New(fault.ValidationError,
			"Give a file or a directory with debug information, or leave symbolsPath out.", "symbolsPath: %w", err)
	}
	return path, nil
}

// checkStrings refuses what no exec can take.
func checkStrings(r *LaunchRequest) error {
	if r.Command == "" {
		return fault.New(fault.ValidationError, "Give a program.", "command is empty")
	}
	bad := func(field, s string) error {
		if strings.ContainsRune(s, 0) {
			return fault.New(fault.ValidationError, "Send "+field+" without it; binary data can go through stdin or a file.",
				"%s holds a NUL byte", field)
		}
		if len(s) > maxArgument {
			return fault.New(fault.ValidationError, "Pass it in a file, or through stdin.",
				"%s has %d bytes, the kernel takes %d", field, len(s), maxArgument)
		}
		return nil
	}
	fields := []struct{ name, value string }{
		{"command", r.Command}, {"cwd", r.Cwd}, {"projectRoot", r.ProjectRoot}, {"symbolsPath", r.SymbolsPath},
	}
	for i, a := range r.Args {
		fields = append(fields, struct{ name, value string }{fmt.Sprintf("args[%d]", i), a})
	}
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return fault.New(fault.ValidationError, "Names have no = and no NUL byte, and are not empty.",
				"env: bad variable name %q", k)
		}
		fields = append(fields, struct{ name, value string }{"env." + k, r.Env[k]})
	}
	for _, f := range fields {
		if err := bad(f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

func checkDir(field, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "Give a directory that the daemon's user may enter.", "%s: %w", field, err)
	case err != nil:
		hint := "Give an existing directory."
		if near := nearbyNames(path); near != "" {
			hint = "Did you mean " + near + "?"
		}
		return fault.New(fault.ValidationError, hint, "%s %s does not exist", field, path)
	case !info.IsDir():
		return fault.New(fault.ValidationError, "Give the directory that holds it.", "%s %s is not a directory", field, path)
	}
	return nil
}

// environment lays overlay over a process's variables.
func environment(base []string, overlay map[string]string) map[string]string {
	env := make(map[string]string, len(base)+len(overlay))
	for _, kv := range base {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			env[k] = v
		}
	}
	maps.Copy(env, overlay)
	return env
}

// checkProgram tells apart the ways in which a path is no program.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "Give a path that the daemon's user may read.", "%w", err)
	case err != nil:
		hint := "Build it first, or check the path (relative paths start at cwd, else at projectRoot)."
		if near := nearbyNames(path); near != "" {
			hint = "Did you mean " + near + "? " + hint
		}
		return fault.New(fault.LaunchFailed, hint, "%s does not exist", path)
	case info.IsDir():
		return fault.New(fault.LaunchFailed, "Give the program in it.", "%s is a directory", path)
	case !info.Mode().IsRegular():
		return fault.New(fault.LaunchFailed, "Give a program.", "%s is not a regular file", path)
	case info.Mode()&0o111 == 0:
		return fault.New(fault.PermissionDenied,
			"Run chmod +x on it, or launch its interpreter with it as the first of args.", "%s is not executable", path)
	}
	return nil
}

// lookPath finds name in the program's own PATH, as a shell would.
func lookPath(name, path, dir string) (string, error) {
	var firstBad error
	var dirs []string
	for _, d := range filepath.SplitList(path) {
		if d == "" {
			d = "."
		}
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		dirs = append(dirs, d)
		full := filepath.Join(d, name)
		if _, err := os.Lstat(full); err != nil {
			continue
		}
		err := checkProgram(full)
		if err == nil {
			return full, nil
		}
		if firstBad == nil {
			firstBad = err
		}
	}
	if firstBad != nil {
		return "", firstBad
	}
	hint := "Give its path, or set PATH in env."
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		hint = fmt.Sprintf("There is one in %s: use ./%s.", dir, name)
	} else if near := near.Names(name, namesIn(dirs...), 3); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	if path == "" {
		return "", fault.New(fault.LaunchFailed, hint, "command %q: the program's PATH is empty", name)
	}
	return "", fault.New(fault.LaunchFailed, hint, "command %q is in no directory of PATH (%s)", name, path)
}

// nearbyNames lists what is in path's directory with a name like its last part.
func nearbyNames(path string) string {
	return strings.Join(near.Names(filepath.Base(path), namesIn(filepath.Dir(path)), 3), ", ")
}

func namesIn(dirs ...string) []string {
	var names []string
	for _, d := range dirs {
		f, err := os.Open(d)
		if err != nil {
			continue
		}
		got, _ := f.Readdirnames(maxNamesRead)
		f.Close()
		names = append(names, got...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
