package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// Bounds of the steps of a stop. A step that does not end in time is reported and the next one begins.
const (
	stopTargetMax = 5 * time.Second
	// until the program is ended or let go and what it recorded is decoded; collectors bound the former
	stopDecodeMax = time.Minute
	stopDrainMax  = 3 * time.Second
	stopUsersMax  = 3 * time.Second
	stopStoreMax  = 5 * time.Second
)

// StopOptions say how to stop.
type StopOptions struct {
	Kill   bool // end the program; else it runs on, unhooked
	Retain bool // keep the data, marked as retained
	Keep   bool // keep the data as it is: the daemon ends, not the user's interest

	Interrupted bool // with Keep: the daemon has died

	By string // who stops it; "": the caller of the context

	Signal string        // with Kill: what the program is asked with first; "": SIGTERM
	Grace  time.Duration // and how long it may take then; 0: it is killed at once
}

// StopResult says what a stop found.
type StopResult struct {
	Info
	Status   Status
	Events   int64  // recorded in all
	Asked    string // the signal that it was asked with; "": it had ended, or was killed at once
	Killed   bool   // what was there was killed
	Warnings []string
}

// stopCall is a stop under way or done, shared by all who ask for it.
type stopCall struct {
	done chan struct{}
	now  chan struct{} // closed when somebody does not want to wait until the program has ended by itself
	once sync.Once     // of now
	res  *StopResult
	err  error
}

// Stop ends a session: the program (Kill) or only its observation, then the recording, then the
// data unless it is retained. A second stop while one is under way shares its result.
func (m *Manager) Stop(ctx context.Context, id string, o StopOptions) (*StopResult, error) {
	for {
		s, err := m.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		res, err := m.stop(ctx, s, o)
		if !errors.Is(err, errIdle) {
			return res, err
		}
	}
}

// errIdle: nobody used the session, and its store was closed just now. Get opens it again.
var errIdle = errors.New("the session is being closed")

func (m *Manager) stop(ctx context.Context, s *Session, o StopOptions) (*StopResult, error) {
	o.By = cmp.Or(o.By, caller(ctx))
	s.mu.Lock()
	call := s.stop
	if call == nil && s.closing {
		s.mu.Unlock()
		return nil, errIdle
	}
	if call == nil {
		call = &stopCall{done: make(chan struct{}), now: make(chan struct{})}
		s.stop = call
		m.wg.Go(func() { // runs to its end even if the client goes
			call.res, call.err = s.runStop(o, call.now)
			close(call.done)
		})
	}
	s.mu.Unlock()
	if o.Kill && o.Grace == 0 {
		call.once.Do(func() { close(call.now) })
	}
	select {
	case <-call.done:
		return call.res, call.err
	case <-ctx.Done():
		return nil, fmt.Errorf("stop session %s: it goes on: %w", s.ID, ctx.Err())
	}
}

// bounded runs one step of a stop. A step that outlasts its bound goes on by itself; its error is returned.
func bounded(what string, limit time.Duration, step func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	done := make(chan error, 1)
	go func() { done <- step(ctx); cancel() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-time.After(limit + time.Second): // the step has had its context's end and a second to heed it
		return fmt.Errorf("%s: not done within %v", what, limit)
	}
}

func (s *Session) runStop(o StopOptions, now <-chan struct{}) (*StopResult, error) {
	var asked, ended bool
	if s.sink != nil && o.Kill && s.Live() {
		s.sink.changes.ends(o.By)
	}
	if o.Kill && o.Grace > 0 { // while the session still is what it was: what the program does at its end is recorded
		asked, ended = s.ask(cmp.Or(o.Signal, "SIGTERM"), o.Grace, now)
	}
	killed := o.Kill && !ended && s.col != nil && len(s.col.PIDs()) > 0
	close(s.stopping)
	var errs []error
	step := func(what string, limit time.Duration, f func(ctx context.Context) error) {
		if err := bounded(what, limit, f); err != nil {
			s.log.Warn("stop", "err", err)
			errs = append(errs, err)
		}
	}
	if s.col != nil {
		s.keep() // what a stop takes away is what was there
		s.stopTarget(o, step)
	}
	if !o.Kill && s.display != nil {
		s.display.Leave() // the program lives on, and needs it
	} else {
		s.closeDisplay()
	}
	step("end the session's goroutine", stopStoreMax, func(ctx context.Context) error {
		select {
		case <-s.watched:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s.closeChannels()
	if s.sink != nil {
		s.sink.close()
	}
	s.mu.Lock()
	if s.status == Running || s.status == Paused {
		s.status = Exited
		s.meta.EndedAt = time.Now().UnixNano()
		if s.meta.Released = !o.Kill && s.col != nil; o.Interrupted {
			s.status, s.meta.Released, s.meta.Retained = Interrupted, false, true
		}
	}
	s.meta.Retained = s.meta.Retained || o.Retain
	s.mu.Unlock()
	if s.sink != nil || o.Retain {
		step("save session", stopStoreMax, s.save)
	}
	stats := s.st.Stats()
	res := &StopResult{Events: stats.Total(), Info: s.info(), Killed: killed}
	if asked {
		res.Asked = cmp.Or(o.Signal, "SIGTERM")
	}
	s.mu.Lock()
	res.Status = s.status
	s.mu.Unlock()
	s.stoppedBy(o.By, res.Status)
	s.beginClose(false)
	step("end queries", stopUsersMax, s.waitUnused)
	s.closeCore()
	step("close store", stopStoreMax, func(context.Context) error { return s.st.Close() })
	defer s.unlocked()
	var err error
	if !o.Retain && !o.Keep {
		err = s.m.remove(context.Background(), s.ID)
	}
	s.m.mu.Lock()
	delete(s.m.sessions, s.ID)
	s.m.mu.Unlock()
	s.m.lookSoon()
	for _, e := range errs {
		res.Warnings = append(res.Warnings, e.Error())
	}
	return res, err
}

// stopTarget ends the program or lets go of it, and takes its last output.
func (s *Session) stopTarget(o StopOptions, step func(string, time.Duration, func(context.Context) error)) {
	if d, ok := s.col.(collector.Discarder); ok && o.Kill && !o.Retain && !o.Keep {
		d.Discard()
	}
	step("stop program", stopDecodeMax, func(ctx context.Context) error { return s.col.Stop(ctx, o.Kill) })
	if o.Kill || !s.Live() {
		step("wait for the program's end", stopTargetMax, func(ctx context.Context) error {
			select {
			case <-s.col.Exited():
				s.noteExit()
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	if s.conn == nil {
		return
	}
	step("read the last output", stopDrainMax, func(ctx context.Context) error {
		err := s.conn.Flush(ctx)
		if o.Kill && err == nil {
			s.conn.Settle(ctx, 20*time.Millisecond)
		}
		return err
	})
	step("close channel", stopDrainMax, func(context.Context) error {
		if s.Live() { // not killed: it must not notice that nobody reads any more
			return s.m.detachChannel(s.conn)
		}
		return s.m.closeChannel(s.conn)
	})
}

// Over is closed when the program that the session launched has ended, and what it wrote is recorded.
func (s *Session) Over() <-chan struct{} { return s.over }

// unlocked gives up the hold of the session's file: it is closed.
func (s *Session) unlocked() {
	if s.unlock != nil {
		s.unlock()
	}
}
