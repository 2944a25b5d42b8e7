package hunt

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Hold is one thread held at one instruction.
type Hold struct {
	Address     uint64 `json:"address"` // in the program's file
	Function    string `json:"function"`
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	Instruction string `json:"instruction"`
	Thread      int    `json:"thread"` // by the order in which threads are made, 0 the first
	Hit         int    `json:"hit"`    // the how manieth time that it comes there, from 1; 0: each
	Ms          int    `json:"ms"`

	site *site
}

// Plan is what makes a program fail.
type Plan struct {
	Program string   `json:"program"`
	BuildID string   `json:"buildId,omitempty"`
	Args    []string `json:"args,omitempty"`
	Holds   []Hold   `json:"holds"`
}

// ReadPlan reads a plan that was kept.
func ReadPlan(path string) (*Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("%s is no plan of strobe hunt: %w", path, err)
	}
	if p.Program == "" || len(p.Holds) == 0 {
		return nil, fmt.Errorf("%s is no plan of strobe hunt: it has no program or no holds", path)
	}
	return &p, nil
}

// Program is what is run.
type Program struct {
	Path string // absolute
	Args []string
	Dir  string
	Env  []string
	Root string // of the user's code
}

// Ending is how one run ended.
type Ending struct {
	Code   int    // where Signal is ""
	Signal string // that killed it
	Hang   bool   // it was killed for it
	Took   time.Duration
	Tail   string // of what it wrote
}

func (e *Ending) String() string {
	switch {
	case e.Hang:
		return fmt.Sprintf("it did not end within %v", e.Took.Round(time.Millisecond))
	case e.Signal != "":
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// same reports whether two runs ended alike.
func (e *Ending) same(o *Ending) bool {
	return e.Code == o.Code && e.Signal == o.Signal && e.Hang == o.Hang
}
