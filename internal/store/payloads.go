package store

import (
	"encoding/binary"
)

// payloads reads the payloads of a block's calls, one after the other. What is damaged reads as zeros, and bad tells.
type payloads struct {
	lens, forms, words, raw reader

	half byte // the form that is to come, if odd
	odd  bool
	over bool // a payload is larger than any
}

// payloads opens those of the block's cold columns.
func (d *decoder) payloads() (r payloads, err error) {
	for _, c := range [...]struct {
		column int
		into   *reader
	}{{coldLen, &r.lens}, {coldForm, &r.forms}, {coldWords, &r.words}, {coldRaw, &r.raw}} {
		if c.into.b, err = d.far.column(c.column); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *payloads) bad() bool { return r.over || r.lens.bad || r.forms.bad || r.words.bad || r.raw.bad }

// formSizes has the bytes of a word by its form, formMasks which of the eight that are there belong to it.
var (
	formSizes = [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6}
	formMasks = func() (m [16]uint64) {
		for form, size := range formSizes {
			m[form] = 1<<(8*size) - 1 // of 8: all
		}
		return m
	}()
)

// length reads a payload's and returns how many words begin it.
func (r *payloads) length(p *payloadState) int {
	if v := r.lens.uvarint(); v > maxColumn {
		r.over = true
		p.n = 0
	} else if v != 0 {
		p.n = int(v - 1)
	}
	return min(p.n/8, len(p.w))
}

func (r *payloads) form() byte {
	if r.odd {
		r.odd = false
		return r.half
	}
	if len(r.forms.b) == 0 {
		r.forms.bad = true
		return 0
	}
	b := r.forms.b[0]
	r.forms.b = r.forms.b[1:]
	r.half, r.odd = b>>4, true
	return b & 15
}

// pass reads a payload for those that build on it: its words.
func (r *payloads) pass(p *payloadState) {
	words := r.length(p)
	for k := range words {
		form := r.form()
		size := int(formSizes[form])
		b := r.words.b
		if size > len(b) {
			r.words.bad = true
			return
		}
		var v uint64
		if len(b) >= 8 {
			v = binary.LittleEndian.Uint64(b) & formMasks[form]
		} else {
			var end [8]byte
			copy(end[:], b[:size])
			v = binary.LittleEndian.Uint64(end[:])
		}
		r.words.b = b[size:]
		if form < 8 {
			v = p.w[k] + uint64(unzigzag(v))
		}
		p.w[k] = v
	}
	if rest := p.n - 8*words; rest > 0 {
		r.raw.bytes(rest)
	}
}

// read reads a payload and appends it to pay.
func (r *payloads) read(p *payloadState, pay []byte) []byte {
	raw := r.raw.b
	if r.pass(p); r.bad() || len(pay)+p.n > maxColumn {
		r.over = true
		return pay
	}
	words := min(p.n/8, len(p.w))
	for _, w := range p.w[:words] {
		pay = binary.LittleEndian.AppendUint64(pay, w)
	}
	return append(pay, raw[:p.n-8*words]...)
}

// skip steps over a payload. Its words stay unknown.
func (r *payloads) skip(p *payloadState) {
	words, size := r.length(p), 0
	for range words {
		size += int(formSizes[r.form()])
	}
	r.words.bytes(size)
	if rest := p.n - 8*words; rest > 0 {
		r.raw.bytes(rest)
	}
}
