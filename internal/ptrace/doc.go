// Package ptrace owns stopping, resuming, reading and writing other processes: the only package that
// calls ptrace. It knows threads, registers and memory, nothing of hooks or symbols.
//
// One Tracer is one operating system thread, because the kernel ties a traced thread to the thread that
// attached to it. All calls that need it go through Tracer.Do, or happen in the Handler, which
// runs on that thread; never call Do from there.
package ptrace

import "errors"

// ErrGone: the thread or process has ended.
var ErrGone = errors.New("thread has ended")
