package snapshot

import (
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/unwind"
)

// checkerNames are how functions of sanitizers begin.
var checkerNames = []string{"__asan", "__ubsan", "__hwasan", "__msan", "__sanitizer", "__lsan", "__tsan"}

// checked returns how many frames of a thread that exits are a sanitizer's: it has found something in the frame behind
// them, and ends the process. 0: it is the program that exits.
func checked(frames []unwind.Frame) int {
	for i := range frames {
		if f := &frames[i]; !ofChecker(f) {
			return i
		}
	}
	return 0
}

func ofChecker(f *unwind.Frame) bool {
	for _, name := range checkerNames {
		if strings.HasPrefix(f.Function, name) {
			return true
		}
	}
	return strings.Contains(f.File, "/compiler-rt/") || CheckerLibrary(f.Module)
}

// CheckerLibrary reports whether a file is the runtime of a sanitizer.
func CheckerLibrary(path string) bool {
	base := filepath.Base(path)
	for _, name := range []string{"libasan.", "libubsan.", "libhwasan.", "libmsan.", "libtsan.", "liblsan.",
		"libclang_rt."} {
		if strings.HasPrefix(base, name) {
			return true
		}
	}
	return false
}
