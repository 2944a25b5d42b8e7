package stuck

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The timer that alarm and setitimer set is in no file of /proc. Where its signal is caught, that is known by what a
// process catches; else it ends the process, and so lets others go on, which wait for its end or for what it had of a
// pipe. Whether any is set on this machine the kernel tells root; else whether a program may set one is known by what
// it calls.

// alarms are the functions that set it.
var alarms = []string{"alarm", "ualarm", "setitimer"}

// alarmed reports whether a process that another one of ours began may end by a timer. The end of the first one is the
// end of the tests.
func (o *outsiders) alarmed(pid int) bool {
	if known, ok := o.alarm[pid]; ok {
		return known
	}
	r, may := ReadProcess(pid), false
	if r == nil || !slices.Contains(o.pids, r.Parent) || !timersSet() {
		return false
	}
	seen := map[string]bool{}
	eachMapping(pid, func(_, _ uint64, _ bool, key, path string) {
		if !strings.HasPrefix(path, "/") || seen[key] || may {
			return
		}
		seen[key] = true
		// of the system, beside the program itself
		if len(seen) > 1 && (strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/lib")) {
			return
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/root%s", pid, path))
		if err != nil {
			return
		}
		defer f.Close()
		may = setsAlarms(f)
	})
	if o.alarm == nil {
		o.alarm = map[int]bool{}
	}
	o.alarm[pid] = may
	return may
}

// timersSet reports whether any process of the machine has such a timer, or that cannot be found out.
func timersSet() bool {
	b, err := os.ReadFile("/proc/timer_list")
	list := string(b)
	const ofSleeps = "hrtimer_wakeup" // always there, where functions have names
	return err != nil || strings.Contains(list, "it_real_fn") || !strings.Contains(list, ofSleeps)
}

// setsAlarms reports whether a program, or a library, has a call of one of them: it takes one from another file, or has
// it in itself.
func setsAlarms(file *os.File) bool {
	f, err := elf.NewFile(file)
	if err != nil {
		return false
	}
	static := !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_DYNAMIC })
	list, err := f.DynamicSymbols()
	if static {
		list, err = f.Symbols()
	}
	if err != nil {
		return static && errors.Is(err, elf.ErrNoSymbols) // nobody knows
	}
	return slices.ContainsFunc(list, func(s elf.Symbol) bool {
		return (static || s.Section == elf.SHN_UNDEF) && slices.Contains(alarms, s.Name)
	})
}
