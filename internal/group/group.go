// Package group starts several programs as one group: it reads the file that lists them, brings them into the order
// of what they depend on, starts each when those are ready, and ends all in the reverse order.
//
// It stands beside the front ends: `strobe up` (cli) and debug_launch with group (daemon) have it call their tools, by
// which it launches sessions and looks at them. What is ready it reads from the kernel and from the program's output;
// it never connects to a port, which the program would see.
package group

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Bounds of groups.
const (
	maxFile        = 1 << 20 // bytes
	maxServices    = 32
	maxTail        = 1000 // bytes of output that an error shows
	graceMs        = 5000 // that a program has to end in when it is asked to
	defaultReadyMs = 30_000
	maxReadyMs     = 600_000
)

// Service is one program of a group.
type Service struct {
	Name      string            `yaml:"-"`
	Command   string            `yaml:"command"`
	Args      []string          `yaml:"args"`
	Env       map[string]string `yaml:"env"`
	Cwd       string            `yaml:"cwd"` // as Read leaves it: absolute
	Trace     *[]string         `yaml:"trace"`
	Depends   []string          `yaml:"depends"`
	ReadyWhen Ready             `yaml:"readyWhen"`
}

// Ready says when those that depend on a service may start; all that is given has to hold. Nothing: at once.
type Ready struct {
	Port      int    `yaml:"port"`   // somebody listens on it
	Output    string `yaml:"output"` // it has written this
	Exits     bool   `yaml:"exits"`  // it has ended with exit code 0
	TimeoutMs int    `yaml:"timeoutMs"`
}

// Patterns are what is traced: @sockets besides what the file says, unless that is an empty list.
func (s *Service) Patterns() []string {
	switch {
	case s.Trace == nil:
		return []string{"@sockets"}
	case len(*s.Trace) == 0:
		return *s.Trace
	}
	for _, p := range *s.Trace {
		if strings.HasPrefix(p, "@sockets") {
			return *s.Trace
		}
	}
	return append([]string{"@sockets"}, *s.Trace...)
}

func invalid(hint, format string, args ...any) error {
	return fault.New(fault.ValidationError, hint, format, args...)
}

const example = "e.g. services: {db: {command: redis-server, readyWhen: {port: 6379}}, " +
	"api: {command: ./api, depends: [db]}}"

// Read reads a file, YAML or JSON, and returns its services in the order in which they are to start.
func Read(path string) ([]*Service, error) {
	b, err := plainfile.ReadFile(path)
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%d bytes are more than %d", len(b), maxFile)
	}
	if err != nil {
		return nil, invalid("Name a YAML or JSON file, "+example+".", "group %s: %w", path, err)
	}
	all, err := parse(b, filepath.Dir(path))
	if err != nil {
		f := fault.From(err)
		return nil, invalid(f.Hint, "group %s: %s", path, f.Msg)
	}
	return all, nil
}

func parse(b []byte, dir string) ([]*Service, error) {
	var file struct {
		Services map[string]*Service `yaml:"services"`
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		what := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "in type group.", "of a ")
		return nil, invalid("A service has command, args, env, cwd, trace, depends, and readyWhen with port, output, exits, "+
			"timeoutMs; "+example+".", "%s", strings.Join(strings.Fields(what), " "))
	}
	if n := len(file.Services); n == 0 || n > maxServices {
		return nil, invalid("Give services, "+example+".", "%d services; 1 to %d can be", n, maxServices)
	}
	for name, s := range file.Services {
		if s == nil || s.Command == "" {
			return nil, invalid("Give command: a path or a name in PATH.", "service %s has no command", name)
		}
		if r := &s.ReadyWhen; r.Port < 0 || r.Port > 65535 || r.TimeoutMs < 0 || r.TimeoutMs > maxReadyMs {
			return nil, invalid(fmt.Sprintf("port is 1 to 65535, timeoutMs up to %d.", maxReadyMs),
				"service %s: readyWhen is out of range", name)
		}
		s.Name = name
		if s.Cwd = cmp.Or(s.Cwd, "."); !filepath.IsAbs(s.Cwd) {
			s.Cwd = filepath.Join(dir, s.Cwd)
		}
	}
	return inOrder(file.Services)
}

// inOrder puts services behind those that they depend on, by their names otherwise.
func inOrder(services map[string]*Service) (all []*Service, err error) {
	state := map[string]int{} // 1: being looked at, 2: placed
	var place func(name, by string) error
	place = func(name, by string) error {
		s := services[name]
		switch {
		case s == nil:
			return invalid("Services: "+strings.Join(slices.Sorted(maps.Keys(services)), ", ")+".",
				"service %s depends on %s, which is not there", by, name)
		case state[name] == 1:
			return invalid("Take one of the dependencies out.", "service %s depends on itself, by way of %s", name, by)
		case state[name] == 2:
			return nil
		}
		state[name] = 1
		for _, d := range s.Depends {
			if err := place(d, name); err != nil {
				return err
			}
		}
		state[name] = 2
		all = append(all, s)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if err := place(name, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
