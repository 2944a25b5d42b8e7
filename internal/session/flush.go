package session

import (
	"context"
	"errors"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// Bounds of a query's flush.
const (
	// flushMax bounds all of it where the client does not want to wait: it is told what is still to come.
	flushMax = 1200 * time.Millisecond
	// laidTries is how often records are looked for again at once of bytes that are there, when somebody asks: a thread
	// may stand between its write and the record of it. laidWithin bounds the time of that, laidEvery is the pause when
	// it is done later.
	laidTries  = 3
	laidWithin = int64(time.Second)
	laidEvery  = 2 * time.Millisecond
)

// Flush makes everything that happened before the call readable. Where that takes too long it
// returns an error, and what is there so far can be read.
func (s *Session) Flush(ctx context.Context) error { return s.FlushWithin(ctx, 0) }

// FlushWithin is Flush for a client that would wait so long for all to be there.
func (s *Session) FlushWithin(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, max(wait, flushMax))
	defer cancel()
	var errs []error
	began := s.Now()
	if s.channels != nil {
		s.channels.Flush(ctx)
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Flush(ctx))
	}
	if s.col != nil {
		errs = append(errs, s.col.Flush(ctx))
		// its record is a moment behind it
		for n := 0; s.sink != nil && s.sink.awaitsRecords(began, n) && ctx.Err() == nil; n++ {
			if n >= laidTries {
				time.Sleep(laidEvery)
			}
			errs = append(errs, s.col.Flush(ctx))
		}
	}
	if s.sink != nil {
		s.sink.names.look(time.Duration(s.sink.Now()), true)
		if errors.Join(errs...) == nil { // else the calls that belong before what was written are still to come
			s.sink.flushUntil(began)
		}
		errs = append(errs, s.st.Flush(ctx))
	}
	return errors.Join(errs...)
}

// Busy reports whether the target records faster than is decoded, and a Flush takes a CPU that it wants.
func (s *Session) Busy() bool {
	b, ok := s.col.(collector.Burster)
	return ok && b.Bursting()
}
