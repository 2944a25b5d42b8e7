package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

// maxStreams is how many ids there are.
const maxStreams = math.MaxUint16 + 1

// Stream registers a stream and returns its ID; the same one again has the same. It fails where a session has so many
// that there is no ID left.
func (s *Store) Stream(st event.Stream) (event.StreamID, error) {
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	if i := slices.Index(s.streams, st); i >= 0 {
		return event.StreamID(i), nil
	}
	if len(s.streams) >= maxStreams {
		return 0, fmt.Errorf("register stream %s of %s: the session has %d streams already", st.Name, st.Channel,
			len(s.streams))
	}
	s.setStreams(append(s.streams, st))
	return event.StreamID(len(s.streams) - 1), nil
}

func (s *Store) setStreams(all []event.Stream) {
	s.streams = all
	s.nStreams.Store(uint32(len(all)))
}

// loadStreams reads the streams. Those that every session has are there whatever the file says.
func (s *Store) loadStreams(ctx context.Context, c *sql.Conn) error {
	all := event.Stdio()
	err := query(ctx, c, "SELECT id, channel, name, media, direction FROM streams ORDER BY id",
		func(rows *sql.Rows) error {
			var id int
			var st event.Stream
			if err := rows.Scan(&id, &st.Channel, &st.Name, &st.Media, &st.Direction); err != nil {
				return err
			}
			switch {
			case id >= 0 && id < len(event.Stdio()):
				return nil
			case id != len(all) || id >= maxStreams:
				return errDamaged
			}
			all = append(all, st)
			return nil
		})
	s.setStreams(all)
	return err
}
