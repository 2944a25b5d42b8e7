package store

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// DefaultMaxEvents is how many call events a session keeps unless told otherwise.
const DefaultMaxEvents = 10_000_000

// DefaultMaxBytes is how many bytes a session's calls take unless told otherwise.
const DefaultMaxBytes = 1 << 30

// Options tune a store that is being written.
type Options struct {
	MaxEvents     int64         // call events kept, within one block; 0: DefaultMaxEvents
	MaxBytes      int64         // of blocks of calls, within one; 0: DefaultMaxBytes
	Logger        *slog.Logger  // nil: no log
	FlushInterval time.Duration // between commits; 0: adaptive, 5 ms under load, at most 50 ms

	// Room is asked before a commit of events, up to 200 times per second; nil: there always is. Its error holds them
	// back and refuses more, as a full disk does, until it returns nil. The end of a recording is written without
	// asking.
	Room func() error
}

// Meta says what was recorded. It is written when the file is made and never changes.
type Meta struct {
	SessionID   string   `json:"sessionId"`
	Command     string   `json:"command"`
	Args        []string `json:"args,omitempty"`
	ProjectRoot string   `json:"projectRoot,omitempty"`
	Cwd         string   `json:"cwd,omitempty"`
	PID         int      `json:"pid,omitempty"`
	StartedAt   int64    `json:"startedAt"`           // unix nanoseconds
	StartMono   int64    `json:"startMono,omitempty"` // CLOCK_MONOTONIC nanoseconds
	Version     string   `json:"version,omitempty"`   // of strobe
	Core        *Core    `json:"core,omitempty"`      // as SessionInfo.Core

	// Among recordings of other programs, machines and times. "": not known, as in older files.
	Service string `json:"service,omitempty"` // by the setting; "": the program's name
	Commit  string `json:"commit,omitempty"`  // of the project's repository, with + where files differed from it
	Host    string `json:"host,omitempty"`
	BootID  string `json:"bootId,omitempty"` // sessions that have the same one have one clock: StartMono
}

// Core is where a session of a core file comes from, and what was said when it was opened.
type Core struct {
	Path     string   `json:"path"`
	Symbols  string   `json:"symbols,omitempty"` // file or directory with debug information, given with it
	Detail   string   `json:"detail,omitempty"`  // of what, when and by whom it was written
	Warnings []string `json:"warnings,omitempty"`
}

// Result says how a recording ended.
type Result struct {
	Status      string `json:"status,omitempty"` // exited, crashed, stopped, …: the session's word
	ExitCode    *int   `json:"exitCode,omitempty"`
	Signal      string `json:"signal,omitempty"`   // e.g. SIGSEGV
	EndedAt     int64  `json:"endedAt,omitempty"`  // unix nanoseconds; 0 while recording
	Dropped     int64  `json:"dropped,omitempty"`  // call events lost before they reached the store
	Redacted    int64  `json:"redacted,omitempty"` // values left out as secrets
	Interrupted bool   `json:"interrupted,omitempty"`

	Observed json.RawMessage `json:"observed,omitempty"` // what was traced, in the session's own form
}

// Stats are a store's counts.
type Stats struct {
	Events    [event.NumKinds]int64 // ever stored, by kind
	Kept      int64                 // call events that can be read
	Evicted   int64                 // call events dropped by the limit
	FirstID   event.ID              // oldest call event kept, 0 if none
	LastID    event.ID
	LastTS    int64
	SizeBytes int64 // of the file and its write-ahead log
}

// Total returns the number of events ever stored.
func (s Stats) Total() int64 {
	var n int64
	for _, c := range s.Events {
		n += c
	}
	return n
}

// Filter selects events. The zero value selects all.
type Filter struct {
	FromID, ToID   event.ID // inclusive, 0: open
	FromTS, ToTS   int64    // inclusive; ToTS 0: open
	BeganTo        int64    // exits of calls that began then or before, other events of then or before; 0: open
	Kinds          uint32   // bit 1<<event.Kind for each wanted kind; 0: all
	Funcs          *Bits    // nil: all; else call events of these functions only
	Threads        *Bits    // nil: all; else events of these threads only
	MinDur, MaxDur int64    // nanoseconds; exits only; 0: none
	RetEq          *int64   // on Ret: only exits with event.HasRet match
	RetMin, RetMax *int64
}

// ScanOptions say how to scan.
type ScanOptions struct {
	Reverse bool // newest first
	Cold    bool // fill Parent, Enter, Depth and Payload

	// Most: fn wants no more rows than so many; 0: any number. Of a block no more are decoded.
	Most int

	// Args: of a filter with Funcs, fill ID, Kind, Flags, Func and Payload alone. Much cheaper than Cold.
	Args bool

	// Payloads: as Cold, but for Parent, Enter and Depth where the filter has Funcs; cheaper. Not with the others.
	Payloads bool

	// Rets: fill ID, Kind, Flags, Func and Ret alone. Not with Cold or Args.
	Rets bool

	// Times: fill ID, Kind, Flags, Func, Thread, TS and Duration alone. Not with the others.
	Times bool
}

// Row is one stored event.
type Row struct {
	ID       event.ID
	TS       int64 // nanoseconds since the session's start
	Duration int64 // exits: nanoseconds since their enter, 0 if that is unknown
	Ret      int64
	Parent   event.ID // enter of the enclosing call, 0: none
	Enter    event.ID // exits: their enter, 0: unknown
	Payload  []byte
	Func     event.FuncID
	Thread   event.ThreadID
	Depth    int32 // open calls around it
	Kind     event.Kind
	Flags    event.Flags
	Stream   event.StreamID // of events that Kind.OfStream says have one; filled with Payload
}
