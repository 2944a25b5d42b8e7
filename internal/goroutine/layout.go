package goroutine

import (
	"debug/dwarf"
	"fmt"
	"strings"
)

// Layout is where the runtime of one version of Go has what is looked at: offsets in its structures, in bytes.
type Layout struct {
	ModuleText, ModuleEtext, ModuleGofunc uint32
	ModuleData, ModuleNext                uint32 // variables, from and to, and those of zeros; the next module
	ModuleMasks                           uint32 // two of a length and an address: which words of the latter are pointers

	GStackLo, GStackHi, GSchedSP, GSchedPC, GSyscallSP, GSyscallPC, GM, GStatus, GID, GWaitReason, GGopc, GStartpc,
	GWaiting, GParent uint32

	MProcID, MCurg uint32
	MSignal        uint32 // the goroutine that takes a thread's signals; the first word is that of its own stack

	PID, PStatus, PTimers uint32 // PTimers: a slice of timers
	PTimerFirst           uint32 // when the first of them is due, 0: there are none
	TimerStride           uint32 // of that slice: 8, pointers; or 16, pointers with times

	TimerWhen, TimerFunc, TimerArg, TimerState uint32
	// a 32-bit number that counts states (before Go 1.23), not a byte of flags
	TimerStateWord bool

	SudogG, SudogElem, SudogLink, SudogChan uint32

	ChanCount, ChanSize, ChanClosed, ChanLock uint32

	HeapSpans                                            uint32 // of the heap: a slice of spans
	SpanStart, SpanPages, SpanElem, SpanClass, SpanState uint32
	SpanSpecials                                         uint32 // a list of what is to be done when objects are freed

	SpecialKind                uint32 // what: behind the next one, and where in its span the object is
	SpecialFinalizer           uint32 // the kind that calls a function with the object
	CleanupBlocks, CleanupNext uint32 // functions to be called, in lists of blocks, since Go 1.25; 0: there are none
}

// member is a field of the layout and where it comes from. Of several names the first that there is counts: they
// changed with time.
type member struct {
	to    *uint32
	paths []string // type.field.field, in package runtime
}

func (l *Layout) members() []member {
	return []member{
		{&l.ModuleText, []string{"moduledata.text"}}, {&l.ModuleEtext, []string{"moduledata.etext"}},
		{&l.ModuleGofunc, []string{"moduledata.gofunc"}}, {&l.ModuleData, []string{"moduledata.data"}},
		{&l.ModuleNext, []string{"moduledata.next"}}, {&l.ModuleMasks, []string{"moduledata.gcdatamask"}},
		{&l.GStackLo, []string{"g.stack.lo"}}, {&l.GStackHi, []string{"g.stack.hi"}}, {&l.GSchedSP, []string{"g.sched.sp"}},
		{&l.GSchedPC, []string{"g.sched.pc"}},
		{&l.GSyscallSP, []string{"g.syscallsp"}}, {&l.GSyscallPC, []string{"g.syscallpc"}}, {&l.GM, []string{"g.m"}},
		{&l.GStatus, []string{"g.atomicstatus"}},
		{&l.GID, []string{"g.goid"}}, {&l.GWaitReason, []string{"g.waitreason"}}, {&l.GGopc, []string{"g.gopc"}},
		{&l.GStartpc, []string{"g.startpc"}},
		{&l.GWaiting, []string{"g.waiting"}}, {&l.GParent, []string{"g.parentGoid"}},
		{&l.MProcID, []string{"m.procid"}}, {&l.MCurg, []string{"m.curg"}},
		{&l.MSignal, []string{"m.gsignal"}},
		{&l.PID, []string{"p.id"}}, {&l.PStatus, []string{"p.status"}}, {&l.PTimers, []string{"p.timers.heap", "p.timers"}},
		{&l.PTimerFirst, []string{"p.timers.minWhenHeap", "p.timer0When"}},
		{&l.TimerWhen, []string{"timer.when"}}, {&l.TimerFunc, []string{"timer.f"}}, {&l.TimerArg, []string{"timer.arg"}},
		{&l.TimerState, []string{"timer.state", "timer.status"}},
		{&l.SudogG, []string{"sudog.g"}}, {&l.SudogLink, []string{"sudog.waitlink"}},
		// while the runtime looks for leaks itself its pointers are nil, and what they were are numbers
		{&l.SudogElem, []string{"sudog.elem.vu", "sudog.elem"}},
		{&l.SudogChan, []string{"sudog.c.maybeTraceablePtr.vu", "sudog.c"}},
		{&l.ChanCount, []string{"hchan.qcount"}}, {&l.ChanSize, []string{"hchan.dataqsiz"}},
		{&l.ChanClosed, []string{"hchan.closed"}}, {&l.ChanLock, []string{"hchan.lock"}},
		{&l.HeapSpans, []string{"mheap.allspans"}}, {&l.SpanStart, []string{"mspan.startAddr"}},
		{&l.SpanPages, []string{"mspan.npages"}}, {&l.SpanElem, []string{"mspan.elemsize"}},
		{&l.SpanClass, []string{"mspan.spanclass"}}, {&l.SpanState, []string{"mspan.state"}},
		{&l.SpanSpecials, []string{"mspan.specials"}}, {&l.SpecialKind, []string{"special.kind"}},
	}
}

// LayoutOf reads a layout out of the debug information of a program.
func LayoutOf(d *dwarf.Data) (*Layout, error) {
	types, err := runtimeTypes(d)
	if err != nil {
		return nil, err
	}
	l := &Layout{}
	for _, m := range l.members() {
		off, ok := uint32(0), false
		for i := 0; i < len(m.paths) && !ok; i++ {
			off, ok = offsetOf(types, m.paths[i])
		}
		if !ok {
			return nil, fmt.Errorf("the debug information has no runtime.%s", m.paths[0])
		}
		*m.to = off
	}
	l.SpecialFinalizer = 1
	if next, ok := offsetOf(types, "cleanupBlockHeader.alllink"); ok {
		l.SpecialFinalizer, l.CleanupNext = 2, next
		l.CleanupBlocks, _ = offsetOf(types, "cleanupQueue.all")
	}
	l.TimerStride, l.TimerStateWord = 8, true
	if _, ok := offsetOf(types, "timer.state"); ok {
		l.TimerStateWord = false
	}
	if t := types["timerWhen"]; t != nil {
		l.TimerStride = uint32(t.ByteSize)
	}
	return l, nil
}

// runtimeTypes finds the structures of package runtime that are looked at.
func runtimeTypes(d *dwarf.Data) (map[string]*dwarf.StructType, error) {
	want := map[string]bool{"moduledata": true, "g": true, "m": true, "p": true, "timer": true, "timerWhen": true,
		"sudog": true, "hchan": true, "mspan": true, "mheap": true, "special": true, "cleanupBlockHeader": true,
		"cleanupQueue": true}
	out := map[string]*dwarf.StructType{}
	r := d.Reader()
	for len(out) < len(want) {
		e, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("read the debug information: %w", err)
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			if name, _ := e.Val(dwarf.AttrName).(string); name != "runtime" {
				r.SkipChildren()
			}
			continue
		}
		if e.Tag == dwarf.TagStructType {
			name, _ := e.Val(dwarf.AttrName).(string)
			if name, ok := strings.CutPrefix(name, "runtime."); ok && want[name] {
				t, err := d.Type(e.Offset)
				if err != nil {
					return nil, fmt.Errorf("read the type runtime.%s: %w", name, err)
				}
				if s, ok := t.(*dwarf.StructType); ok {
					out[name] = s
				}
			}
		}
		r.SkipChildren()
	}
	return out, nil
}

// offsetOf follows a path of fields. A path that ends at a structure whose only content is one number (an atomic) means
// that.
func offsetOf(types map[string]*dwarf.StructType, path string) (uint32, bool) {
	parts := strings.Split(path, ".")
	t := types[parts[0]]
	var off int64
	for i, name := range parts[1:] {
		if t == nil {
			return 0, false
		}
		var found *dwarf.StructField
		for _, f := range t.Field {
			if f.Name == name {
				found = f
			}
		}
		if found == nil {
			return 0, false
		}
		off += found.ByteOffset
		u := found.Type
		for {
			td, ok := u.(*dwarf.TypedefType)
			if !ok {
				break
			}
			u = td.Type
		}
		t, _ = u.(*dwarf.StructType)
		if path == "p.timers" && i == 0 && (t == nil || t.Kind != "struct" || !isSlice(t)) {
			return 0, false
		}
	}
	if off < 0 || off > 1<<24 {
		return 0, false
	}
	return uint32(off), true
}

func isSlice(t *dwarf.StructType) bool {
	return len(t.Field) == 3 && t.Field[0].Name == "array" && t.Field[1].Name == "len"
}
