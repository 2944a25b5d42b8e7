package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestHeapPaceFollows: how much garbage may lie about is set anew behind a collection, whatever small objects live beside
// what tells of it.
func TestHeapPaceFollows(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	beside := []*int64{new(int64), new(int64), new(int64)}
	keepHeapFloor()
	beside = append(beside, new(int64), new(int64), new(int64))
	alive := make([]byte, 400<<20) // is never touched, and takes no memory
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	strobetest.Eventually(t, 10*time.Second, "the pace to follow", func() bool {
		runtime.GC()
		metrics.Read(percent)
		return percent[0].Value.Uint64() == uint64(gcPercent(uint64(len(alive))))
	})
	runtime.KeepAlive(alive)
	runtime.KeepAlive(beside)
}
