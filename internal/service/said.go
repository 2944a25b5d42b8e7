package service

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// said remembers what clients were told of sessions, so that an answer does not tell it again at length: each word is
// paid for by a model, and stays in its conversation. The command line's reader is a person with a new screen each
// time.
type said struct {
	mu   sync.Mutex
	told map[string]time.Time // by client, session and what
}

const (
	saidFor  = 30 * time.Minute // after that it may be another conversation
	saidMost = 10_000           // entries; beyond, all is said again
)

// personName is how the command line calls itself.
const personName = "strobe-cli"

// once reports whether a client is told something of a session for the first time.
func (s *said) once(ctx context.Context, session, what string) bool {
	name := clientOf(ctx).Name
	if name == "" || name == personName {
		return true
	}
	key := fmt.Sprintf("%s\x00%s\x00%s", name, session, what)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.told[key]; ok && now.Sub(at) < saidFor {
		return false
	}
	if s.told == nil || len(s.told) >= saidMost {
		s.told = map[string]time.Time{}
	}
	s.told[key] = now
	return true
}

// forget is for a session that has the name of one that is gone.
func (s *said) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.told, func(key string, _ time.Time) bool { return strings.Contains(key, "\x00"+session+"\x00") })
}

// fresh returns those of list that a client is told for the first time, and how many it was told before.
func (s *said) fresh(ctx context.Context, session string, list []string) (fresh []string, again int) {
	fresh = make([]string, 0, len(list))
	for _, w := range list {
		if s.once(ctx, session, w) {
			fresh = append(fresh, w)
		} else {
			again++
		}
	}
	return fresh, again
}
