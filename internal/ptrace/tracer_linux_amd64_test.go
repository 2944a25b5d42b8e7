package ptrace

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestLaunchRunsToItsEnd(t *testing.T) {
	ended := make(chan Stop, 1)
	var tr *Tracer
	tr, err := NewTracer(func(s Stop) {
		if s.Ended {
			ended <- s
			return
		}
		sig := s.Signal
		if s.Event != 0 {
			sig = 0
		}
		if err := Cont(s.TID, sig); err != nil && err != ErrGone {
			t.Errorf("Cont: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for range 20 {
		err = tr.Do(context.Background(), func() error {
			pid, err := tr.Launch(Program{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 7"}, Env: os.Environ(),
				Files: [3]uintptr{0, 1, 2}})
			if err != nil {
				return err
			}
			return Cont(pid, syscall.Signal(0))
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case s := <-ended:
			if s.Status.ExitStatus() != 7 {
				t.Errorf("exit status %d, want 7", s.Status.ExitStatus())
			}
		case <-time.After(5 * time.Second):
			t.Fatal("did not end")
		}
	}
}

func TestDoWakesABlockedWait(t *testing.T) {
	tr, err := NewTracer(func(s Stop) {
		if !s.Ended {
			Cont(s.TID, 0)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var pid int
	if err := tr.Do(context.Background(), func() (err error) {
		if pid, err = tr.Launch(Program{Path: "/bin/sleep", Args: []string{"sleep", "60"}, Env: os.Environ(),
			Files: [3]uintptr{0, 1, 2}}); err != nil {
			return err
		}
		return Cont(pid, 0)
	}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 1000 {
		if err := tr.Do(context.Background(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%v per call into a blocked wait", time.Since(start)/1000)
	syscall.Kill(pid, syscall.SIGKILL)
}
