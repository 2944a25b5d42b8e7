package event

import (
	"regexp"
	"strconv"
	"strings"
)

// lanes are told from their thread by what follows its name: stacks of a native program's coroutines, and calls that an
// interpreter leaves and comes back to.
var laneSuffix = regexp.MustCompile(` \((stack|async) \d+\)$`)

// LaneName names a lane of a thread that an interpreter's call runs on.
func LaneName(thread string, n int) string { return thread + " (async " + strconv.Itoa(n) + ")" }

// IsAsync reports whether a thread's name is that of a lane of an interpreter's calls.
func IsAsync(name string) bool {
	_, suffix := SplitLane(name)
	return strings.HasPrefix(suffix, " (async ")
}

// SplitLane takes a lane's suffix off a thread's name; "" where it is the thread itself.
func SplitLane(name string) (thread, suffix string) {
	suffix = laneSuffix.FindString(name)
	return name[:len(name)-len(suffix)], suffix
}
