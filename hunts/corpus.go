package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// program is where a program comes from and how it is built.
type program struct {
	dir      string   // its folder in the corpus
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Registry string   `json:"registry"` // debian, crates.io, go, pypi, or local: a folder
	Package  string   `json:"package"`
	Version  string   `json:"version"`
	Lines    int      `json:"lines"`
	Build    []string `json:"build"`           // shell commands in the source; repeated after a patch
	Command  []string `json:"command"`         // in the source; {input} is the input's path
	Stdin    bool     `json:"stdin,omitempty"` // the input is given there
}

// bug is one that was put into a program.
type bug struct {
	program *program
	dir     string
	Name    string `json:"-"`
	// Kind is in a few words why reading does not find it.
	Kind string `json:"kind"`
	// What was changed, and how that comes to be seen.
	What string `json:"what"`
	// Culprits are the function that was changed and, where named with its reason in What, its direct caller or callee.
	Culprits []string `json:"culprits"`
	Args     []string `json:"args,omitempty"` // behind the program's
	Pass     string   `json:"pass"`           // files beside bug.json
	Fail     string   `json:"fail"`
}

func (b *bug) id() string { return b.program.Name + "/" + b.Name }

// input is the absolute path of one of a bug's files.
func (b *bug) input(name string) string { return filepath.Join(b.dir, name) }

// loadCorpus reads all bugs, and refuses what is not well-formed.
func loadCorpus(dir string) ([]*bug, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	programs, err := filepath.Glob(filepath.Join(dir, "*", "program.json"))
	if err != nil {
		return nil, err
	}
	var all []*bug
	for _, path := range programs {
		p := &program{dir: filepath.Dir(path)}
		if err := readJSON(path, p); err != nil {
			return nil, err
		}
		if p.Name != filepath.Base(filepath.Dir(path)) || p.Package == "" || p.Version == "" || len(p.Command) == 0 {
			return nil, fmt.Errorf("%s: name, package, version or command is missing or another", path)
		}
		bugs, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*", "bug.json"))
		if err != nil {
			return nil, err
		}
		for _, path := range bugs {
			b := &bug{program: p, dir: filepath.Dir(path), Name: filepath.Base(filepath.Dir(path))}
			if err := readJSON(path, b); err != nil {
				return nil, err
			}
			if err := b.complete(); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, b)
		}
	}
	return all, nil
}

// complete tests that a bug has all that it needs.
func (b *bug) complete() error {
	if b.Kind == "" || b.What == "" || len(b.Culprits) == 0 || len(b.Culprits) > 2 {
		return fmt.Errorf("kind, what and one or two culprits are wanted")
	}
	for _, name := range []string{"bug.patch", b.Pass, b.Fail} {
		info, err := os.Stat(b.input(name))
		if err != nil {
			return err
		}
		if info.Size() == 0 || info.Size() > 64<<10 {
			return fmt.Errorf("%s has %d bytes", name, info.Size())
		}
	}
	return nil
}

// readJSON decodes a file whose members are all known.
func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
