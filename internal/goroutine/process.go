package goroutine

import (
	"fmt"
	"os"
)

// OfProcess is Open of the program that a process runs. ErrNotGo is also said of a process that is no more. The file is
// to be closed when the Program is no longer used.
func OfProcess(pid int, mem Memory, other Source) (*Program, *os.File, error) {
	exe, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	p, err := ofProcess(pid, exe, mem, other)
	if err != nil {
		exe.Close()
		return nil, nil, err
	}
	return p, exe, nil
}

func ofProcess(pid int, exe *os.File, mem Memory, other Source) (*Program, error) {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	bias, err := Bias(exe, auxv)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	return Open(exe, mem, bias, other)
}
