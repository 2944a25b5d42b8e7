package ptrace

import (
	"encoding/binary"
	"fmt"
	"os"
)

// AuxEntry is the auxiliary vector's entry that has the address of the program's first instruction.
const AuxEntry = 9

// Auxv reads what the kernel told a process's program of itself at its begin.
func Auxv(pid int) (map[uint64]uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, fmt.Errorf("read auxiliary vector of process %d: %w", pid, err)
	}
	v := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		v[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	return v, nil
}
