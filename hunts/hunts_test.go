package main

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestCorpus: every bug has all that it needs.
func TestCorpus(t *testing.T) {
	bugs, err := loadCorpus("corpus")
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) == 0 {
		t.Error("there are no bugs")
	}
}

// TestSmallHunt finds one bug of a small program, from its patch to the function that was changed.
func TestSmallHunt(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Setenv("STROBE_BIN", strobetest.Binary(t))
	bugs, err := loadCorpus("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHunter(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	for _, b := range bugs {
		seeded, err := b.build(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.hunt(b, seeded)
		if err != nil {
			t.Fatal(err)
		}
		if r.place != 1 {
			t.Errorf("the culprit is at place %d:\n%s", r.place, r.transcript())
		}
	}
}
