package native

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var errSealed = errors.New("it runs under a seccomp filter, which may not allow what Strobe has to do in it")

// sealed says why system calls must not be made in the process's first thread.
func (p *process) sealed() error { return p.sealedThread(p.pid) }

// sealedThread says why system calls must not be made in a thread: its seccomp filter may end the program for one that
// it does not make itself. Threads may have different ones.
func (p *process) sealedThread(tid int) error {
	mode, filters := seccompOf(fmt.Sprint(tid))
	if own := ownSeccomp(); mode == "0" || mode == "" || mode == own.mode && filters == own.filters && p.t.cmd.PID == 0 {
		return nil // of filters that it has from us none keeps the program from what we do ourselves
	}
	return fmt.Errorf("%w: %w", errSealed, unix.EPERM)
}

// seccomp is what a thread's status says.
type seccomp struct{ mode, filters string }

var ownSeccomp = sync.OnceValue(func() (s seccomp) {
	s.mode, s.filters = seccompOf("self")
	return s
})

func seccompOf(thread string) (mode, filters string) {
	b, err := os.ReadFile("/proc/" + thread + "/status")
	if err != nil {
		return "", ""
	}
	word := func(name string) string {
		_, rest, _ := strings.Cut(string(b), "\n"+name+":\t")
		v, _, _ := strings.Cut(rest, "\n")
		return v
	}
	return word("Seccomp"), word("Seccomp_filters")
}
