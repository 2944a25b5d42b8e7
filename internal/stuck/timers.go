package stuck

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Signals that a timer sends, or a file that has news: whoever catches one, or blocks it to wait for it, may go on by
// it.
const (
	sigALRM, sigVTALRM, sigPROF, sigIO = 14, 26, 27, 29
	firstRealTime                      = 34 // the C library has the two below for itself
)

// timersMayWake reports whether a signal may wake a process from outside. What is no Linux says nothing, and then
// nothing is stuck.
func timersMayWake(pids []int) bool {
	const wakers uint64 = 1<<(sigALRM-1) | 1<<(sigVTALRM-1) | 1<<(sigPROF-1) | 1<<(sigIO-1) |
		math.MaxUint64&^(1<<(firstRealTime-1)-1)
	for _, pid := range pids {
		// timer_create's, with a thread of the C library's that waits for its own signal, or with any other. Kernels may lack
		// the file.
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/timers", pid)); err == nil && len(b) > 0 {
			return true
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return true
		}
		for line := range strings.Lines(string(b)) {
			name, mask, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			if name != "SigCgt" && name != "SigBlk" {
				continue
			}
			if v, err := strconv.ParseUint(mask, 16, 64); err != nil || v&wakers != 0 {
				return true
			}
		}
	}
	return false
}
