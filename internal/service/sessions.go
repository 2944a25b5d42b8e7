package service

import (
	"context"
	"reflect"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// SessionParams are the parameters of debug_session.
type SessionParams struct {
	Action    string `json:"action"`
	SessionID string `json:"sessionId,omitempty" jsonschema:"all but list"`
	Retain    bool   `json:"retain,omitempty" jsonschema:"stop: keep the data"`
	Kill      *bool  `json:"kill,omitempty" jsonschema:"stop: false lets the program run on, unhooked"`
	Text      string `json:"text,omitempty" jsonschema:"input: sent to stdin"`
	EOF       bool   `json:"eof,omitempty" jsonschema:"input: close stdin after text"`
}

// StatusResult is the answer of action status.
type StatusResult struct {
	SessionID       string                  `json:"sessionId"`
	Status          string                  `json:"status"` // running, paused, exited, crashed, interrupted
	ExitCode        *int                    `json:"exitCode,omitempty"`
	Signal          string                  `json:"signal,omitempty"`
	PID             int                     `json:"pid"`
	PIDs            []int                   `json:"pids"`
	Runtime         string                  `json:"runtime"`
	EventCount      map[string]int64        `json:"eventCount"` // by event type, ever recorded
	EventsEvicted   int64                   `json:"eventsEvicted,omitempty"`
	DroppedEvents   int64                   `json:"droppedEvents"`
	HookedFunctions int                     `json:"hookedFunctions"`
	TracePatterns   []string                `json:"tracePatterns"`
	Sampling        []string                `json:"sampling"`
	Watches         []string                `json:"watches"`
	Breakpoints     []string                `json:"breakpoints"`
	Logpoints       []string                `json:"logpoints"`
	PausedThreads   []string                `json:"pausedThreads"`
	CrashInfo       map[string]any          `json:"crashInfo,omitempty"`
	Capabilities    *collector.Capabilities `json:"capabilities,omitempty"`
	StoreError      string                  `json:"storeError,omitempty"` // recording ended early: why
	Warnings        []string                `json:"warnings,omitempty"`
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
	Warnings        []string `json:"warnings,omitempty"`
}

// ListResult is the answer of action list: every session, newest first.
type ListResult struct {
	Sessions  []ListRow `json:"sessions"`
	TotalSize int64     `json:"totalSize"` // bytes
	Warnings  []string  `json:"warnings,omitempty"`
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
	SizeBytes   int64  `json:"sizeBytes"`
	EventCount  int64  `json:"eventCount"`
}

// DeleteResult is the answer of action delete.
type DeleteResult struct {
	Success          bool   `json:"success"`
	DeletedSessionID string `json:"deletedSessionId"`
}

// InputResult is the answer of action input.
type InputResult struct {
	Success bool `json:"success"`
	Bytes   int  `json:"bytes"`
}

var sessionOp = Op{
	Name:        "debug_session",
	Summary:     "One session's status; stop it (ends the program, deletes its data unless retain); list all; delete an ended one; send input to stdin.",
	Doc:         "Sessions belong to the user, not to a connection: any client sees all of them. A session whose program ended stays readable until it is stopped or deleted.",
	Destructive: true,
	Params:      reflect.TypeFor[SessionParams](),
	Results: []reflect.Type{
		reflect.TypeFor[StatusResult](), reflect.TypeFor[StopResult](), reflect.TypeFor[ListResult](),
		reflect.TypeFor[DeleteResult](), reflect.TypeFor[InputResult](),
	},
	Fields: []Field{{Name: "action", Required: true, Enum: []string{"status", "stop", "list", "delete", "input"}}},
	run:    typed(sessionAction),
}

func sessionAction(ctx context.Context, s *Service, p *SessionParams) (any, error) {
	return nil, fault.New(fault.Unsupported, "", "session")
}
