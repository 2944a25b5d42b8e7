package pager

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// What a shelf has at most: cursors are followed at once or not at all.
const (
	maxKept      = 200
	maxKeptBytes = 32 << 20
)

// Shelf keeps the rests of answers by their cursors, the newest ones. Its zero value is empty; it is safe for
// concurrent use.
type Shelf struct {
	mu    sync.Mutex // leaf
	name  string     // what its cursors begin with, so that those of another process are not taken for ours
	next  int
	bytes int
	kept  []kept // the oldest first
}

type kept struct {
	cursor string
	rest   *Rest
	bytes  int
}

// Put keeps a rest and returns its cursor.
func (s *Shelf) Put(r *Rest) string {
	size := r.Bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name == "" {
		s.name = strings.ToLower(rand.Text()[:4])
	}
	s.next++
	k := kept{fmt.Sprintf("%s-%d", s.name, s.next), r, size}
	s.kept = append(s.kept, k)
	s.bytes += size
	for len(s.kept) > maxKept || s.bytes > maxKeptBytes && len(s.kept) > 1 {
		s.bytes -= s.kept[0].bytes
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	return k.cursor
}

// Get returns what a cursor leads to, nil where it was not kept for so long, or never was. It can be asked again.
func (s *Shelf) Get(cursor string) *Rest {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if k.cursor == cursor {
			return k.rest
		}
	}
	return nil
}
