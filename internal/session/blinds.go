package session

import (
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// blinds knows which threads lately made writes of which nothing but the length is known. Where several do by turns,
// their records may come in another order than the bytes, the second's when the first has been given its bytes: whose
// bytes they are is not known then.
type blinds struct {
	threads []event.ThreadID // the last first
	mixed   int64            // until then they are taken to be by turns
}

const (
	blindThreads = 16
	blindFor     = int64(time.Second)
)

func (b *blinds) saw(w *collector.Write) {
	at := slices.Index(b.threads, w.Thread)
	if at > 0 { // others did since it did
		b.mixed = w.TS + blindFor
	}
	if at >= 0 {
		b.threads = slices.Delete(b.threads, at, at+1)
	}
	b.threads = slices.Insert(b.threads, 0, w.Thread)
	b.threads = b.threads[:min(len(b.threads), blindThreads)]
}
