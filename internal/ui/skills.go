package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// skills are the ways that worked where the usual one did not, by role and name: learned once, used the next time.
type skills struct {
	file string

	mu    sync.Mutex // leaf
	known map[string]string
}

// maxSkills bounds a program's file: names of elements may be anything.
const maxSkills = 500

func loadSkills(dir, program string) *skills {
	s := &skills{known: map[string]string{}}
	if dir == "" || program == "" {
		return s
	}
	s.file = filepath.Join(dir, strings.ReplaceAll(program, string(filepath.Separator), "_")+".json")
	if b, err := os.ReadFile(s.file); err == nil && json.Unmarshal(b, &s.known) != nil {
		s.known = map[string]string{} // damaged: it is learned again
	}
	return s
}

func skillKey(action string, n *Node) string { return action + "|" + string(n.Role) + "|" + n.Name }

func (s *skills) of(action string, n *Node) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[skillKey(action, n)]
}

// learn keeps a way; "" forgets it.
func (s *skills) learn(action string, n *Node, way string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := skillKey(action, n)
	if s.known[key] == way {
		return nil
	}
	if way == "" {
		delete(s.known, key)
	} else if len(s.known) < maxSkills {
		s.known[key] = way
	}
	if s.file == "" {
		return nil
	}
	b, err := json.Marshal(s.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	next := s.file + ".new"
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.file)
}
