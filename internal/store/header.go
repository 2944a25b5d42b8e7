package store

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

// errDamaged is what every decoder returns for bytes that no encoder wrote.
var errDamaged = errors.New("damaged block")

// header is what is known of a block without reading it. All headers are in memory: they prune
// scans and answer most counts. It never changes.
type header struct {
	first, last event.ID
	n           int
	sparse      bool
	tsMin       int64
	tsMax       int64
	maxDur      int64
	retMin      int64 // over exits with event.HasRet; retMin > retMax if there are none
	retMax      int64
	kinds       [event.NumKinds]uint32
	firstCall   event.ID // 0 if there is none

	funcs   []uint32 // ascending
	fEnter  []uint16
	fExit   []uint16
	threads []uint32 // ascending
	tEnter  []uint16
	tExit   []uint16
	tOther  []uint16
}

// calls returns the number of call events.
func (h *header) calls() int64 {
	return int64(h.kinds[event.FunctionEnter]) + int64(h.kinds[event.FunctionExit])
}

// others returns the number of events that are not calls.
func (h *header) others() int64 { return int64(h.n) - h.calls() }

// appendHeader encodes h after dst.
func appendHeader(dst []byte, h *header) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.n))
	flag := uint64(0)
	if h.sparse {
		flag = 1
	}
	dst = binary.AppendUvarint(dst, flag)
	for _, v := range [...]int64{h.first, h.last - h.first, h.tsMin, h.tsMax, h.maxDur, h.retMin, h.retMax, h.firstCall} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.kinds)))
	for _, k := range h.kinds {
		dst = binary.AppendUvarint(dst, uint64(k))
	}
	dst = appendAscending(dst, h.funcs)
	for i := range h.funcs {
		dst = binary.AppendUvarint(dst, uint64(h.fEnter[i]))
		dst = binary.AppendUvarint(dst, uint64(h.fExit[i]))
	}
	dst = appendAscending(dst, h.threads)
	for i := range h.threads {
		dst = binary.AppendUvarint(dst, uint64(h.tEnter[i]))
		dst = binary.AppendUvarint(dst, uint64(h.tExit[i]))
		dst = binary.AppendUvarint(dst, uint64(h.tOther[i]))
	}
	return dst
}

func appendAscending(dst []byte, v []uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	prev := uint32(0)
	for _, x := range v {
		dst = binary.AppendUvarint(dst, uint64(x-prev))
		prev = x
	}
	return dst
}

// decodeHeader decodes what appendHeader wrote, and checks it.
func decodeHeader(data []byte) (*header, error) {
	r := reader{b: data}
	h := &header{}
	h.n = r.count(blockEvents)
	h.sparse = r.uvarint()&1 != 0
	h.first = r.varint()
	span := r.varint()
	h.tsMin, h.tsMax, h.maxDur, h.retMin, h.retMax = r.varint(), r.varint(), r.varint(), r.varint(), r.varint()
	h.firstCall = r.varint()
	kinds := r.count(256)
	var sum uint64
	for k := range kinds {
		v := r.uvarint()
		if sum += v; v > blockEvents {
			return nil, errDamaged
		}
		if k < len(h.kinds) {
			h.kinds[k] = uint32(v)
		}
	}
	h.funcs = r.ascending()
	h.fEnter, h.fExit = make([]uint16, len(h.funcs)), make([]uint16, len(h.funcs))
	for i := range h.funcs {
		h.fEnter[i], h.fExit[i] = uint16(r.count(blockEvents)), uint16(r.count(blockEvents))
	}
	h.threads = r.ascending()
	h.tEnter, h.tExit, h.tOther = make([]uint16, len(h.threads)), make([]uint16, len(h.threads)),
		make([]uint16, len(h.threads))
	for i := range h.threads {
		h.tEnter[i], h.tExit[i], h.tOther[i] = uint16(r.count(blockEvents)), uint16(r.count(blockEvents)),
			uint16(r.count(blockEvents))
	}
	ok := !r.bad && h.n > 0 && sum == uint64(h.n) && h.first > 0 && span >= int64(h.n)-1 && span <= math.MaxInt64-h.first
	if !ok || !h.sparse && span != int64(h.n)-1 {
		return nil, errDamaged
	}
	h.last = h.first + span
	return h, nil
}

// blockOf computes the header of events [from, to) of c, and for each of them the index of its
// function and thread in the header's lists (len(h.funcs): none), in scratch s.
func blockOf(c *columns, from, to int, s *scratch) *header {
	h := &header{
		first: c.id(from), last: c.id(to - 1), n: to - from, sparse: c.ids != nil,
		tsMin: math.MaxInt64, tsMax: math.MinInt64, retMin: math.MaxInt64, retMax: math.MinInt64,
	}
	for i := from; i < to; i++ {
		ts := c.ts[i]
		h.tsMin, h.tsMax = min(h.tsMin, ts), max(h.tsMax, ts)
		h.kinds[c.kind[i]]++
		if h.firstCall == 0 && event.Kind(c.kind[i]).IsCall() {
			h.firstCall = c.id(i)
		}
		if event.Kind(c.kind[i]) == event.FunctionExit {
			h.maxDur = max(h.maxDur, c.dur[i])
			if event.Flags(c.flags[i])&event.HasRet != 0 {
				h.retMin, h.retMax = min(h.retMin, c.ret[i]), max(h.retMax, c.ret[i])
			}
		}
	}
	h.funcs = s.funcs.index(c.fn[from:to])
	h.threads = s.threads.index(c.thread[from:to])
	h.fEnter, h.fExit = make([]uint16, len(h.funcs)), make([]uint16, len(h.funcs))
	h.tEnter, h.tExit, h.tOther = make([]uint16, len(h.threads)), make([]uint16, len(h.threads)),
		make([]uint16, len(h.threads))
	for i, lf := range s.funcs.local {
		lt := s.threads.local[i]
		switch event.Kind(c.kind[from+i]) {
		case event.FunctionEnter:
			h.fEnter[lf]++
			h.tEnter[lt]++
		case event.FunctionExit:
			h.fExit[lf]++
			h.tExit[lt]++
		default:
			h.tOther[lt]++
		}
	}
	return h
}

// indexer maps a block's values to positions in the ascending list of those that occur. Values
// of all ones get a position in the list only for threads (NoThread); noFunc gets len(list).
type indexer struct {
	keepAll bool
	stamp   []uint32 // by value: the round in which it was seen
	pos     []uint16 // by value
	round   uint32
	local   []uint16 // result: position of each value
}

// index returns the ascending list and fills x.local.
func (x *indexer) index(values []uint32) []uint32 {
	x.round++
	var list []uint32
	top := false
	for _, v := range values {
		if v == noFunc {
			top = true
			continue
		}
		if int(v) >= len(x.stamp) {
			n := max(int(v)+1, 2*len(x.stamp), 64)
			x.stamp = append(x.stamp, make([]uint32, n-len(x.stamp))...)
			x.pos = append(x.pos, make([]uint16, n-len(x.pos))...)
		}
		if x.stamp[v] != x.round {
			x.stamp[v] = x.round
			list = append(list, v)
		}
	}
	slices.Sort(list)
	for i, v := range list {
		x.pos[v] = uint16(i)
	}
	none := uint16(len(list))
	if top && x.keepAll {
		list = append(list, noFunc)
	}
	x.local = x.local[:0]
	for _, v := range values {
		if v == noFunc {
			x.local = append(x.local, none)
		} else {
			x.local = append(x.local, x.pos[v])
		}
	}
	return list
}
