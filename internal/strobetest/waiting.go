package strobetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Waiting is a process that says something and then waits for the end of its input: its memory stands still.
type Waiting struct {
	PID int
	Out io.Reader
	mem *os.File
}

// StartWaiting starts such a program. It ends with the test, and with exit code 0, or the test fails.
func StartWaiting(t testing.TB, bin string) *Waiting {
	t.Helper()
	cmd := exec.Command(bin)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", bin, err)
		}
	})
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
	if err != nil {
		Lack(t, "the memory of a child cannot be read: %v", err)
	}
	t.Cleanup(func() { mem.Close() })
	return &Waiting{PID: cmd.Process.Pid, Out: out, mem: mem}
}

// Read reads its memory.
func (w *Waiting) Read(addr uint64, b []byte) error {
	if addr >= 1<<62 {
		return fmt.Errorf("0x%x is no address", addr)
	}
	_, err := w.mem.ReadAt(b, int64(addr))
	return err
}
