package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/strobe-debug/strobe/internal/doctor"
	"github.com/strobe-debug/strobe/internal/settings"
)

// lowSpaceBytes is what a busy session may write within a minute.
const lowSpaceBytes = 1 << 30

// Checks returns what the daemon's part of the doctor looks at: system calls, the home, the daemon.
func Checks(home string) []doctor.Check {
	return append(systemChecks(),
		doctor.Check{Name: "home", Run: func(context.Context) doctor.Result { return checkHome(home) }},
		doctor.Check{Name: "settings", Run: func(context.Context) doctor.Result { return checkSettings(home) }},
		doctor.Check{Name: "types", Run: func(context.Context) doctor.Result { return checkTypes(home) }},
		doctor.Check{Name: "daemon", Run: func(ctx context.Context) doctor.Result { return checkDaemon(ctx, home) }},
	)
}

func checkHome(home string) doctor.Result {
	if err := prepareHome(home); err != nil {
		return doctor.Result{Status: doctor.Fail, Detail: err.Error(),
			Fix: "Set STROBE_HOME to a directory of your own that you can write to."}
	}
	free, _, err := diskSpace(home)
	switch {
	case err != nil:
		return doctor.Result{Status: doctor.Warn, Detail: home + " is writable; free space unknown: " + err.Error(),
			Fix: "Make sure that the disk has a few GB."}
	case free < lowSpaceBytes:
		return doctor.Result{Status: doctor.Warn, Detail: fmt.Sprintf("%s has only %d MB free", home, free>>20),
			Fix: "Free some space, delete sessions (strobe sessions), or set STROBE_HOME to another disk."}
	}
	return doctor.Result{Status: doctor.OK, Detail: fmt.Sprintf("%s is writable, %d GB free", home, free>>30)}
}

// checkSettings reads the user's settings, and those of the project that the doctor is asked in.
func checkSettings(home string) doctor.Result {
	project, err := os.Getwd()
	if err != nil {
		project = ""
	}
	set, warnings := settings.NewLoader(home).Load(project)
	if len(warnings) > 0 {
		return doctor.Result{Status: doctor.Warn, Detail: strings.Join(warnings, "; "),
			Fix: "Correct the file; docs/settings.md lists every key with its range."}
	}
	return doctor.Result{Status: doctor.OK, Detail: fmt.Sprintf(
		"%d call events per session, %d MB for all sessions, each for %d days after its end",
		set.EventsMaxPerSession, set.StorageMaxBytes>>20, set.StorageRetainDays)}
}

func checkDaemon(ctx context.Context, home string) doctor.Result {
	conn, err := Dial(ctx, home)
	if err == nil {
		conn.Close()
		if n, last := deaths(LogPath(home)); n > 0 {
			return doctor.Result{Status: doctor.Warn,
				Detail: fmt.Sprintf("runs (pid %d); %d processes of sessions died, the last at %s", HolderPID(home), n, last),
				Fix:    "Report it with what " + LogPath(home) + " has before that; other sessions were not affected."}
		}
		return doctor.Result{Status: doctor.OK, Detail: fmt.Sprintf("runs (pid %d)", HolderPID(home))}
	}
	if lockHeld(LockPath(home)) {
		return doctor.Result{Status: doctor.Fail,
			Detail: fmt.Sprintf("pid %d holds the lock but does not listen: %v", HolderPID(home), err),
			Fix:    fmt.Sprintf("kill -9 %d", HolderPID(home))}
	}
	return doctor.Result{Status: doctor.OK, Detail: "does not run; the first call starts it"}
}

// deaths counts the processes of sessions that died, by what the log says, and when the last one did.
func deaths(log string) (n int, last string) {
	text, err := os.ReadFile(log) // rotated: of bounded size
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, diedLine) {
			n++
			last, _, _ = strings.Cut(strings.TrimPrefix(line, "time="), " ")
		}
	}
	return n, last
}
