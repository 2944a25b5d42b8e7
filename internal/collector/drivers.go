package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Drives reports whether a process that runs the program exe only starts others: one of drivers is its base name, or
// "java a.b.Main", its base name and an argument that its command line has.
func Drives(drivers []string, exe string, pid int) bool {
	base := filepath.Base(exe)
	var args []string
	for _, d := range drivers {
		name, arg, with := strings.Cut(d, " ")
		if name != base {
			continue
		}
		if with && args == nil {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return false // it has ended
			}
			args = strings.Split(string(b), "\x00")
		}
		if !with || slices.Contains(args, arg) {
			return true
		}
	}
	return false
}
