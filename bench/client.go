package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callLimit bounds one call of a tool.
const callLimit = 3 * time.Minute

// client speaks MCP with the daemon through `strobe mcp`, as an agent does.
type client struct{ session *sdk.ClientSession }

func (b *bench) connect() (*client, error) {
	cmd := exec.Command(b.strobe, "mcp")
	cmd.Env = b.env
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx,
		&sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to strobe mcp: %w", err)
	}
	return &client{s}, nil
}

func (c *client) close() { c.session.Close() }

// call runs a tool, decodes its answer into out (which may be nil) and says how long it took.
func (c *client) call(tool string, args map[string]any, out any) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	start := time.Now()
	whole := sdk.Meta{"strobe/whole": true}
	r, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args, Meta: whole})
	took := time.Since(start)
	if err != nil {
		return took, fmt.Errorf("call %s: %w", tool, err)
	}
	text := ""
	for _, part := range r.Content {
		if p, ok := part.(*sdk.TextContent); ok {
			text += p.Text
		}
	}
	if r.IsError {
		return took, fmt.Errorf("call %s: %s", tool, text)
	}
	if out == nil {
		return took, nil
	}
	return took, json.Unmarshal([]byte(text), out)
}

// launch starts a program and returns its session.
func (c *client) launch(path, root string, args []string, more map[string]any) (launched, time.Duration, error) {
	in := map[string]any{"command": path, "projectRoot": root, "args": args}
	for k, v := range more {
		in[k] = v
	}
	var l launched
	took, err := c.call("debug_launch", in, &l)
	return l, took, err
}

type launched struct {
	SessionID       string   `json:"sessionId"`
	PID             int      `json:"pid"`
	HookedFunctions int      `json:"hookedFunctions"`
	Warnings        []string `json:"warnings"`
}

type status struct {
	Status          string           `json:"status"`
	ExitCode        *int             `json:"exitCode"`
	Signal          string           `json:"signal"`
	EventCount      map[string]int64 `json:"eventCount"`
	DroppedEvents   int64            `json:"droppedEvents"`
	HookedFunctions int              `json:"hookedFunctions"`
}

func (c *client) status(id string) (status, error) {
	var st status
	_, err := c.call("debug_session", map[string]any{"action": "status", "sessionId": id}, &st)
	return st, err
}

// waitEnd polls until the session's program has ended well.
func (c *client) waitEnd(id string, within time.Duration) (status, error) {
	for end := time.Now().Add(within); ; <-time.After(20 * time.Millisecond) {
		st, err := c.status(id)
		if err != nil {
			return st, err
		}
		if st.Status != "running" {
			if st.ExitCode == nil || *st.ExitCode != 0 {
				return st, fmt.Errorf("session %s ended badly: %+v", id, st)
			}
			return st, nil
		}
		if time.Now().After(end) {
			return st, fmt.Errorf("session %s still runs after %v", id, within)
		}
	}
}

// end stops a session and deletes its data.
func (c *client) end(id string) {
	_, _ = c.call("debug_session", map[string]any{"action": "stop", "sessionId": id}, nil)
}

type page struct {
	Events []struct {
		ID   int64  `json:"id"`
		Text string `json:"text"`
	} `json:"events"`
	TotalCount int64 `json:"totalCount"`
}

func (c *client) query(id string, filter map[string]any) (page, time.Duration, error) {
	in := map[string]any{"sessionId": id}
	for k, v := range filter {
		in[k] = v
	}
	var p page
	took, err := c.call("debug_query", in, &p)
	return p, took, err
}

// stdout returns what the program wrote.
func (c *client) stdout(id string) (string, error) {
	p, _, err := c.query(id, map[string]any{"eventType": "stdout", "limit": 500})
	text := ""
	for _, e := range p.Events {
		text += e.Text
	}
	return text, err
}

// strobePIDs are the daemon, first, and its workers.
func (b *bench) strobePIDs() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(b.home, "daemon.lock"))
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		text, _ := os.ReadFile(l) // a thread that has ended
		for _, f := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(f)
			if err != nil {
				return nil, err
			}
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n)) // of one that has ended
			if bytes.Contains(command, []byte("\x00worker")) {            // else a run of tests
				pids = append(pids, n)
			}
		}
	}
	return pids, nil
}

// daemonCPU is what the daemon and its workers, also those that have ended, have used of all CPUs so far.
func (b *bench) daemonCPU() (time.Duration, error) {
	pids, err := b.strobePIDs()
	if err != nil {
		return 0, err
	}
	total := 0
	for i, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// Behind the name in parentheses; utime and stime are fields 14 and 15, in hundredths of a second, and those of ended
		// children follow.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 15 {
			return 0, fmt.Errorf("read CPU time of the daemon: %q", stat)
		}
		last := 13
		if i == 0 {
			last = 15
		}
		for _, f := range fields[11:last] {
			n, err := strconv.Atoi(f)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return time.Duration(total) * 10 * time.Millisecond, nil
}

// watchCPU looks at what the daemon and its workers use of all CPUs until the answer is asked for. A worker's end is
// seen to the last look: what is said of it afterwards has the programs that it started in it.
func (b *bench) watchCPU() (used func() time.Duration) {
	before, last := map[int]time.Duration{}, map[int]time.Duration{}
	look := func(into map[int]time.Duration) {
		pids, _ := b.strobePIDs() // none: none is running
		for _, pid := range pids {
			if d, ok := cpuOf(pid); ok {
				into[pid] = d
			}
		}
	}
	look(before)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(300 * time.Millisecond) // each look reads all of /proc, at the cost of what is timed
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look(last)
			case <-stop:
				look(last)
				return
			}
		}
	}()
	return func() (total time.Duration) {
		close(stop)
		<-done
		for pid, d := range last {
			total += d - before[pid]
		}
		return total
	}
}

// machine says where the numbers come from, and how busy it is.
func machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // empty where there is none
	return fmt.Sprintf("%d × %s, load average %s", runtime.NumCPU(), model,
		strings.Join(strings.Fields(string(load))[:min(3, len(strings.Fields(string(load))))], " "))
}

// schemaBytes is what all tools' descriptions and schemas cost a conversation.
func (c *client) schemaBytes() (first, all int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	r, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("list tools: %w", err)
	}
	for _, t := range r.Tools {
		var data bytes.Buffer
		enc := json.NewEncoder(&data)
		enc.SetEscapeHTML(false) // as the server writes it
		if err := enc.Encode(t.InputSchema); err != nil {
			return 0, 0, err
		}
		size := data.Len() - len("\n")
		all += size
		switch t.Name {
		case "debug_launch", "debug_trace", "debug_query", "debug_session":
			first += size
		}
	}
	return first, all, nil
}
