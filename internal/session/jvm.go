package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/report"
)

// readJVMLog adds what the file says that a dying JVM wrote. The name is the target's word: only a plain file counts,
// which is never waited for, and only one that is such a log of that process.
func readJVMLog(pid int, r *report.Report) {
	if r.Log == "" {
		return
	}
	if !filepath.IsAbs(r.Log) {
		cwd, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(pid), "cwd"))
		if err != nil {
			return
		}
		r.Log = filepath.Join(cwd, r.Log)
	}
	// its own root first: a container's
	for _, name := range []string{filepath.Join("/proc", fmt.Sprint(pid), "root") + r.Log, r.Log} {
		f, err := plainfile.Open(name)
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(io.LimitReader(f, report.JVMLogBytes))
		f.Close()
		if r.JVMLog(string(b)) {
			return
		}
	}
}

// jvmReason says what a JVM handled, where, and in which of its threads.
func jvmReason(r *report.Report) string {
	text := r.Kind + " in the JVM"
	if r.Signal != "" {
		text = r.Signal
	}
	if r.Location != "" {
		text += ": " + r.Location
	}
	if len(r.Stacks) > 0 && len(r.Stacks[0].Frames) > 0 {
		f := &r.Stacks[0].Frames[0]
		where := f.Function
		if f.Module != "" && f.Module != "java" {
			if where != "" {
				where += " "
			}
			where += fmt.Sprintf("(%s+0x%x)", f.Module, f.Offset)
		}
		text += " in " + where
	}
	if r.Thread != "" {
		text += fmt.Sprintf(", Java thread %q", r.Thread)
	}
	return text + "; the JVM handled it, and ended itself"
}
