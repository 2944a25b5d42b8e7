package event

import (
	"slices"
	"testing"
)

// TestFirstThreadFirst: numbers of threads begin again at the system's limit, so a thread may have a smaller one than
// the first thread of its process.
func TestFirstThreadFirst(t *testing.T) {
	got := []Thread{{PID: 9, TID: 9}, {PID: 32760, TID: 324}, {PID: 32760, TID: 32760}, {PID: 32760, TID: 323},
		{PID: 9, TID: 12}}
	slices.SortFunc(got, Thread.Compare)
	want := []Thread{{PID: 9, TID: 9}, {PID: 9, TID: 12}, {PID: 32760, TID: 32760}, {PID: 32760, TID: 323},
		{PID: 32760, TID: 324}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
