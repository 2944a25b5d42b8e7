package session

import (
	"context"
	"errors"
	"time"
)

// Bounds of a query's flush.
const (
	// flushMax bounds all of it: a client waits for it, and is told what is still to come.
	flushMax = 1200 * time.Millisecond
	// laidTries is how often records are looked for again at once of bytes that are there, when somebody asks: a thread may stand between
	// its write and the record of it. laidWithin bounds the time of that, laidEvery is the pause when it is done later.
	laidTries  = 3
	laidWithin = int64(time.Second)
	laidEvery  = 2 * time.Millisecond
)

// Flush makes everything that happened before the call readable. Where that takes too long it
// returns an error, and what is there so far can be read.
func (s *Session) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushMax)
	defer cancel()
	var errs []error
	began := s.Now()
	if s.conn != nil {
		errs = append(errs, s.conn.Flush(ctx))
	}
	if s.col != nil {
		errs = append(errs, s.col.Flush(ctx))
		for n := 0; s.sink != nil && s.sink.awaitsRecords(began, n) && ctx.Err() == nil; n++ { // its record is a moment behind it
			if n >= laidTries {
				time.Sleep(laidEvery)
			}
			errs = append(errs, s.col.Flush(ctx))
		}
	}
	if s.sink != nil {
		s.sink.names.look(time.Duration(s.sink.Now()), true)
		s.sink.flushUntil(began)
		errs = append(errs, s.st.Flush(ctx))
	}
	return errors.Join(errs...)
}
