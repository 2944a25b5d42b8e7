package daemon

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"
)

// heapFloor is the heap that is filled before garbage is collected, where less than half of it is alive: a burst of
// calls leaves so much garbage that it would be collected many times a second otherwise, at a fifth of the daemon's
// time.
const heapFloor = 96 << 20

// garbageShare of what is alive, in percent, may lie beside it as garbage, and up to garbageMost bytes; as much as is
// alive in any case. A burst keeps some 100 MB alive while its calls are encoded, and collecting at twice that took a
// seventh of the daemon's time.
const (
	garbageShare = 250
	garbageMost  = 256 << 20
)

// mostPercent bounds how much garbage may lie beside what is alive.
const mostPercent = 2000

// keepHeapFloor sets the collector's pace anew behind each collection, by what is alive then.
func keepHeapFloor() {
	type cycle struct {
		percent int
		_       *int // with a pointer in it it shares its memory with no other object, which could keep it alive
	}
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

const (
	// memoryShare of the machine's memory, and memoryLeast at the least, is what one worker may take, the spool apart,
	// which has a bound of its own: beyond that it is our fault, and better ends with one session than with all.
	memoryShare = 2
	memoryLeast = 2 << 30
	// memoryEvery is how often that is looked at: what is filled in this time is some hundred megabytes.
	memoryEvery = 100 * time.Millisecond
	// memoryExit is the exit code of a worker that took too much.
	memoryExit = 71
)

// boundMemory ends this process where it takes more memory than it may.
func boundMemory(log *slog.Logger) {
	bound := uint64(max(memoryTotal()/memoryShare, memoryLeast))
	if n, err := strconv.ParseUint(os.Getenv(envDebugMemory), 10, 64); err == nil {
		bound = n
	}
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(memoryEvery) {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > bound {
			log.Error("this session takes too much memory, and its process ends", "bytes", used, "bound", bound)
			os.Exit(memoryExit)
		}
	}
}
