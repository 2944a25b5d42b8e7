package js

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/strobe-debug/strobe/internal/websocket"
)

// inspector is a connection to the inspector of a process, which speaks the debugger's protocol.
type inspector struct {
	conn net.Conn
	ws   *websocket.Conn
	last int
}

const (
	inspectWithin = 2 * time.Second
	maxTargets    = 1 << 20
)

// inspect connects to the inspector at an address, where there is one.
func inspect(ctx context.Context, at netip.AddrPort) (*inspector, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectWithin)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(inspectWithin))
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/json/list"}, Host: at.String(), Close: true}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, fmt.Errorf("%v is no inspector: %w", at, err)
	}
	defer res.Body.Close()
	var targets []struct {
		Type string `json:"type"`
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxTargets)).Decode(&targets); err != nil {
		return nil, fmt.Errorf("%v is no inspector: %w", at, err)
	}
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		if err != nil || u.Path == "" || t.Type != "node" {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
		if err != nil {
			return nil, err
		}
		ws, err := websocket.Upgrade(conn, u.Path, inspectWithin)
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return &inspector{conn: conn, ws: ws}, nil
	}
	return nil, fmt.Errorf("%v is no inspector of Node's that has room for us", at)
}

// send asks for an expression to be evaluated, on the thread that runs the program, even within a loop.
func (in *inspector) send(expression string) (id int, err error) {
	in.last++
	b, err := json.Marshal(map[string]any{"id": in.last, "method": "Runtime.evaluate", "params": map[string]any{
		"expression": expression, "includeCommandLineAPI": true, "returnByValue": true, "silent": true}})
	if err != nil {
		return 0, err
	}
	return in.last, in.ws.Write(b)
}

// answer waits for what an expression gave. An error of it is ours.
func (in *inspector) answer(id int) error {
	for {
		b, err := in.ws.Read()
		if err != nil {
			return err
		}
		var m struct {
			ID    int `json:"id"`
			Error *struct {
				Message string `json:"message"`
			} `json:"error"`
			Result struct {
				Exception *struct {
					Text      string `json:"text"`
					Exception struct {
						Description string `json:"description"`
					} `json:"exception"`
				} `json:"exceptionDetails"`
			} `json:"result"`
		}
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		switch {
		case m.ID != id:
		case m.Error != nil:
			return fmt.Errorf("the inspector says: %s", m.Error.Message)
		case m.Result.Exception != nil:
			return fmt.Errorf("%s %s", m.Result.Exception.Text, m.Result.Exception.Exception.Description)
		default:
			return nil
		}
	}
}

// closed waits until the other side has closed the connection.
func (in *inspector) closed() error {
	for {
		if _, err := in.ws.Read(); err != nil {
			return err
		}
	}
}
