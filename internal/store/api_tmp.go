package store

import (
	"context"
	"errors"

	"github.com/strobe-debug/strobe/internal/event"
)

var errSoon = errors.New("not in place yet")

// Store is one session's events. Safe for concurrent use.
type Store struct{}

// Create makes the file at path and starts recording.
func Create(path string, m Meta, o Options) (*Store, error) { return nil, errSoon }

// Open opens a recorded session for reading.
func Open(path string) (*Store, error) { return nil, errSoon }

func (s *Store) Function(f event.Function) event.FuncID           { return 0 }
func (s *Store) Thread(t event.Thread) event.ThreadID             { return 0 }
func (s *Store) SetThreadName(id event.ThreadID, name string)     {}
func (s *Store) Put(batch []event.Event) error                    { return errSoon }
func (s *Store) Flush(ctx context.Context) error                  { return errSoon }
func (s *Store) SetMaxEvents(n int64)                             {}
func (s *Store) Stats() Stats                                     { return Stats{} }
func (s *Store) FuncStats() []FuncStat                            { return nil }
func (s *Store) Meta() Meta                                       { return Meta{} }
func (s *Store) Result() Result                                   { return Result{} }
func (s *Store) SetResult(r Result) error                         { return errSoon }
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error)  { return nil, errSoon }
func (s *Store) Changed() <-chan struct{}                         { return nil }
func (s *Store) Wait(ctx context.Context, afterID event.ID) error { return errSoon }
func (s *Store) Close() error                                     { return errSoon }

// FuncStat is what one function did over the whole session, evicted calls included.
type FuncStat struct {
	Func    event.FuncID
	Calls   int64 // enters
	Exits   int64
	Unwound int64 // exits with event.Unwound
	Errors  int64 // exits with event.Unwound that were not lost: left by an exception
	TotalNs int64
	SelfNs  int64
	MinNs   int64
	MaxNs   int64
}

// Quantile returns the duration that a share q (0..1) of the calls does not exceed, within 10 %.
func (f *FuncStat) Quantile(q float64) int64 { return 0 }

// Snapshot is a consistent view of everything committed when it was taken. Safe for concurrent
// use until Close.
type Snapshot struct{}

func (sn *Snapshot) Close()                                             {}
func (sn *Snapshot) Count(ctx context.Context, f Filter) (int64, error) { return 0, errSoon }
func (sn *Snapshot) Scan(ctx context.Context, f Filter, opt ScanOptions, fn func(*Row) bool) error {
	return errSoon
}
func (sn *Snapshot) Rows(ctx context.Context, ids []event.ID) ([]Row, error) { return nil, errSoon }
func (sn *Snapshot) Functions() []event.Function                             { return nil }
func (sn *Snapshot) Threads() []event.Thread                                 { return nil }
func (sn *Snapshot) LastTS() int64                                           { return 0 }
func (sn *Snapshot) LastID() event.ID                                        { return 0 }
func (sn *Snapshot) FirstCallID() event.ID                                   { return 0 }

// Check verifies the file at path and returns what is wrong with it.
func Check(ctx context.Context, path string) ([]string, error) { return nil, errSoon }
