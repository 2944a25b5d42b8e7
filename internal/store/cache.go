package store

import (
	"container/list"
	"sync"
)

// hotCacheBytes bounds the filter columns kept in memory, compressed: 10,000,000 events.
const hotCacheBytes = 64 << 20

// hotCache keeps blobs of filter columns, least recently used out first. The zero value is ready. Safe for
// concurrent use.
type hotCache struct {
	mu    sync.Mutex // leaf
	byKey map[*block]*list.Element
	order list.List // of *hotEntry, newest in front
	size  int
	full  int // admissions asked for since the cache is full
}

type hotEntry struct {
	b    *block
	blob []byte
}

// get returns the blob of b, nil if it is not cached. Nobody may change it.
func (c *hotCache) get(b *block) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[b]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*hotEntry).blob
}

// admitEvery is how many blobs that were read from the file come for one that a full cache takes. Scans go over
// all blocks in one order: were each admitted, it would push out just the one that the next scan begins with, and no
// scan would find anything.
const admitEvery = 16

// admit is add for a blob that was read.
func (c *hotCache) admit(b *block, blob []byte) {
	c.mu.Lock()
	refused := false
	if c.size+len(blob) > hotCacheBytes {
		c.full++
		refused = c.full%admitEvery != 0
	}
	c.mu.Unlock()
	if !refused {
		c.add(b, blob)
	}
}

// add keeps blob, which must not change any more.
func (c *hotCache) add(b *block, blob []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[*block]*list.Element{}
	}
	if _, ok := c.byKey[b]; ok {
		return
	}
	c.byKey[b] = c.order.PushFront(&hotEntry{b, blob})
	c.size += len(blob)
	for c.size > hotCacheBytes && c.order.Len() > 1 {
		c.dropLocked(c.order.Back())
	}
}

// remove forgets b.
func (c *hotCache) remove(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[b]; ok {
		c.dropLocked(e)
	}
}

func (c *hotCache) dropLocked(e *list.Element) {
	h := c.order.Remove(e).(*hotEntry)
	delete(c.byKey, h.b)
	c.size -= len(h.blob)
}
