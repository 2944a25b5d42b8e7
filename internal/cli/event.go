package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// shownEvent is what the commands read of an event.
type shownEvent struct {
	ID          int64           `json:"id"`
	TimestampNs int64           `json:"timestampNs"`
	EventType   string          `json:"eventType"`
	Function    string          `json:"function"`
	DurationNs  *int64          `json:"durationNs"`
	PID         int             `json:"pid"`
	ThreadID    int             `json:"threadId"`
	Text        *string         `json:"text"`
	Bytes       bytesMember     `json:"bytes"`
	Encoding    string          `json:"encoding"`
	Unwound     bool            `json:"unwound"`
	Exception   json.RawMessage `json:"exception"`
	Arguments   json.RawMessage `json:"arguments"`
	ReturnValue json.RawMessage `json:"returnValue"`
	Fields      json.RawMessage `json:"fields"` // instead of both
}

// bytesMember is an output's bytes in base64. Of a channel's events it is a number.
type bytesMember string

func (m *bytesMember) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return nil
	}
	return json.Unmarshal(b, (*string)(m))
}

// rawEvent is an event and the text that it was read from.
type rawEvent struct {
	shownEvent
	raw json.RawMessage
}

func (e *rawEvent) UnmarshalJSON(b []byte) error {
	e.raw = append(json.RawMessage(nil), b...)
	return json.Unmarshal(b, &e.shownEvent)
}

func decode(what string, raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read answer of %s: %w", what, err)
	}
	return nil
}

// output returns an output event's bytes as the program wrote them.
func (e *shownEvent) output() ([]byte, error) {
	if e.Text != nil {
		return []byte(*e.Text), nil
	}
	b, err := base64.StdEncoding.DecodeString(string(e.Bytes))
	if err != nil {
		return nil, fmt.Errorf("decode output of event %d: %w", e.ID, err)
	}
	return b, nil
}

// printEvent writes one event as one line.
func (a *app) printEvent(w io.Writer, e *rawEvent) error {
	what := ""
	switch {
	case e.EventType == "function_enter":
		args := e.Arguments
		if len(e.Fields) > 0 {
			args = e.Fields
		}
		what = "→ " + e.Function + "(" + argumentText(args) + ")"
	case e.EventType == "function_exit":
		what = "← " + e.Function
		switch {
		case e.Unwound:
			what += " unwound"
			if len(e.Exception) > 0 {
				what += " by " + oneLine(e.Exception)
			}
		case len(e.ReturnValue) > 0:
			what += " = " + oneLine(e.ReturnValue)
		}
		if len(e.Fields) > 0 {
			what += " [" + argumentText(e.Fields) + "]"
		}
		if e.DurationNs != nil {
			what += "  " + a.paint(dim, duration(*e.DurationNs))
		}
	case e.Text != nil && e.EventType != "channel":
		what = fmt.Sprintf("%s %q", a.paint(cyan, e.EventType), *e.Text)
	case e.Bytes != "":
		what = fmt.Sprintf("%s base64 %s", a.paint(cyan, e.EventType), e.Bytes)
	default:
		what = a.paint(cyan, e.EventType) + " " + argumentText(e.raw, rowMembers...)
	}
	_, err := fmt.Fprintf(w, "%7d %12.6f %6d  %s\n", e.ID, float64(e.TimestampNs)/1e9, e.ThreadID, what)
	return err
}

// rowMembers stand elsewhere in an event's row, or tell nothing there.
var rowMembers = []string{"id", "timestampNs", "eventType", "pid", "threadId", "threadName"}

// argumentText writes an object's members but those that are named as a call's arguments: a=1, b="x".
func argumentText(raw json.RawMessage, but ...string) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return oneLine(raw)
	}
	var parts []string
	for dec.More() {
		name, err := dec.Token()
		var v json.RawMessage
		if err != nil || dec.Decode(&v) != nil {
			return oneLine(raw)
		}
		if text, _ := name.(string); !slices.Contains(but, text) {
			parts = append(parts, fmt.Sprintf("%v=%s", name, oneLine(v)))
		}
	}
	return strings.Join(parts, ", ")
}

func oneLine(raw json.RawMessage) string { return strings.ReplaceAll(string(raw), "\n", " ") }

// signalNumbers are Linux's on x86-64 and arm64: sessions come from there, wherever they are read.
var signalNumbers = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8,
	"SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
	"SIGSTKFLT": 16, "SIGCHLD": 17, "SIGCONT": 18, "SIGSTOP": 19, "SIGTSTP": 20, "SIGTTIN": 21, "SIGTTOU": 22,
	"SIGURG": 23, "SIGXCPU": 24, "SIGXFSZ": 25, "SIGVTALRM": 26, "SIGPROF": 27, "SIGWINCH": 28, "SIGIO": 29,
	"SIGPWR": 30, "SIGSYS": 31,
}

func signalNumber(name string) int { return signalNumbers[name] }
