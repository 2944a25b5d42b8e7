package native

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
)

// lanes pairs the enters and exits of one thread by stack pointer, so that what the sink gets is properly
// nested, also where an exception, longjmp, a tail call or a dropped record took frames away.
//
// A program may run one thread on several stacks (alternate signal stacks, ucontext, fibres). Calls on
// different stacks do not nest in each other: each stack is a lane, a thread of its own to the timeline.
type lanes struct {
	list []*lane
	cur  *lane
	name func(n int) event.ThreadID // the n-th lane's ID
	lost bool                       // records were dropped since the frames were entered
	one  bool                       // all calls are on one stack

	losses   int    // of a goroutine's: losses of the process that are known here
	thrown   []byte // of a goroutine's: what its last panic was given, as an exit's payload
	thrownAt uint64 // where it began

	parts stacks

	left uint64 // stack pointer of the frame that the last record said was left by a tail call, or 0
}

type lane struct {
	id     event.ThreadID
	frames []frame
	max    uint64 // highest stack pointer of the open frames
}

// frame is a call entered and not yet left.
type frame struct {
	sp   uint64
	hook uint32
	fn   *function
	tail bool
}

// How far apart two stack pointers of one stack may be: callers of the outermost hooked function lie above it,
// callees below, at most a stack's usual limit.
const (
	laneAbove = 64 << 10
	laneBelow = 8 << 20
)

func (ls *lanes) holds(l *lane, sp uint64) bool {
	if len(l.frames) == 0 {
		return false
	}
	top := l.frames[len(l.frames)-1].sp
	return sp <= l.max+laneAbove && sp+laneBelow >= top && !ls.parts.between(top, sp)
}

// maxLanes bounds the stacks told apart per thread: a program with more fibres than this shares the last lane, and so
// does one that overwrites its ring.
const maxLanes = 4096

// at returns the lane that a stack pointer belongs to.
func (ls *lanes) at(sp uint64) *lane {
	if ls.cur != nil && (ls.one || ls.holds(ls.cur, sp) || len(ls.list) == 1 && len(ls.cur.frames) == 0) {
		return ls.cur
	}
	var empty *lane
	for _, l := range ls.list {
		if ls.holds(l, sp) {
			ls.cur = l
			return l
		}
		if len(l.frames) == 0 && empty == nil {
			empty = l
		}
	}
	if empty == nil && len(ls.list) >= maxLanes {
		empty = ls.list[len(ls.list)-1]
	}
	if empty == nil {
		empty = &lane{id: ls.name(len(ls.list))}
		ls.list = append(ls.list, empty)
	}
	ls.cur = empty
	return empty
}

// emit takes one exit of a frame that gave no record of its own.
type emit func(l *lane, f frame, flags event.Flags)

// enter opens a frame; skipped ones are closed first.
func (ls *lanes) enter(sp uint64, hook uint32, fn *function, tail bool, close emit) *lane {
	l := ls.at(sp)
	if n := len(l.frames); n > 0 && l.frames[n-1].sp <= sp {
		if f := l.outermost(sp); ls.begins(l, f, sp, hook) {
			ls.parts.part(l.frames[f].sp)
			l = ls.at(sp)
		} else {
			ls.noteSkipped(l, sp, f)
		}
	}
	for n := len(l.frames); n > 0 && l.frames[n-1].sp <= sp; n = len(l.frames) {
		f := l.frames[n-1]
		l.frames = l.frames[:n-1]
		// The frame at the same place: its function ended in a jump to this one, or to itself.
		if f.sp == sp && (tail || f.hook == hook && fn.rets && fn.analysis.LoopsToEntry) {
			close(l, f, event.TailCall)
		} else {
			close(l, f, ls.skipped())
		}
	}
	if len(l.frames) == 0 {
		l.max = sp
		ls.lost = false
	}
	l.frames = append(l.frames, frame{sp: sp, hook: hook, fn: fn, tail: tail})
	return l
}

// skipped says why a frame ended without a record.
func (ls *lanes) skipped() event.Flags {
	if ls.lost {
		return event.Lost
	}
	return event.Unwound
}

// exit closes the frame that the record belongs to, and before it those above. ok is false when it was not open: its
// enter was lost, or made before the hook's rings were.
func (ls *lanes) exit(sp uint64, hook uint32, close emit, tailed func(l *lane, f frame)) (l *lane, ok bool) {
	i := -1
	if l = ls.cur; l != nil {
		i = l.find(sp, hook)
	}
	for k := 0; i < 0; k++ {
		if k == len(ls.list) {
			ls.parts.learn(sp, hook, ls.lost)
			return nil, false
		}
		l = ls.list[k]
		i = l.find(sp, hook)
	}
	ls.cur = l
	if n := len(l.frames) - 1; n > i && !(n == i+1 && l.frames[n].tail) {
		ls.noteSkipped(l, sp, l.outermost(sp))
	}
	for n := len(l.frames) - 1; n > i; n-- {
		f := l.frames[n]
		l.frames = l.frames[:n]
		// A function reached by a tail call from this one returns with it.
		if f.tail && n == i+1 {
			tailed(l, f)
		} else {
			close(l, f, ls.skipped())
		}
	}
	l.frames = l.frames[:i]
	return l, true
}

// find returns the index of an open frame, -1 if there is none such. It is mostly the last.
func (l *lane) find(sp uint64, hook uint32) int {
	for i := len(l.frames) - 1; i >= 0; i-- {
		f := &l.frames[i]
		if f.sp == sp && f.hook == hook {
			return i
		}
		if f.sp > sp {
			return -1
		}
	}
	return -1
}

// closeAll ends what is still open, when the thread has ended.
func (ls *lanes) closeAll(close emit) {
	for _, l := range ls.list {
		for n := len(l.frames) - 1; n >= 0; n-- {
			f := l.frames[n]
			l.frames = l.frames[:n]
			close(l, f, ls.skipped())
		}
	}
}

// laneName tells the lanes of one thread apart.
func laneName(thread string, n int) string {
	if n == 0 {
		return thread
	}
	return fmt.Sprintf("%s (stack %d)", thread, n+1)
}
