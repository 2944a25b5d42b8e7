package native

import (
	"math"
	"slices"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// What goroutines do is seen in functions of Go's runtime: where it makes one, lets it wait, wakes it and ends it, and
// in what it does to channels. They are hooked as other functions are, with plans of our own: they need no debug
// information.

// goSeen is what a want asks of a function of the runtime. The order is that in which events count.
type goSeen uint8

const (
	goMade     goSeen = 1 << iota // who made a goroutine is noted: wherever functions of Go are traced
	goRoutines                    // @goroutines
	goChannels                    // @channels
	goAside                       // nobody asked for the function's calls
)

// goWord is a word that a record has: what is found at the end of a chain of pointers that begins in a register.
type goWord struct {
	reg  uint8 // by DWARF number; goCFA: the address behind where the function returns to
	offs []uint32
}

const (
	goCFA = 255
	goAX  = 0  // RAX
	goBP  = 6  // RBP
	goG   = 14 // R14: the goroutine that runs, or the thread's own
)

// goEvent is one of these functions.
type goEvent struct {
	name         string
	seen         goSeen // what needs it
	enter, leave bool
	regs         int // of the enter's record
	results      int // of the leave's
	words        func(l *goroutine.Layout) []goWord
	take         func(d *drainer, r *goRec)
}

// A goroutine ends in gdestroy, which Go 1.21 does not have.
const (
	gdestroy = "runtime.gdestroy"
	goexit0  = "runtime.goexit0"
)

// goCases is how many cases of a select are told.
const goCases = 8

// goEventList are they, by their names in all versions that are known.
var goEventList = []goEvent{
	{name: "runtime.newproc1", seen: goMade | goRoutines | goChannels, leave: true, take: (*drainer).goMade,
		words: func(l *goroutine.Layout) []goWord {
			return []goWord{{goAX, []uint32{l.GID}}, {goAX, []uint32{l.GParent}}, {goAX, []uint32{l.GGopc}},
				{goAX, []uint32{l.GStartpc}}}
		}},
	{name: "runtime.gopark", seen: goRoutines | goChannels, enter: true, leave: true, regs: 3, take: (*drainer).goParked,
		words: func(l *goroutine.Layout) []goWord { return []goWord{{goG, []uint32{l.GStartpc}}} }},
	{name: "runtime.ready", seen: goRoutines | goChannels, enter: true, take: (*drainer).goReady,
		words: func(l *goroutine.Layout) []goWord {
			return []goWord{{goAX, []uint32{l.GID}}, {goG, []uint32{l.GM, l.MCurg, l.GID}}}
		}},
	{name: gdestroy, seen: goRoutines | goChannels, enter: true, take: (*drainer).goEnded,
		words: func(l *goroutine.Layout) []goWord { return []goWord{{goAX, []uint32{l.GID}}} }},
	{name: goexit0, seen: goRoutines | goChannels, enter: true, take: (*drainer).goEnded,
		words: func(l *goroutine.Layout) []goWord { return []goWord{{goAX, []uint32{l.GID}}} }},
	{name: "runtime.semacquire1", seen: goRoutines, enter: true, leave: true, regs: 1, take: (*drainer).goSema},
	{name: "runtime.chansend", seen: goChannels, enter: true, leave: true, regs: 1, results: 1,
		take: (*drainer).goSend, words: goChanWords},
	{name: "runtime.chanrecv", seen: goChannels, enter: true, leave: true, regs: 1, results: 2,
		take: (*drainer).goReceive, words: goChanWords},
	{name: "runtime.closechan", seen: goChannels, enter: true, regs: 1, take: (*drainer).goClose,
		words: func(l *goroutine.Layout) []goWord {
			return []goWord{{goCFA, []uint32{minus8}}, {goAX, []uint32{l.ChanCount}}, {goAX, []uint32{l.ChanSize}}}
		}},
	{name: "runtime.selectgo", seen: goChannels, enter: true, leave: true, regs: 5, results: 2, take: (*drainer).goSelect,
		words: func(*goroutine.Layout) []goWord {
			ws := []goWord{{goCFA, []uint32{minus8}}}
			for i := range uint32(goCases) {
				ws = append(ws, goWord{goAX, []uint32{16 * i}})
			}
			return ws
		}},
}

// minus8 is an offset of -8.
const minus8 = math.MaxUint32 - 7

// goChanWords are where the operation stands, which is what the runtime's wrapper returns to, and what the channel has.
func goChanWords(l *goroutine.Layout) []goWord {
	return []goWord{{goBP, []uint32{8}}, {goAX, []uint32{l.ChanCount}}, {goAX, []uint32{l.ChanSize}}}
}

// goEventOf is what is seen in a function; nil where that is none of them.
func goEventOf(name string) *goEvent {
	i := slices.IndexFunc(goEventList, func(e goEvent) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return &goEventList[i]
}

// goEventsWanted are what the patterns ask for. probeMu is held.
func (t *target) goEventsWanted() (seen goSeen) {
	for i := range t.probes {
		seen |= goPattern(t.probes[i].pat)
	}
	return seen
}

// goPattern is what one of them asks for.
func goPattern(p *symbol.Pattern) goSeen {
	switch {
	case p.Goroutines():
		return goRoutines
	case p.GoChannels():
		return goChannels
	}
	return 0
}

// wantGoEvents adds what tells of goroutines to what the patterns want of a Go program. It changes nothing of counts.
func (t *target) wantGoEvents(mod *symbol.Module, res *matchResult) {
	seen := t.goEventsWanted()
	if !mod.Go || seen == 0 && len(res.wanted) == 0 {
		return
	}
	fns := mod.Functions()
	ends := slices.ContainsFunc(fns, func(f symbol.Function) bool { return f.Name == gdestroy })
	for i := range fns {
		e := goEventOf(fns[i].Name)
		if e == nil || e.seen&(seen|goMade) == 0 || e.name == goexit0 && ends {
			continue
		}
		w, asked := res.wanted[i]
		if w.golang = e.seen & (seen | goMade); !asked {
			w = want{depth: 1, golang: w.golang | goAside, described: t.walks.Generation()}
		}
		res.wanted[i] = w
	}
}

// goEventPlan records what a function of these tells.
func goEventPlan(e *goEvent, l *goroutine.Layout) *capture.Function {
	plan := ring.Plan{Depth: 1}
	if e.enter {
		plan.EnterGPRs = e.regs
	}
	plan.ExitGPRs = e.results
	if e.words != nil {
		words := e.words(l)
		ops := []ring.Op{{Code: ring.OpEval, Size: uint32(8 * len(words))}}
		plan.Programs = []ring.Program{{Ops: goProgram(words)}}
		if e.enter {
			plan.Enter = ops
		} else {
			plan.Exit = ops
		}
		plan.MaxEnter, plan.MaxExit = 8+8*len(words), 8+8*len(words)
	}
	plan.MaxEnter += 8 * plan.EnterGPRs
	plan.MaxExit += 8 * plan.ExitGPRs
	return &capture.Function{Plan: plan, Layout: &value.Layout{}}
}

// goProgram puts words out, in order. It ends before one that cannot be read.
func goProgram(words []goWord) (ops []ring.Op) {
	for _, w := range words {
		if w.reg == goCFA {
			ops = append(ops, ring.Op{Code: ring.WalkCFA})
		} else {
			ops = append(ops, ring.Op{Code: ring.WalkReg, Size: uint32(w.reg)})
		}
		for _, off := range w.offs {
			ops = append(ops, ring.Op{Code: ring.WalkLoadMem, Off: int32(off), Size: 8})
		}
		ops = append(ops, ring.Op{Code: ring.WalkOut})
	}
	return append(ops, ring.Op{Code: ring.OpEnd})
}

// goSides says which ends of a function are hooked.
func (fn *function) goSides() (enter, leave bool) {
	if e := fn.golang.event; e != nil && fn.want.golang&goAside != 0 {
		return e.enter, e.leave
	}
	return true, true
}

// countGoEvents says what became of a pattern. probeMu is held.
func (t *target) countGoEvents(seen goSeen) (hooks int, warning string) {
	isGo := false
	for _, p := range t.processes() {
		for _, h := range *p.hooks.Load() {
			if h != nil && h.active() && h.fn != nil && h.fn.want.golang&seen != 0 {
				hooks++
			}
		}
		isGo = isGo || len(p.modules) > 0 && p.modules[0].mod != nil && p.modules[0].mod.Go
	}
	switch {
	case hooks > 0:
		return hooks, ""
	case !isGo:
		return 0, "it is for programs of Go"
	}
	return 0, "none of the functions of Go's runtime that tell of it can be hooked"
}
