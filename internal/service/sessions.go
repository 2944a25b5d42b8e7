package service

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
)

// SessionParams are the parameters of debug_session.
type SessionParams struct {
	Action    string `json:"action"`
	SessionID string `json:"sessionId,omitempty" jsonschema:"all but list and import"`
	Path      string `json:"path,omitempty" jsonschema:"import: a session's file"`
	Retain    bool   `json:"retain,omitempty" jsonschema:"stop: keep the data"`

	Kill   *bool  `json:"kill,omitempty" jsonschema:"stop: false leaves it running, unhooked (default if attached)"`
	Signal string `json:"signal,omitempty" jsonschema:"signal: to its group; stop: asked with first (SIGTERM)"`

	GraceMs *int   `json:"graceMs,omitempty" jsonschema:"stop: until it is killed; 0: at once"`
	Size    string `json:"terminalSize,omitempty" jsonschema:"input: set it, e.g. 120x40"`
	Text    string `json:"text,omitempty" jsonschema:"input: sent to stdin"`
	Base64  string `json:"base64,omitempty" jsonschema:"input: bytes"`
	EOF     bool   `json:"eof,omitempty" jsonschema:"input: then close stdin"`
	Threads bool   `json:"threads,omitempty" jsonschema:"status: what threads do, deadlocks"`
	Locks   bool   `json:"locks,omitempty" jsonschema:"status: lock orders, waits"`
	Budget
}

// StatusResult is the answer of action status.
type StatusResult struct {
	SessionID     string           `json:"sessionId"`
	Status        string           `json:"status"` // running, paused, exited, crashed, interrupted
	ExitCode      *int             `json:"exitCode,omitempty"`
	Signal        string           `json:"signal,omitempty"`
	PID           int              `json:"pid"`
	PIDs          []int            `json:"pids"`
	Runtime       string           `json:"runtime"`
	EventCount    map[string]int64 `json:"eventCount"` // by event type, ever recorded
	EventsEvicted int64            `json:"eventsEvicted,omitempty"`
	DroppedEvents int64            `json:"droppedEvents"`
	Redacted      int64            `json:"redacted,omitempty"` // values left out as secrets
	// where some were made; those recorded, sampled away and dropped make up all
	Calls           *session.CallCounts         `json:"calls,omitempty"`
	HookedFunctions int                         `json:"hookedFunctions"`
	TracePatterns   []string                    `json:"tracePatterns"`
	Sampling        []collector.SampledFunction `json:"sampling"` // functions of which few calls are recorded now
	Watches         []string                    `json:"watches"`
	Breakpoints     []string                    `json:"breakpoints"`
	Logpoints       []string                    `json:"logpoints"`
	PausedThreads   []PausedRow                 `json:"pausedThreads"`
	CrashInfo       *crash.Short                `json:"crashInfo,omitempty"`
	Capabilities    *collector.Capabilities     `json:"capabilities,omitempty"`
	// stopped with kill false: the program was let go
	Released        bool                  `json:"released,omitempty"`
	StoreError      string                `json:"storeError,omitempty"` // recording ended early: why
	Threads         []collector.ThreadRow `json:"threads,omitempty"`    // when asked for; instead of capabilities
	ThreadCount     int                   `json:"threadCount,omitempty"`
	ThreadsNotShown int                   `json:"threadsNotShown,omitempty"` // for their number
	Deadlocks       []collector.Deadlock  `json:"deadlocks,omitempty"`
	// when asked for; instead of capabilities
	Locks    *collector.LockReport `json:"locks,omitempty"`
	Natvis   []string              `json:"natvis,omitempty"`
	Warnings []string              `json:"warnings,omitempty"`
}

// StopResult is the answer of action stop.
type StopResult struct {
	Success         bool     `json:"success"`
	SessionID       string   `json:"sessionId"`
	Status          string   `json:"status"`
	ExitCode        *int     `json:"exitCode,omitempty"`
	Signal          string   `json:"signal,omitempty"`
	EventsCollected int64    `json:"eventsCollected"`
	Retained        bool     `json:"retained"`
	Asked           string   `json:"asked,omitempty"`    // the signal that the program was asked to end with
	Killed          bool     `json:"killed,omitempty"`   // it had not ended in graceMs, or graceMs was 0
	Released        bool     `json:"released,omitempty"` // the program runs on, unhooked
	Hint            string   `json:"hint,omitempty"`
	Warnings        []string `json:"warnings,omitempty"`
}

// ListResult is the answer of action list: every session, newest first.
type ListResult struct {
	Sessions  []ListRow `json:"sessions"`
	TotalSize int64     `json:"totalSize"` // bytes
	// for their age or the space they took, in the last 7 days, newest first, at most 20
	Deleted  []Deleted `json:"deleted,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// ListRow is one session of a list.
type ListRow struct {
	SessionID   string `json:"sessionId"`
	Name        string `json:"name,omitempty"`
	Command     string `json:"command"`
	PID         int    `json:"pid"`
	ProjectRoot string `json:"projectRoot"`
	StartedAt   string `json:"startedAt"`         // RFC 3339, local
	EndedAt     string `json:"endedAt,omitempty"` // absent: runs
	Status      string `json:"status"`
	Retained    bool   `json:"retained"`
	Released    bool   `json:"released,omitempty"`
	SizeBytes   int64  `json:"sizeBytes"`
	EventCount  int64  `json:"eventCount"`
}

// Deleted is a session that was deleted without being asked for it.
type Deleted struct {
	SessionID string `json:"sessionId"`
	DeletedAt string `json:"deletedAt"` // RFC 3339, local
	Reason    string `json:"reason"`
	SizeBytes int64  `json:"sizeBytes"`
}

// maxDeleted is how many deletions a list names.
const maxDeleted = 20

// DeleteResult is the answer of action delete.
type DeleteResult struct {
	Success          bool   `json:"success"`
	DeletedSessionID string `json:"deletedSessionId"`
}

// ImportResult is the answer of action import.
type ImportResult struct {
	Success    bool   `json:"success"`
	SessionID  string `json:"sessionId"` // that it has here
	Command    string `json:"command"`
	Status     string `json:"status"`
	SizeBytes  int64  `json:"sizeBytes"`
	EventCount int64  `json:"eventCount"`
}

// InputResult is the answer of action input.
type InputResult struct {
	Success bool   `json:"success"`
	Bytes   int    `json:"bytes"`          // that the program's stdin took
	Hint    string `json:"hint,omitempty"` // when it did not take all
}

// SignalResult is the answer of action signal.
type SignalResult struct {
	Success bool `json:"success"`
	Stopped bool `json:"stopped,omitempty"` // by job control, of SIGTSTP and SIGSTOP
}

// defaultGrace is how long a program may take to end, in milliseconds.
const defaultGrace = 2000

// signals are those that action signal sends; askSignals those that a stop asks with.
var (
	askSignals = []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGKILL"}
	signals    = append(slices.Clone(askSignals), "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGWINCH", "SIGALRM")
)

var sessionOp = Op{
	Name: "debug_session",
	Summary: "One session's status; stop it (ends the program, deletes its data unless retain); list all; delete an " +
		"ended one; send input to stdin or a signal; import a session's file.",
	Doc: "Sessions belong to the user, not to a connection: any client sees all of them. A session whose program ended " +
		"stays readable until it is stopped or deleted. " +
		"Ended sessions are deleted 7 days after their end, and when all take over 10 GB the one that ended first goes " +
		"first (settings storage.retainDays, storage.maxBytes); " +
		"list says which in deleted. " +
		"Status with threads looks at every thread of a running program without its notice: what it waits for (a lock with " +
		"its name and owner, a thread to join, a file, a child), or on which word of memory it spins, and where in the " +
		"program's own code. " +
		"Threads that do the same share a row with count. Circles of waits in which nothing moved for 50 ms are in " +
		"deadlocks; probable is set where an owner had to be inferred. " +
		"Status with locks tells locks that threads take in a circle, which will deadlock when they meet, and who waited " +
		"for which lock how long; recorded from the first asking on, or from the launch with trace @locks. " +
		"Stop takes breakpoints away, sends signal to all of the program's processes, lets paused threads go on, and kills " +
		"what has not ended after graceMs: asked and killed say which it was. " +
		"Action signal reaches the program's process group, as Ctrl-C would; paused threads go on, so that a " +
		"handler can run. " +
		"After stop with kill false its status is exited, with released true and no exit code: the session is over, the " +
		"program runs on.",
	Destructive: true,
	Params:      reflect.TypeFor[SessionParams](),
	Results: []reflect.Type{
		reflect.TypeFor[StatusResult](), reflect.TypeFor[StopResult](), reflect.TypeFor[ListResult](),
		reflect.TypeFor[DeleteResult](), reflect.TypeFor[InputResult](), reflect.TypeFor[SignalResult](),
		reflect.TypeFor[ImportResult](),
	},
	Fields: []Field{{Name: "action", Required: true,
		Enum: []string{"status", "stop", "list", "delete", "input", "signal", "import"}}, {Name: "text", Empty: true},
		{Name: "signal", Enum: signals}, {Name: "graceMs", Max: 60000, Default: defaultGrace}, maxTokensField},
	run: typed(sessionAction),
}

// inputMax bounds how long action input waits for a program that does not read. A variable for tests.
var inputMax = 10 * time.Second

func sessionAction(ctx context.Context, s *Service, p *SessionParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	switch p.Action {
	case "list":
		return listSessions(ctx, s)
	case "delete":
		if err := s.sessions.Delete(ctx, p.SessionID); err != nil {
			return nil, err
		}
		return &DeleteResult{Success: true, DeletedSessionID: p.SessionID}, nil
	case "import":
		i, err := s.sessions.Import(ctx, p.Path)
		if err != nil {
			return nil, err
		}
		return &ImportResult{Success: true, SessionID: i.ID, Command: i.Command, Status: i.Status, SizeBytes: i.SizeBytes,
			EventCount: i.EventCount}, nil
	case "stop":
		return stopSession(ctx, s, p)
	case "input":
		text, err := p.input()
		if err != nil {
			return nil, err
		}
		sess, err := s.sessions.Get(ctx, p.SessionID)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, inputMax)
		defer cancel()
		if columns, rows, err := terminalSize(p.Size); err != nil || p.Size != "" {
			if err == nil {
				err = sess.Resize(columns, rows)
			}
			if err != nil || text == "" && !p.EOF {
				return &InputResult{Success: err == nil}, err
			}
		}
		n, err := sess.Input(ctx, text, p.EOF)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &InputResult{Bytes: n, Hint: "The program does not read; send the rest later."}, nil
		}
		if err != nil {
			return nil, err
		}
		return &InputResult{Success: true, Bytes: n}, nil
	}
	if p.Action == "signal" {
		sess, err := s.sessions.Get(ctx, p.SessionID)
		if err != nil {
			return nil, err
		}
		stopped, err := sess.Signal(ctx, p.Signal)
		return &SignalResult{Success: err == nil, Stopped: stopped}, err
	}
	return sessionStatus(ctx, s, p)
}

// check refuses fields that the action would ignore.
func (p *SessionParams) check() error {
	if (p.Action == "import") != (p.Path != "") || p.Action == "import" && p.SessionID != "" {
		return invalid("Give import a path and no sessionId: it gets one.", "path belongs to action import, and it needs one")
	}
	if p.Action != "list" && p.Action != "import" && p.SessionID == "" {
		return invalid("debug_session list shows the ids.", "sessionId is required for action %s", p.Action)
	}
	if p.Action != "stop" && (p.Retain || p.Kill != nil) {
		return invalid("Leave them out.", "retain and kill belong to action stop")
	}
	if p.Signal != "" && p.Action != "stop" && p.Action != "signal" || p.GraceMs != nil && p.Action != "stop" {
		return invalid("Leave them out.", "signal belongs to actions signal and stop, graceMs to stop")
	}
	if p.Action == "signal" && p.Signal == "" {
		return invalid("Give signal, for example SIGINT.", "signal is required for action signal")
	}
	if p.Action == "stop" && p.Signal != "" && !slices.Contains(askSignals, p.Signal) {
		return invalid("Allowed: "+strings.Join(askSignals, ", ")+".", "signal = %q does not ask for an end", p.Signal)
	}
	if p.Kill != nil && !*p.Kill && (p.Signal != "" || p.GraceMs != nil) {
		return invalid("Leave them out, or kill.", "signal and graceMs are for a program that is to end, and kill is false")
	}
	if p.Action != "status" && (p.Threads || p.Locks) {
		return invalid("Leave them out.", "threads and locks belong to action status")
	}
	if p.Action != "input" && (p.Text != "" || p.Base64 != "" || p.EOF || p.Size != "") {
		return invalid("Leave them out.", "text, base64, eof and terminalSize belong to action input")
	}
	if p.Action == "input" && p.Text == "" && p.Base64 == "" && !p.EOF && p.Size == "" {
		return invalid("Give text, base64, or eof to close stdin.", "action input has nothing to send")
	}
	return nil
}

// terminalSize reads 120x40.
func terminalSize(s string) (columns, rows int, err error) {
	if s == "" {
		return 0, 0, nil
	}
	c, r, _ := strings.Cut(s, "x")
	columns, errC := strconv.Atoi(c)
	rows, errR := strconv.Atoi(r)
	if errC != nil || errR != nil || min(columns, rows) < 1 || max(columns, rows) > math.MaxUint16 {
		return 0, 0, invalid(`Write columns x rows, each 1 to 65535: "120x40".`, "terminalSize %q is no size", s)
	}
	return columns, rows, nil
}

// input returns the bytes that action input sends.
func (p *SessionParams) input() (string, error) {
	if p.Base64 == "" {
		return p.Text, nil
	}
	if p.Text != "" {
		return "", invalid("Send one after the other.", "text and base64 are both given")
	}
	b, err := base64.StdEncoding.DecodeString(p.Base64)
	if err != nil {
		return "", invalid("Encode it with the standard alphabet and padding, or give text.", "base64: %v", err)
	}
	return string(b), nil
}

func sessionStatus(ctx context.Context, s *Service, p *SessionParams) (*StatusResult, error) {
	id := p.SessionID
	sess, err := s.sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	st, err := sess.State(ctx)
	if err != nil {
		return nil, err
	}
	r := &StatusResult{
		SessionID: id, Status: string(st.Status), ExitCode: st.ExitCode, Signal: st.Signal, PID: st.PID, PIDs: st.PIDs,
		Runtime: st.Runtime, EventCount: st.Events, EventsEvicted: st.Evicted, DroppedEvents: st.Dropped,
		HookedFunctions: st.Trace.Hooked, TracePatterns: session.Patterns(st.Tracing.Probes),
		Sampling: append([]collector.SampledFunction{}, st.Trace.Sampled...), Watches: st.Tracing.Labels(),
		Breakpoints: []string{}, Logpoints: []string{}, PausedThreads: pausedRows(st.Pauses), Capabilities: st.Caps,
		Warnings: slices.Concat(st.Warnings, st.Trace.Warnings, hasNotRun(st)), Natvis: st.Trace.Natvis,
		Released: st.Released, Redacted: sess.Redacted(),
	}
	if st.Crash != nil {
		r.CrashInfo = st.Crash.Short()
	}
	if st.Calls.Made > 0 {
		r.Calls = &st.Calls
	}
	for i := range st.Points {
		if p := &st.Points[i]; p.Message != "" {
			r.Logpoints = append(r.Logpoints, p.ID+" "+pointPlace(p))
		} else {
			row := p.ID + " " + pointPlace(p)
			if f := forcesOf(p); f != "" { // who reads the program's results has to know
				row += ": forced, " + f
			}
			r.Breakpoints = append(r.Breakpoints, row)
		}
	}
	if r.Released {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"process %d was let go at the stop: what it does since then is not observed", st.PID))
	}
	if st.StoreError != nil {
		r.StoreError = fault.From(st.StoreError).Error()
	}
	if st.Caps != nil && st.Caps.Runtime != "" {
		r.Runtime = st.Caps.Runtime
	}
	if p.Locks {
		if err := addLocks(ctx, sess, r); err != nil {
			return nil, err
		}
	}
	if p.Threads {
		return r, addThreads(ctx, sess, r)
	}
	return r, nil
}

func stopSession(ctx context.Context, s *Service, p *SessionParams) (*StopResult, error) {
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	kill := !sess.Attached()
	if p.Kill != nil {
		kill = *p.Kill
	}
	grace := defaultGrace * time.Millisecond
	if p.GraceMs != nil {
		grace = time.Duration(*p.GraceMs) * time.Millisecond
	}
	res, err := s.sessions.Stop(ctx, p.SessionID,
		session.StopOptions{Kill: kill, Retain: p.Retain, Signal: p.Signal, Grace: grace})
	if err != nil {
		return nil, err
	}
	r := &StopResult{
		Success: true, SessionID: p.SessionID, Status: string(res.Status), ExitCode: res.ExitCode, Signal: res.Signal,
		EventsCollected: res.Events, Retained: res.Retained, Asked: res.Asked, Killed: res.Killed, Released: res.Released,
		Warnings: res.Warnings,
	}
	if r.Killed && r.Asked != "" {
		r.Hint = fmt.Sprintf("It had not ended %v after %s and was killed.", grace, r.Asked)
	}
	if r.Released {
		r.Hint = fmt.Sprintf("Process %d runs on, unhooked and no longer observed; the session is over.", res.PID)
	}
	return r, nil
}

func listSessions(ctx context.Context, s *Service) (*ListResult, error) {
	infos, err := s.sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	_, warnings := s.settings.Load("")
	r := &ListResult{Sessions: make([]ListRow, 0, len(infos)), Warnings: warnings}
	purges, err := s.sessions.Purges(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range purges {
		if len(r.Deleted) < maxDeleted && time.Since(time.Unix(0, p.At)) < session.PurgesShown {
			r.Deleted = append(r.Deleted, Deleted{SessionID: p.ID, DeletedAt: wallTime(p.At), Reason: p.Reason,
				SizeBytes: p.SizeBytes})
		}
	}
	for _, i := range infos {
		r.TotalSize += i.SizeBytes
		r.Sessions = append(r.Sessions, ListRow{
			SessionID: i.ID, Name: i.Name, Command: i.Command, PID: i.PID, ProjectRoot: i.ProjectRoot,
			StartedAt: wallTime(i.StartedAt), EndedAt: wallTime(i.EndedAt), Status: i.Status, Retained: i.Retained,
			Released:  i.Released,
			SizeBytes: i.SizeBytes, EventCount: i.EventCount,
		})
	}
	return r, nil
}

// wallTime renders Unix nanoseconds for a reader; 0 is absent.
func wallTime(ns int64) string {
	if ns == 0 {
		return ""
	}
	return time.Unix(0, ns).Format(time.RFC3339)
}
