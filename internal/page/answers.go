package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// maxBody bounds what a request may send: a question's filters.
const maxBody = 64 << 10

// maxSource bounds a source file that is shown.
const maxSource = 4 << 20

func escape(s string) string { return url.QueryEscape(s) }

// answer sends what the daemon said, or its error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, operation string, args map[string]any) {
	raw, err := s.Call(r.Context(), operation, args)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(raw) //nolint:errcheck // the browser is gone
}

// refuse sends an error with its code and its next step.
func refuse(w http.ResponseWriter, err error) {
	f := fault.From(err)
	status := http.StatusInternalServerError
	switch f.Code {
	case fault.ValidationError:
		status = http.StatusBadRequest
	case fault.SessionNotFound:
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{ //nolint:errcheck // the browser is gone
		"code": string(f.Code), "message": f.Msg, "hint": f.Hint})
}

func (s *Server) sessions(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "debug_session", map[string]any{"action": "list"})
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "debug_session", map[string]any{"action": "status", "sessionId": r.FormValue("s")})
}

func (s *Server) lanes(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "debug_timeline", map[string]any{"action": "lanes", "sessionId": r.FormValue("s")})
}

// number reads a whole number of a request, which the daemon checks further.
func number(r *http.Request, name string, args map[string]any) error {
	text := r.FormValue(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fault.New(fault.ValidationError, "Give a whole number.", "%s: %q is no number", name, text)
	}
	args[name] = n
	return nil
}

func (s *Server) event(w http.ResponseWriter, r *http.Request) {
	args := map[string]any{"action": "event", "sessionId": r.FormValue("s")}
	if err := number(r, "id", args); err != nil {
		refuse(w, err)
		return
	}
	s.answer(w, r, "debug_timeline", args)
}

// picture sends a picture as bytes: the length of a JSON object, the object, room up to a multiple of 8, the spans.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	args := map[string]any{"action": "picture", "sessionId": r.FormValue("s")}
	var err error
	for _, name := range []string{"from", "to", "buckets", "levels"} {
		err = errors.Join(err, number(r, name, args))
	}
	if list := r.FormValue("lanes"); list != "" {
		var lanes []int64
		for text := range strings.SplitSeq(list, ",") {
			n, bad := strconv.ParseInt(text, 10, 32)
			err = errors.Join(err, bad)
			lanes = append(lanes, n)
		}
		args["lanes"] = lanes
	}
	var raw json.RawMessage
	if err == nil {
		raw, err = s.Call(r.Context(), "debug_timeline", args)
	}
	var pic map[string]json.RawMessage
	var spans []byte
	if err == nil {
		err = json.Unmarshal(raw, &pic)
	}
	if err == nil {
		err = json.Unmarshal(pic["spans"], &spans)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	delete(pic, "spans")
	head, err := json.Marshal(pic)
	if err != nil {
		refuse(w, err)
		return
	}
	room := (8 - (4+len(head))%8) % 8
	b := make([]byte, 0, 4+len(head)+room+len(spans))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = append(append(append(b, head...), make([]byte, room)...), spans...)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(b) //nolint:errcheck // the browser is gone
}

// body reads a question.
func body(r *http.Request) (map[string]any, error) {
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	args := map[string]any{}
	if err := d.Decode(&args); err != nil {
		return nil, fault.New(fault.ValidationError, "Send the fields of a debug_query as a JSON object.",
			"read the question: %w", err)
	}
	return args, nil
}

func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	args, err := body(r)
	if err != nil {
		refuse(w, err)
		return
	}
	s.answer(w, r, "debug_query", args)
}

// ofQuestion is an action of debug_timeline that takes a debug_query as its filter; fields in own are the action's.
func (s *Server) ofQuestion(action string, own ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		question, err := body(r)
		args := map[string]any{"action": action}
		for _, name := range append(own, "sessionId") {
			if v, ok := question[name]; ok {
				args[name] = v
				delete(question, name)
			}
		}
		var filter []byte
		if err == nil {
			filter, err = json.Marshal(question)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		args["filter"] = string(filter)
		s.answer(w, r, "debug_timeline", args)
	}
}

// sourceLines is the answer of /api/source.
type sourceLines struct {
	File  string   `json:"file"`
	Line  int      `json:"line"`
	First int      `json:"first"` // line that lines begins with
	Lines []string `json:"lines"`
}

// sourceAround is how many lines are shown on each side.
const sourceAround = 12

// source shows the code of an event's function. The file is the one that the session names: a request cannot.
func (s *Server) source(w http.ResponseWriter, r *http.Request) {
	args := map[string]any{"action": "event", "sessionId": r.FormValue("s")}
	err := number(r, "id", args)
	var raw json.RawMessage
	if err == nil {
		raw, err = s.Call(r.Context(), "debug_timeline", args)
	}
	type place struct {
		SourceFile string `json:"sourceFile"`
		Line       int    `json:"line"`
	}
	var one struct{ Event, Enter, Exit *place }
	if err == nil {
		err = json.Unmarshal(raw, &one)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	at := place{}
	for _, p := range []*place{one.Event, one.Exit, one.Enter} {
		if p != nil && p.SourceFile != "" {
			at = *p
		}
	}
	lines, err := readSource(at.SourceFile, at.Line)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(lines) //nolint:errcheck // the browser is gone
}

func readSource(file string, line int) (*sourceLines, error) {
	if file == "" {
		return nil, fault.New(fault.ReadFailed, "Build with -g to have source positions.",
			"the source of this event is not known")
	}
	b, err := plainfile.ReadFile(file)
	if err != nil || len(b) > maxSource || bytes.IndexByte(b, 0) >= 0 {
		return nil, fault.New(fault.ReadFailed, "The session names it as the compiler did; it may be on another machine.",
			"%s cannot be shown", file)
	}
	all := strings.Split(string(b), "\n")
	first := min(max(1, line-sourceAround), max(1, len(all)))
	last := min(len(all), line+sourceAround)
	return &sourceLines{File: file, Line: line, First: first, Lines: all[first-1 : max(first-1, last)]}, nil
}

// Times of following.
const (
	followPause = 250 * time.Millisecond // between looks: what a person sees as at once
	followWait  = 5000                   // milliseconds that one look waits; then the browser gets a word
)

// follow sends server-sent events as the session grows: its lanes, and at its end `over`.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	id, out := r.FormValue("s"), http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name string, data []byte) bool {
		_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		return err == nil && out.Flush() == nil
	}
	last := int64(-1)
	for ctx.Err() == nil {
		raw, err := s.Call(ctx, "debug_timeline", map[string]any{"action": "lanes", "sessionId": id})
		var now struct {
			LastID int64
			Over   bool
		}
		if err == nil {
			err = json.Unmarshal(raw, &now)
		}
		if err != nil {
			send("failed", []byte(strconv.Quote(err.Error())))
			return
		}
		if now.LastID != last || now.Over {
			last = now.LastID
			if !send("lanes", raw) || now.Over {
				return
			}
		} else if !send("still", []byte("{}")) {
			return
		}
		_, err = s.Call(ctx, "debug_query", map[string]any{"sessionId": id, "afterEventId": last, "limit": 1,
			"waitMs": followWait})
		if err != nil && ctx.Err() == nil {
			send("failed", []byte(strconv.Quote(err.Error())))
			return
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
		}
	}
}
