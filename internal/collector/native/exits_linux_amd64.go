package native

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
)

// carriesChecker reports whether a process has the runtime of a sanitizer: as a library, or in the program, which then
// shows it to its libraries.
func (p *process) carriesChecker() bool {
	maps, err := readMaps(p.pid)
	if err != nil {
		return false
	}
	for _, m := range maps {
		if m.exec && snapshot.CheckerLibrary(m.path) {
			return true
		}
	}
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return false
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	return err == nil && slices.ContainsFunc(syms, func(s elf.Symbol) bool {
		return s.Name == "__sanitizer_set_death_callback" && s.Section != elf.SHN_UNDEF
	})
}

// terminateReach is how much of a stack is looked at for a terminate handler that exits.
const terminateReach = 16 << 10

// terminates reports whether a thread that exits may do so in a handler of std::terminate: addresses in the C++
// library's code are near on its stack.
func (p *process) terminates(regs *ptrace.Regs) bool {
	maps, err := readMaps(p.pid)
	if err != nil {
		return false
	}
	code := slices.DeleteFunc(slices.Clone(maps), func(m mapping) bool {
		base := filepath.Base(m.path)
		return !m.exec || !strings.HasPrefix(base, "libstdc++.so") && !strings.HasPrefix(base, "libc++")
	})
	i := slices.IndexFunc(maps, func(m mapping) bool { return regs.Rsp >= m.lo && regs.Rsp < m.hi })
	if len(code) == 0 || i < 0 {
		return false
	}
	b := make([]byte, min(terminateReach, maps[i].hi-regs.Rsp)&^7)
	if p.mem.Read(regs.Rsp, b) != nil {
		return false
	}
	for ; len(b) >= 8; b = b[8:] {
		at := binary.LittleEndian.Uint64(b)
		if slices.ContainsFunc(code, func(m mapping) bool { return at >= m.lo && at < m.hi }) {
			return true
		}
	}
	return false
}
