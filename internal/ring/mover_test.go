package ring

import "testing"

// TestTailOverwritten: a thread that waits for room looks at the tail. Where the program overwrote it and nothing new
// comes, nobody would ever write it again.
func TestTailOverwritten(t *testing.T) {
	const size = 1 << 16
	r, err := View(make([]byte, Size(1, size)), 1, size)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header(0)
	m := r.Mover(0)
	h.Head = 64
	if !m.Look() || m.Err() != nil {
		t.Fatalf("Look = false, %v", m.Err())
	}
	m.Take(64)
	h.Tail, h.Waiting = ^uint64(0)-7, 1
	if m.Look() || m.Err() == nil {
		t.Fatal("the tail was overwritten, and nobody says so")
	}
	if !m.Mend() || h.Tail != h.Head || m.Look() || m.Err() != nil {
		t.Errorf("after mending: tail %d, head %d, %v", h.Tail, h.Head, m.Err())
	}
}
