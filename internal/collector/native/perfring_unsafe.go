//go:build linux && amd64

package native

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfAttrSize is how large a description of an event is.
const perfAttrSize = uint32(unsafe.Sizeof(unix.PerfEventAttr{}))

// perfWords are where the kernel says how far it has written, and we how far we have read, at the front of a mapped
// perf buffer.
func perfWords(m []byte) (head, tail *uint64) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&m[0]))
	return &page.Data_head, &page.Data_tail
}

// perfTake copies what was written to a mapped buffer since the last time, up to a place that was read before. The
// kernel can write there again.
func perfTake(m []byte, to uint64, buf []byte) []byte {
	_, tail := perfWords(m)
	page := unix.Getpagesize()
	data := m[page:]
	size := uint64(len(data))
	for at := *tail; at < to; {
		off := at % size
		n := min(size-off, to-at)
		buf = append(buf, data[off:off+n]...)
		at += n
	}
	atomic.StoreUint64(tail, to)
	return buf
}
