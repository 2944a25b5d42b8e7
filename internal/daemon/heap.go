package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is the heap that is filled before garbage is collected, where less than half of it is alive: a burst of calls leaves so
// much garbage that it would be collected many times a second otherwise, at a fifth of the daemon's time.
const heapFloor = 96 << 20

// garbageShare of what is alive, in percent, may lie beside it as garbage, and up to garbageMost bytes; as much as is alive in any case. A
// burst keeps some 100 MB alive while its calls are encoded, and collecting at twice that took a seventh of the daemon's time.
const (
	garbageShare = 250
	garbageMost  = 256 << 20
)

// mostPercent bounds how much garbage may lie beside what is alive.
const mostPercent = 2000

// keepHeapFloor sets the collector's pace anew behind each collection, by what is alive then.
func keepHeapFloor() {
	type cycle struct{ percent int }
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var ended func(c *cycle)
	ended = func(c *cycle) {
		metrics.Read(live)
		if p := gcPercent(live[0].Value.Uint64()); p != c.percent {
			c.percent = p
			debug.SetGCPercent(p)
		}
		runtime.SetFinalizer(c, ended) // it is collected again by the next one
	}
	c := &cycle{percent: gcPercent(1)}
	debug.SetGCPercent(c.percent)
	runtime.SetFinalizer(c, ended)
}

// gcPercent is Go's GOGC for so many bytes alive, in steps, so that it changes seldom.
func gcPercent(live uint64) int {
	live = max(live, 1)
	garbage := max(live, min(live*garbageShare/100, garbageMost))
	if live < heapFloor {
		garbage = max(garbage, heapFloor-live)
	}
	return int(min(garbage*100/live, mostPercent) / 50 * 50)
}
