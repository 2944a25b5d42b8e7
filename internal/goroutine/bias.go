package goroutine

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const auxEntry = 9 // AT_ENTRY

// Bias is how far from where it was linked a process has its program, by its auxiliary vector (/proc/PID/auxv).
func Bias(file io.ReaderAt, auxv []byte) (uint64, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return 0, fmt.Errorf("read the program's file: %w", err)
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == auxEntry {
			return binary.LittleEndian.Uint64(auxv[8:]) - f.Entry, nil
		}
	}
	return 0, errors.New("the process does not say where its program is")
}
