package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of one hunt.
const (
	maxQuestions = 8
	maxBytes     = 10 << 10
	callLimit    = 3 * time.Minute
)

// hunter speaks MCP with a daemon of its own.
type hunter struct {
	session *sdk.ClientSession
	home    string
	strobe  string
}

func newHunter(work string) (*hunter, error) {
	strobe := os.Getenv("STROBE_BIN")
	if strobe == "" {
		strobe = "bin/strobe"
	}
	strobe, err := filepath.Abs(strobe)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "strobe-hunts-")
	if err != nil {
		return nil, err
	}
	h := &hunter{home: home, strobe: strobe}
	cmd := exec.Command(strobe, "mcp")
	cmd.Env = h.env()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	h.session, err = sdk.NewClient(&sdk.Implementation{Name: "hunts", Version: "1"}, nil).Connect(ctx,
		&sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to strobe mcp: %w", err)
	}
	return h, nil
}

func (h *hunter) env() []string { return append(os.Environ(), "STROBE_HOME="+h.home) }

func (h *hunter) close() {
	_ = h.session.Close()
	stop := exec.Command(h.strobe, "daemon", "stop")
	stop.Env = h.env()
	_ = stop.Run()
	_ = os.RemoveAll(h.home)
}

// call runs a tool and returns its answer as the client gets it.
func (h *hunter) call(tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	r, err := h.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("call %s: %w", tool, err)
	}
	text := ""
	for _, part := range r.Content {
		if p, ok := part.(*sdk.TextContent); ok {
			text += p.Text
		}
	}
	if r.IsError {
		return text, fmt.Errorf("call %s: %s", tool, text)
	}
	return text, nil
}

// record runs a program to its end with everything of its source traced, and returns its session.
func (h *hunter) record(b *bug, dir, input string) (string, error) {
	if err := b.lay(dir, input); err != nil {
		return "", err
	}
	argv := b.argv(dir)
	root := filepath.Dir(dir)
	// What pointers lead to is read at the exit, too: functions of C give by them.
	if _, err := h.call("debug_trace", map[string]any{"projectRoot": root, "add": []string{"@usercode"},
		"serializationDepth": 1, "captureOut": true}); err != nil {
		return "", err
	}
	launch := map[string]any{"command": argv[0], "args": argv[1:], "cwd": dir, "projectRoot": root}
	if b.program.Stdin {
		text, err := os.ReadFile(b.input(input))
		if err != nil {
			return "", err
		}
		launch["stdin"] = string(text)
	}
	answer, err := h.call("debug_launch", launch)
	if err != nil {
		return "", err
	}
	var l struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(answer), &l); err != nil {
		return "", err
	}
	for end := time.Now().Add(callLimit); ; <-time.After(50 * time.Millisecond) {
		answer, err := h.call("debug_session", map[string]any{"action": "status", "sessionId": l.SessionID})
		if err != nil {
			return "", err
		}
		var st struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal([]byte(answer), &st); err != nil {
			return "", err
		}
		if st.Status != "running" {
			return l.SessionID, nil
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("session %s still runs after %v", l.SessionID, callLimit)
		}
	}
}
