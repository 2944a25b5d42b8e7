package goroutine

import (
	"strconv"
	"strings"
)

// layouts has the versions of Go that were looked at, by their second number. Within one, the first and the latest
// release are alike. Each names what has moved since the one before.
var layouts = map[int]Layout{21: go121, 22: go122, 23: go123, 24: go124, 25: go125, 26: go126}

var (
	go121 = Layout{
		ModuleText: 176, ModuleEtext: 184, ModuleGofunc: 320, ModuleData: 208, ModuleMasks: 536, ModuleNext: 584,
		GStackLo: 0, GStackHi: 8, GSchedSP: 56, GSchedPC: 64, GSyscallSP: 112, GSyscallPC: 120, GM: 48, GStatus: 144,
		GID: 152, GWaitReason: 176,
		GParent: 272, GGopc: 280, GStartpc: 296, GWaiting: 312,
		MProcID: 72, MCurg: 192, MSignal: 80,
		PID: 0, PStatus: 4, PTimers: 8840, PTimerFirst: 4616, TimerStride: 8,
		TimerWhen: 8, TimerFunc: 24, TimerArg: 32, TimerState: 64, TimerStateWord: true,
		SudogElem: 24, SudogLink: 64, SudogChan: 80,
		ChanCount: 0, ChanSize: 8, ChanClosed: 28, ChanLock: 88,
		HeapSpans: 65864, SpanStart: 24, SpanPages: 32, SpanElem: 112, SpanClass: 106, SpanState: 107,
		SpanSpecials: 136, SpecialKind: 10, SpecialFinalizer: 1,
	}
	go122 = since(go121, func(l *Layout) {
		l.PTimers, l.PTimerFirst = 8872, 4648
		l.SpanElem, l.SpanClass, l.SpanState, l.SpanSpecials = 104, 98, 99, 128
	})
	go123 = since(go122, func(l *Layout) {
		l.ModuleNext = 576
		l.GStatus, l.GID, l.GWaitReason, l.GParent, l.GGopc, l.GStartpc, l.GWaiting = 152, 160, 184, 280, 288, 304, 320
		l.ChanLock = 96
		l.PTimers, l.PTimerFirst, l.TimerStride = 8848, 8888, 16
		l.TimerWhen, l.TimerFunc, l.TimerArg, l.TimerState, l.TimerStateWord = 16, 32, 40, 9, false
	})
	go124 = since(go123, func(l *Layout) { l.SpecialKind = 16 })
	go125 = since(go124, func(l *Layout) {
		l.SpecialFinalizer, l.CleanupBlocks, l.CleanupNext = 2, 128, 16
		l.GSyscallSP, l.GSyscallPC = 104, 112
		l.GStatus, l.GID, l.GWaitReason, l.GParent, l.GGopc, l.GStartpc, l.GWaiting = 144, 152, 176, 272, 280, 296, 312
		l.MProcID, l.MCurg, l.MSignal, l.ChanLock = 64, 184, 72, 104
		l.PTimers, l.PTimerFirst = 9400, 9440
		l.TimerWhen, l.TimerFunc, l.TimerArg = 24, 40, 48
	})
	go126 = since(go125, func(l *Layout) {
		l.GParent, l.GGopc, l.GStartpc, l.GWaiting = 280, 288, 304, 320
		l.PTimers, l.PTimerFirst = 13680, 13720
		l.ModuleMasks, l.ModuleNext = 544, 584
		l.SudogElem, l.SudogLink, l.SudogChan = 32, 72, 96
	})
)

func since(l Layout, moved func(*Layout)) Layout {
	moved(&l)
	return l
}

// known is the layout of a version, nil where it has none: go1.26.3. Experiments, vendors' and development versions may
// differ.
func known(version string) *Layout {
	parts := strings.Split(strings.TrimPrefix(version, "go"), ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "1" {
		return nil
	}
	for _, p := range parts[1:] {
		if _, err := strconv.Atoi(p); err != nil {
			return nil
		}
	}
	minor, _ := strconv.Atoi(parts[1])
	l, ok := layouts[minor]
	if !ok {
		return nil
	}
	return &l
}
