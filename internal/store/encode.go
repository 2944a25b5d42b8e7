package store

import (
	"encoding/binary"
	"math/bits"

	"github.com/strobe-debug/strobe/internal/event"
)

// The columns of the two blobs of a block. Append only; formatVersion grows with them.
//
//	hot  (filter columns)                      cold (decoded only for rows that are returned)
//	0 kind and flags, by dictionary            0 exits: their enter, 0 if as predicted
//	1 thread, position in the header's list    1 parent, 0 if as predicted
//	2 function, the same                       2 depth, 0 if as predicted
//	3 time, differences                        3 payload length, 0 if as before
//	4 duration of exits                        4 payload words: form, 4 bits each
//	5 results, differences by function         5 payload words: bytes
//	6 ids, differences; sparse blocks only     6 payload bytes that are not words
const (
	hotTag = iota
	hotThread
	hotFunc
	hotTime
	hotDur
	hotRet
	hotIDs
	hotColumns
)

const (
	coldEnter = iota
	coldParent
	coldDepth
	coldLen
	coldForm
	coldWords
	coldRaw
	coldColumns
)

// formatVersion is column format of table chunks.
const formatVersion = 1

// scratch is what encoding needs over and over. Not safe for concurrent use.
type scratch struct {
	funcs, threads indexer
	tags           indexer
	tag            []uint32
	hot            [hotColumns][]byte
	cold           [coldColumns][]byte
	body, comp     []byte
	retPrev        []int64
	pred           predictor
	words          wordState
}

func newScratch() *scratch {
	return &scratch{threads: indexer{keepAll: true}}
}

// encodeBlock encodes events [from, to) of c, at most blockEvents.
func encodeBlock(c *columns, from, to int, compress bool, s *scratch) (h *header, hot, cold []byte) {
	h = blockOf(c, from, to, s)
	hot = s.encodeHot(h, c, from, to, compress)
	cold = s.encodeCold(h, c, from, to, compress)
	return h, hot, cold
}

func (s *scratch) encodeHot(h *header, c *columns, from, to int, compress bool) []byte {
	for i := range s.hot {
		s.hot[i] = s.hot[i][:0]
	}
	s.tag = s.tag[:0]
	for i := from; i < to; i++ {
		s.tag = append(s.tag, uint32(c.kind[i])|uint32(c.flags[i])<<8)
	}
	dict := s.tags.index(s.tag)
	s.hot[hotTag] = appendPlanes(appendAscending(s.hot[hotTag], dict), s.tags.local, len(dict))
	s.hot[hotThread] = appendPlanes(s.hot[hotThread], s.threads.local, len(h.threads))
	s.hot[hotFunc] = appendPlanes(s.hot[hotFunc], s.funcs.local, len(h.funcs)+1)

	s.retPrev = append(s.retPrev[:0], make([]int64, len(h.funcs)+1)...)
	ts, dur, ret := s.hot[hotTime], s.hot[hotDur], s.hot[hotRet]
	prev := int64(0)
	for i := from; i < to; i++ {
		ts = binary.AppendUvarint(ts, zigzag(c.ts[i]-prev))
		prev = c.ts[i]
		if event.Kind(c.kind[i]) != event.FunctionExit {
			continue
		}
		dur = binary.AppendUvarint(dur, uint64(c.dur[i]))
		if event.Flags(c.flags[i])&event.HasRet != 0 {
			p := &s.retPrev[s.funcs.local[i-from]]
			ret = binary.AppendUvarint(ret, zigzag(c.ret[i]-*p))
			*p = c.ret[i]
		}
	}
	s.hot[hotTime], s.hot[hotDur], s.hot[hotRet] = ts, dur, ret
	if c.ids != nil {
		last := h.first
		for _, id := range c.ids[from:to] {
			s.hot[hotIDs] = binary.AppendUvarint(s.hot[hotIDs], uint64(id-last))
			last = id
		}
	}
	return appendColumns(nil, s.hot[:], compress, s)
}

// appendPlanes appends values below count: one byte each, or all low bytes and then all high ones.
func appendPlanes(dst []byte, v []uint16, count int) []byte {
	for _, x := range v {
		dst = append(dst, byte(x))
	}
	if count > 256 {
		for _, x := range v {
			dst = append(dst, byte(x>>8))
		}
	}
	return dst
}

func (s *scratch) encodeCold(h *header, c *columns, from, to int, compress bool) []byte {
	for i := range s.cold {
		s.cold[i] = s.cold[i][:0]
	}
	s.pred.reset(len(h.threads))
	s.words.reset(len(h.funcs))
	for i := from; i < to; i++ {
		lt := s.threads.local[i-from]
		k, id := event.Kind(c.kind[i]), c.id(i)
		enter, parent, depth := s.pred.predict(lt, k)
		s.cold[coldEnter] = appendResidual(s.cold[coldEnter], id, enter, c.enter[i], k == event.FunctionExit)
		s.cold[coldParent] = appendResidual(s.cold[coldParent], id, parent, c.parent[i], true)
		s.cold[coldDepth] = binary.AppendUvarint(s.cold[coldDepth], zigzag(int64(c.depth[i]-depth)))
		s.pred.update(lt, k, id, c.enter[i], c.parent[i], c.depth[i])
		if k.IsCall() {
			s.encodePayload(s.words.slot(s.funcs.local[i-from], k), c.payload(i))
		}
	}
	s.words.flush(&s.cold[coldForm])
	return appendColumns(nil, s.cold[:], compress, s)
}

// appendResidual appends how actual, which is in [0, id], differs from what was predicted.
func appendResidual(dst []byte, id, predicted, actual event.ID, has bool) []byte {
	if !has {
		return dst
	}
	if predicted == actual {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(id-actual)+1)
}

func (s *scratch) encodePayload(p *payloadState, data []byte) {
	if len(data) == p.n {
		s.cold[coldLen] = append(s.cold[coldLen], 0)
	} else {
		s.cold[coldLen] = binary.AppendUvarint(s.cold[coldLen], uint64(len(data))+1)
	}
	p.n = len(data)
	words := min(len(data)/8, len(p.w))
	for k := range words {
		w := binary.LittleEndian.Uint64(data[8*k:])
		form, v, size := wordForm(w, p.w[k])
		p.w[k] = w
		s.words.putForm(&s.cold[coldForm], form)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		s.cold[coldWords] = append(s.cold[coldWords], b[:size]...)
	}
	s.words.last = p.slot
	s.cold[coldRaw] = append(s.cold[coldRaw], data[8*words:]...)
}

// Forms of a payload word: 0..7 that many bytes of the difference from the word before it, 8 the
// word itself, 9..15 the 0..6 low bytes of the word.
func wordForm(w, prev uint64) (form byte, v uint64, size int) {
	d := zigzag(int64(w - prev))
	nd, nw := (bits.Len64(d)+7)/8, (bits.Len64(w)+7)/8
	switch {
	case nd <= nw && nd < 8:
		return byte(nd), d, nd
	case nw < 7:
		return byte(9 + nw), w, nw
	}
	return 8, w, 8
}

// payloadState is the last payload of one function's enters or exits.
type payloadState struct {
	n    int
	slot int       // of itself in states
	w    [8]uint64 // what registers give; what follows them is text and structures
}

// wordState is what the encoder and the decoder of payloads both keep, in step.
type wordState struct {
	slotOf []int32 // by function position and direction: index in states, 0: none yet
	states []payloadState
	last   int  // the state of the last payload
	half   byte // the form that waits for its other half
	odd    bool
}

func (s *wordState) reset(funcs int) {
	s.slotOf = append(s.slotOf[:0], make([]int32, 2*(funcs+1))...)
	s.states, s.last, s.half, s.odd = append(s.states[:0], payloadState{}), 0, 0, false
}

// slot returns the state for a function. A function's first payload is compared with the last
// one of any. The pointer is valid until the next call.
func (s *wordState) slot(lf uint16, k event.Kind) *payloadState {
	at := 2 * int(lf)
	if k == event.FunctionExit {
		at++
	}
	if s.slotOf[at] == 0 {
		s.states = append(s.states, s.states[s.last])
		s.slotOf[at] = int32(len(s.states) - 1)
		s.states[s.slotOf[at]].slot = int(s.slotOf[at])
	}
	return &s.states[s.slotOf[at]]
}

func (s *wordState) putForm(dst *[]byte, form byte) {
	if s.odd {
		*dst = append(*dst, s.half|form<<4)
	} else {
		s.half = form
	}
	s.odd = !s.odd
}

func (s *wordState) flush(dst *[]byte) {
	if s.odd {
		*dst = append(*dst, s.half)
	}
}

// predictor guesses parent, enter and depth from the calls that the block has shown so far. It may
// be wrong; the encoder writes the difference. Encoder and decoder feed it alike.
type predictor struct {
	stacks [][]openCall // by position of the thread
}

type openCall struct {
	id    event.ID
	depth int32
}

func (p *predictor) reset(threads int) {
	for len(p.stacks) < threads {
		p.stacks = append(p.stacks, nil)
	}
	for i := range p.stacks {
		p.stacks[i] = p.stacks[i][:0]
	}
}

func (p *predictor) predict(lt uint16, k event.Kind) (enter, parent event.ID, depth int32) {
	st := p.stacks[lt]
	n := len(st)
	if n == 0 {
		return 0, 0, 0
	}
	if k != event.FunctionExit {
		return 0, st[n-1].id, st[n-1].depth + 1
	}
	if n > 1 {
		parent = st[n-2].id
	}
	return st[n-1].id, parent, st[n-1].depth
}

func (p *predictor) update(lt uint16, k event.Kind, id, enter, parent event.ID, depth int32) {
	st := p.stacks[lt]
	if k == event.FunctionExit {
		if n := len(st); n > 0 && st[n-1].id == enter {
			st = st[:n-1]
		} else {
			st = st[:0]
		}
	}
	if n := len(st); n == 0 || st[n-1].id != parent {
		st = st[:0]
		if parent != 0 {
			st = append(st, openCall{parent, depth - 1})
		}
	}
	if k == event.FunctionEnter {
		st = append(st, openCall{id, depth})
	}
	p.stacks[lt] = st
}
