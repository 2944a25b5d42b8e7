package waits

import (
	"fmt"
	"path"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
)

// Files whose code is not the program's own.
var libraries = []string{
	"libc.so", "libc-", "libc.musl", "ld-linux", "ld-musl", "ld-2", "libpthread", "libstdc++", "libc++", "libgcc_s",
	"libm.so", "libm-", "librt", "libdl",
	"libasan", "libtsan", "libubsan", "liblsan", "libstd-", "libunwind", "[vdso]", "linux-vdso",
}

// Folders of the source of libraries.
var librarySources = []string{
	"/rustc/", "/lib/rustlib/src/", "/.cargo/registry/", "/usr/include/c++/", "/usr/lib/gcc/", "/usr/include/", "/nptl/",
	"/sysdeps/", "/csu/",
}

// Functions of libraries that are linked into the program, leading underscores aside.
var libraryFunctions = []string{
	"std::", "core::", "alloc::", "<std::", "<core::", "<alloc::", "<&", "gnu_cxx::", "gthread", "parking_lot::",
	"parking_lot_core::", "lock_api::", "cxa_", "rust_",
	"pthread_", "lll_", "futex_", "futex", "new_sem_", "old_sem_", "sem_wait", "sem_timedwait", "sem_clockwait",
	"libc_start", "start_thread", "clone", "start", "clock_nanosleep", "nanosleep",
	"syscall", "timedwait", "thrd_", "mtx_", "cnd_", "interceptor_", "sanitizer_", "wrap_",
}

func trim(name string) string { return strings.TrimLeft(name, "_") }

func anyPrefix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// Library reports whether a frame is not the program's own code. root is the folder of the user's code.
func (f *Frame) Library(root string) bool {
	if f.Module == "" && f.Function == "" {
		return true
	}
	if anyPrefix(path.Base(f.Module), libraries) {
		return true
	}
	if f.File != "" {
		if under(f.File, root) {
			return false
		}
		for _, p := range librarySources {
			if strings.Contains(f.File, p) {
				return true
			}
		}
		return strings.HasPrefix(f.File, "./") || strings.HasPrefix(f.File, "../")
	}
	return f.Function != "" && (libcNames[trim(f.Function)] || anyPrefix(trim(f.Function), libraryFunctions))
}

// libcNames are functions of a C library that a static program may have without debug information.
var libcNames = set(
	`read write open openat poll ppoll select pselect epoll_wait epoll_pwait accept accept4 recv recvfrom recvmsg
	send sendto sendmsg connect wait wait3 wait4 waitpid waitid pause sigsuspend sigwait sigwaitinfo
	sigtimedwait sleep usleep
	flock fcntl lockf
	msgrcv msgsnd semop semtimedop syscall_cp syscall_cp_c syscall_cp_asm timedwait_cp libc_read libc_write libc_accept`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func under(file, root string) bool {
	return root != "" && strings.HasPrefix(file, strings.TrimSuffix(root, "/")+"/")
}

// text is a frame for a reader: "f (src/a.c:20)".
func (f *Frame) text(root string) string {
	name := event.ShortName(f.Function, 100)
	if name == "" {
		name = "?"
	}
	switch {
	case f.File != "" && under(f.File, root):
		name += fmt.Sprintf(" (%s:%d)", strings.TrimPrefix(f.File, strings.TrimSuffix(root, "/")+"/"), f.Line)
	case f.File != "":
		name += fmt.Sprintf(" (%s:%d)", path.Base(f.File), f.Line)
	case f.Module != "":
		name += " (" + path.Base(f.Module) + ")"
	}
	if f.Guessed {
		name += " ?"
	}
	return name
}

// user returns the number of the first frame of the program's own code, or -1.
func (t *Thread) user(root string) int {
	for i := range t.Frames {
		if !t.Frames[i].Library(root) {
			return i
		}
	}
	return -1
}

// where is where in the program's own code a thread is.
func (t *Thread) where(root string) string {
	if i := t.user(root); i >= 0 {
		return t.Frames[i].text(root)
	}
	if len(t.Frames) > 0 {
		return t.Frames[0].text(root)
	}
	return "?"
}

const (
	shownFrames = 12 // of the program's own code, of one thread
	shownTail   = 3  // of them, the outermost
	shownOther  = 6  // where none is the program's own
)

// Backtrace returns a thread's stack for a reader, innermost first: the program's own functions, or where there are
// none, the innermost of libraries. Frames left out of these are counted in a line of their own.
func (t *Thread) Backtrace(root string) []string {
	own := []string{}
	for i := range t.Frames {
		if f := &t.Frames[i]; !f.Library(root) {
			own = append(own, f.text(root))
		}
	}
	if len(own) == 0 {
		for i := range t.Frames {
			if own = append(own, t.Frames[i].text(root)); len(own) == shownOther {
				break
			}
		}
		return own
	}
	if over := len(own) - shownFrames; over > 0 || t.Elided > 0 {
		over = max(over, 0)
		head := min(shownFrames-shownTail, len(own)-min(shownTail, len(own)))
		out := append([]string{}, own[:head]...)
		out = append(out, fmt.Sprintf("… %d more …", over+t.Elided))
		return append(out, own[head+over:]...)
	}
	return own
}
