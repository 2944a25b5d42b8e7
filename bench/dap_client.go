package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	proto "github.com/google/go-dap"
)

// dapLimit bounds each wait for an adapter, and for its end.
const dapLimit = 10 * time.Second

// dapMessage is one of an adapter's, and when it was there.
type dapMessage struct {
	Type    string          `json:"type"`
	Event   string          `json:"event"`
	Request int             `json:"request_seq"`
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Body    json.RawMessage `json:"body"`
	at      time.Time
}

// dapClient drives any adapter by its standard input and output, as an editor does. One goroutine reads what the
// adapter says, until it has ended; close waits for both.
type dapClient struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	from   chan *dapMessage // closed at the adapter's end
	ended  chan time.Time   // then
	seq    int
	events []*dapMessage // that nobody has waited for yet
	said   string        // output that is for people
	launch int           // request whose refusal ends each wait; its answer may come late
	pid    int           // of the program, where the adapter tells it
	can    map[string]any
	began  time.Time // the adapter's process
	ready  time.Time // initialize is answered
}

// openDAP starts an adapter and initializes it.
func openDAP(a *dapAdapter, env []string) (*dapClient, error) {
	c := &dapClient{cmd: exec.Command(a.command[0], a.command[1:]...), from: make(chan *dapMessage, 1024),
		ended: make(chan time.Time, 1)}
	c.cmd.Env = env
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it leaves behind ends with it
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.began = in, time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", a.name, err)
	}
	go c.read(bufio.NewReader(out))
	last, err := c.ask("initialize", map[string]any{"clientID": "bench", "clientName": "bench", "adapterID": a.id,
		"linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path", "supportsVariableType": true,
		"supportsVariablePaging": true, "supportsMemoryReferences": true, "supportsInvalidatedEvent": true}, &c.can)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	c.ready = last
	return c, nil
}

// read hands on what the adapter says.
func (c *dapClient) read(out *bufio.Reader) {
	for {
		content, err := proto.ReadBaseMessage(out)
		if err != nil {
			break
		}
		m := &dapMessage{at: time.Now()}
		if json.Unmarshal(content, m) == nil {
			c.from <- m
		}
	}
	close(c.from)
	_ = c.cmd.Wait() // how it ended tells nothing: some end by a signal
	c.ended <- time.Now()
}

// send sends a request and returns its number.
func (c *dapClient) send(command string, arguments any) (int, error) {
	c.seq++
	data, err := json.Marshal(map[string]any{"seq": c.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		return 0, err
	}
	return c.seq, proto.WriteBaseMessage(c.in, data)
}

// next returns the next answer, or nil after an event, which is kept.
func (c *dapClient) next(what string, until time.Time) (*dapMessage, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case m, ok := <-c.from:
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: the adapter has ended", what)
		case m.Type == "response" && m.Request == c.launch && !m.Success:
			return nil, fmt.Errorf("launch: %s", refusal(m))
		case m.Type == "response":
			return m, nil
		case m.Type == "event":
			c.hear(m)
		}
		return nil, nil
	case <-timer.C:
		return nil, fmt.Errorf("%s: nothing came within %v", what, dapLimit)
	}
}

// hear keeps an event, or what it tells.
func (c *dapClient) hear(m *dapMessage) {
	switch m.Event {
	case "output":
		var o proto.OutputEventBody
		if json.Unmarshal(m.Body, &o) == nil && o.Category != "telemetry" {
			c.said += o.Output
		}
	case "process":
		var p proto.ProcessEventBody
		if json.Unmarshal(m.Body, &p) == nil {
			c.pid = p.SystemProcessId
		}
	case "capabilities":
		var more struct{ Capabilities map[string]any }
		if json.Unmarshal(m.Body, &more) == nil {
			for k, v := range more.Capabilities {
				c.can[k] = v
			}
		}
	case "stopped", "initialized", "terminated", "exited":
		c.events = append(c.events, m)
	}
}

// answer waits for the answer to a request, decodes it into body, which may be nil, and says when it was there.
func (c *dapClient) answer(command string, seq int, body any) (at time.Time, err error) {
	for until := time.Now().Add(dapLimit); ; {
		m, err := c.next("answer to "+command, until)
		switch {
		case err != nil:
			return at, err
		case m == nil || m.Request != seq:
			continue
		case !m.Success:
			return at, errors.New(refusal(m))
		case body != nil && len(m.Body) > 0:
			return m.at, json.Unmarshal(m.Body, body)
		}
		return m.at, nil
	}
}

// refusal is what an adapter says of a request that it refuses.
func refusal(m *dapMessage) string {
	var b struct{ Error struct{ Format string } }
	_ = json.Unmarshal(m.Body, &b) // many have none
	text := cmp.Or(strings.TrimSpace(m.Message), b.Error.Format)
	return "refused: " + text
}

// ask sends a request, waits for its answer and says when it was there.
func (c *dapClient) ask(command string, arguments, body any) (time.Time, error) {
	seq, err := c.send(command, arguments)
	if err != nil {
		return time.Time{}, err
	}
	return c.answer(command, seq, body)
}

// wait waits for an event of a name. The program's end ends each wait for something else.
func (c *dapClient) wait(name string, body any) (time.Time, error) {
	for until := time.Now().Add(dapLimit); ; {
		at := slices.IndexFunc(c.events, func(m *dapMessage) bool { return m.Event == name || m.Event == "terminated" })
		if at >= 0 {
			m := c.events[at]
			c.events = slices.Delete(c.events, at, at+1)
			if m.Event != name {
				return m.at, fmt.Errorf("event %s: the program has ended: %.200q", name, c.said)
			}
			if body == nil || len(m.Body) == 0 {
				return m.at, nil
			}
			return m.at, json.Unmarshal(m.Body, body)
		}
		if _, err := c.next("event "+name, until); err != nil {
			return time.Time{}, fmt.Errorf("%w; it said %.200q", err, c.said)
		}
	}
}

// quit disconnects and returns how long it is to the end of the adapter's process.
func (c *dapClient) quit() (time.Duration, error) {
	start := time.Now()
	if _, err := c.ask("disconnect", map[string]any{"terminateDebuggee": true}, nil); err != nil {
		c.close()
		return 0, err
	}
	c.in.Close() // as an editor does behind the answer
	end, err := c.end(dapLimit)
	if err != nil {
		c.close()
		return 0, err
	}
	return end.Sub(start), nil
}

// end waits for the adapter's end.
func (c *dapClient) end(limit time.Duration) (time.Time, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for from := c.from; ; {
		select {
		case m, ok := <-from:
			if !ok {
				from = nil
			} else if m.Type == "event" {
				c.hear(m)
			}
		case at := <-c.ended:
			c.ended <- at
			return at, nil
		case <-timer.C:
			return time.Time{}, fmt.Errorf("the adapter has not ended within %v", limit)
		}
	}
}

// close ends the adapter, what it has started, and the program, however they are.
func (c *dapClient) close() {
	c.in.Close()
	if _, err := c.end(time.Second); err == nil {
		return
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it ends at last
	if c.pid > 1 && c.pid != os.Getpid() {
		_ = syscall.Kill(c.pid, syscall.SIGKILL) // it may have ended
	}
	_, _ = c.end(dapLimit) // nothing else can be done
}
