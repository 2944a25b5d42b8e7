package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shownSetup is the way to a first test as the command prints it.
type shownSetup struct {
	Detected struct {
		Language, BuildSystem, Framework, Dir string
		TestFiles                             int
	}
	Missing, Steps            []string
	Files, ConfigChanges      map[string]string
	RunCommand, RerunTemplate string
	Next                      *struct{ ProjectRoot, Framework string }
	Hint                      string
}

// setupTests says how a project gets its first test.
func (a *app) setupTests(ctx context.Context, run map[string]any, language string) error {
	req := map[string]any{}
	for _, name := range []string{"projectRoot", "framework", "env"} {
		if v, ok := run[name]; ok {
			req[name] = v
		}
	}
	if language != "" {
		req["language"] = language
	}
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.call(ctx, "debug_setup_tests", req)
	if err != nil {
		return err
	}
	var s shownSetup
	if err := decode("debug_setup_tests", raw, &s); err != nil {
		return err
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
		return nil
	}
	d := s.Detected
	fmt.Fprintf(a.out, "%s\n", strings.Join(
		slices.DeleteFunc([]string{d.Language, d.BuildSystem, d.Framework, d.Dir, fmt.Sprintf("%d test files", d.TestFiles)},
			func(w string) bool {
				return w == ""
			}), ", "))
	for _, m := range s.Missing {
		fmt.Fprintf(a.out, "missing: %s\n", m)
	}
	for _, part := range []struct {
		what  string
		files map[string]string
	}{{"write", s.Files}, {"add to", s.ConfigChanges}} {
		for _, name := range slices.Sorted(maps.Keys(part.files)) {
			fmt.Fprintf(a.out, "%s %s\n%s\n", part.what, a.paint(dim, name), indent(part.files[name]))
		}
	}
	for _, step := range s.Steps {
		fmt.Fprintf(a.out, "run: %s\n", step)
	}
	if s.RunCommand != "" {
		fmt.Fprintf(a.out, "tests: %s\none:   %s\n", s.RunCommand, s.RerunTemplate)
	}
	if s.Next == nil {
		fmt.Fprintln(a.err, s.Hint)
		return &exitStatus{code: exitNothing}
	}
	fmt.Fprintf(a.out, "then:  strobe test -C %s --framework %s\n", s.Next.ProjectRoot, s.Next.Framework)
	return nil
}
