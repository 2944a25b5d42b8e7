package ptrace

import (
	"context"
	"testing"
	"time"
)

// What runs on the tracer's thread may ask for it once more: it waited for itself for ever.
func TestDoWithinDo(t *testing.T) {
	tr, err := NewTracer(func(Stop) {})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ran := false
	err = tr.Do(ctx, func() error {
		return tr.Do(ctx, func() error {
			ran = true
			return nil
		})
	})
	if err != nil || !ran || tr.OnThread() {
		t.Errorf("Do within Do = %v, ran: %v", err, ran)
	}
}
