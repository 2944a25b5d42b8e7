package cli

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/group"
)

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up FILE",
		Short: "Run several programs as one group, and follow requests through them",
		Long: `FILE is YAML or JSON: services, each with command, args, env, cwd (from the file's folder), trace, depends, and
readyWhen, which says when those that depend on it may start: port (somebody listens on it), output (a text that it
has written), exits (with code 0), timeoutMs (30000). What goes over sockets is recorded, too, unless trace is [].

Their output comes out here behind their names. Ctrl-C ends them in the reverse order; what was recorded stays, and
strobe request follows requests through it.`,
		Example: `  strobe up shop.yaml
  # services:
  #   redis: {command: redis-server, args: [--port, "7000"], readyWhen: {port: 7000}}
  #   api: {command: ./api, depends: [redis], trace: ["main.*"], readyWhen: {output: listening}}`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.up(cmd.Context(), args[0]) },
	}
}

// upRun is one `strobe up`.
type upRun struct {
	app   *app
	width int
	lines sync.Mutex // leaf; keeps lines whole
	group sync.WaitGroup
	code  int // of the first that failed by itself; guarded by lines
}

func (a *app) up(ctx context.Context, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	services, err := group.Read(file)
	if err != nil {
		return err
	}
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	u := &upRun{app: a}
	for _, s := range services {
		u.width = max(u.width, len(s.Name))
	}
	follow := context.WithoutCancel(ctx) // to their ends, also after an interrupt
	g := &group.Group{
		Call: func(ctx context.Context, tool string, args map[string]any, into any) error {
			return c.callInto(ctx, tool, args, into)
		},
		Base: func(s *group.Service) map[string]any {
			env := shellEnv()
			maps.Copy(env, s.Env)
			return map[string]any{"projectRoot": projectOf(s.Cwd, append([]string{s.Command}, s.Args...)), "env": env}
		},
		Launched: func(s group.Started) {
			u.say(s.Name, "started as "+s.SessionID)
			a.warn(s.Warnings)
			u.group.Go(func() { u.follow(follow, s) })
		},
	}
	all, err := g.Start(ctx, services)
	if err != nil {
		u.group.Wait()
		return err
	}
	u.say("strobe", "all are ready; Ctrl-C ends them")
	ended := make(chan struct{})
	go func() { u.group.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		u.say("strobe", "ending all")
	}
	err = g.Stop(context.WithoutCancel(ctx), all)
	<-ended
	fmt.Fprintf(a.err, "%s strobe request %s\n", paintOn(a.err, dim, "strobe: requests:"), all[0].SessionID)
	if err == nil && u.code != 0 && ctx.Err() == nil {
		err = &exitStatus{code: u.code}
	}
	return err
}

// say writes a line of ours.
func (u *upRun) say(name, text string) {
	u.lines.Lock()
	defer u.lines.Unlock()
	fmt.Fprintln(u.app.err, paintOn(u.app.err, dim, fmt.Sprintf("%-*s | %s", u.width, name, text)))
}

// follow shows a service's output until it ends.
func (u *upRun) follow(ctx context.Context, s group.Started) {
	c, err := connect(ctx)
	if err != nil {
		u.say(s.Name, "its output is not shown: "+err.Error())
		return
	}
	defer c.Close()
	out := &named{up: u, name: s.Name}
	r := &running{app: &app{out: out, err: out, json: u.app.json}, client: c, id: s.SessionID}
	end, err := r.watch(ctx, runFlags{})
	// while it is stopped, it is nowhere
	for try := 0; err != nil && fault.CodeOf(err) == fault.SessionNotFound && try < 3; try++ {
		end, err = r.watch(ctx, runFlags{})
	}
	out.end()
	if err != nil {
		u.say(s.Name, "its output is shown no further: "+err.Error())
		return
	}
	u.say(s.Name, (&group.Status{Status: end.Status, ExitCode: end.ExitCode, Signal: end.Signal}).How())
	u.lines.Lock()
	defer u.lines.Unlock()
	if code := end.code(); code != 0 && u.code == 0 {
		u.code = code
	}
}

// named writes whole lines behind a name.
type named struct {
	up   *upRun
	name string
	rest []byte
}

func (n *named) Write(b []byte) (int, error) {
	n.rest = append(n.rest, b...)
	i := bytes.LastIndexByte(n.rest, '\n')
	if i < 0 && len(n.rest) < maxLine {
		return len(b), nil
	}
	if i < 0 {
		i = len(n.rest) - 1
	}
	text := string(n.rest[:i+1])
	n.rest = bytes.Clone(n.rest[i+1:])
	n.up.lines.Lock()
	defer n.up.lines.Unlock()
	if n.up.app.json { // lines of JSON, which name their session
		_, err := n.up.app.out.Write([]byte(text))
		return len(b), err
	}
	for line := range strings.Lines(text) {
		name := n.up.app.paint(dim, fmt.Sprintf("%-*s", n.up.width, n.name))
		if _, err := fmt.Fprintf(n.up.app.out, "%s | %s\n", name, strings.TrimRight(line, "\r\n")); err != nil {
			return len(b), err
		}
	}
	return len(b), nil
}

// maxLine bounds how much of a line is waited for.
const maxLine = 64 << 10

// end writes what has no end of its line.
func (n *named) end() {
	if len(n.rest) > 0 {
		n.Write([]byte("\n")) //nolint:errcheck // who reads it has gone
	}
}

func (a *app) requestCommand() *cobra.Command {
	var under, limit int64
	var against, spans string
	c := &cobra.Command{
		Use:   "request ID",
		Short: "Follow requests through the sessions that ran at the same time",
		Long: `Shows requests (HTTP, gRPC, Redis, Postgres) as trees of hops across processes, failing ones first, then the
slowest; ~ marks what is guessed. They are seen where @sockets is traced, as strobe up does. It is strobe query --view
request, which has more filters. --otlp writes all of them as OpenTelemetry's spans instead, a trace each, with the
calls of functions below them (10,000 a trace at most, the longest): OTLP/JSON lines in a file, or to a collector.`,
		Example: `  strobe request api-2026-05-04-10h30
  strobe request api-2026-05-04-10h30 --under 512
  strobe request api-2026-05-04-10h30 --otlp http://127.0.0.1:4318/v1/traces`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if spans != "" {
				return a.requestSpans(cmd.Context(), args[0], against, spans)
			}
			req := map[string]any{"sessionId": args[0], "view": "request"}
			if cmd.Flags().Changed("under") {
				req["under"] = under
			}
			if cmd.Flags().Changed("limit") {
				req["limit"] = limit
			}
			if against != "" {
				req["against"] = against
			}
			raw, err := a.queryDaemon(cmd, req)
			if err != nil {
				return err
			}
			return a.printQuery(raw)
		},
	}
	c.Flags().Int64Var(&under, "under", 0, "the request that this event of the session was part of")
	c.Flags().Int64Var(&limit, "limit", 0, "how many are shown")
	c.Flags().StringVar(&against, "against", "", "through these sessions, by commas")
	c.Flags().StringVar(&spans, "otlp", "", "file, -, or http://HOST:4318/v1/traces")
	c.MarkFlagsMutuallyExclusive("otlp", "under")
	c.MarkFlagsMutuallyExclusive("otlp", "limit")
	return c
}
