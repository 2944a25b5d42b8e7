//go:build linux && amd64

package strobetest

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// mayTrace starts /bin/true stopped under ptrace, once per test binary, and lets it go.
var mayTrace = sync.OnceValue(func() error {
	runtime.LockOSThread() // ptrace requests belong to the thread that started the child
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return fmt.Errorf("start a traced child: %w", err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.Pid, &status, 0, nil); err != nil {
		return fmt.Errorf("wait for the traced child: %w", err)
	}
	if !status.Stopped() {
		return fmt.Errorf("the traced child did not stop at exec: status %#x", status)
	}
	if err := syscall.PtraceDetach(p.Pid); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	_, err = p.Wait()
	return err
})
