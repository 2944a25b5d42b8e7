package wire

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// headerField is a header of HTTP/2 or a part of its first line, such as :path. known: both names are the peer's own;
// else the field stands for one that was sent before this end was looked at.
type headerField struct {
	name, value string
	known       bool
}

// headerTable is one direction's state of HPACK (RFC 7541). Indexes count from the newest entry, so one that begins in
// the midst of a connection, or is emptied after bytes were missed, names those right that came since.
type headerTable struct {
	entries []headerField // the newest last
	size    int           // by the RFC's reckoning
	max     int
	sized   bool // whether max was ever set
}

// Bounds of what HPACK is followed through. A table as large as a peer wants it is not: what it lacks is unknown.
const (
	defaultTable = 4096
	maxTable     = 1 << 16
	maxField     = 1 << 16
	entryCost    = 32
)

var errHeaders = errors.New("not a block of headers")

// forget empties the table.
func (t *headerTable) forget() { t.entries, t.size = nil, 0 }

// decode reads a whole block of headers. Where it ends with an error, the table is not what the peer's is any more.
func (t *headerTable) decode(b []byte, tell func(headerField)) (err error) {
	if !t.sized {
		t.max, t.sized = defaultTable, true
	}
	for err == nil && len(b) > 0 {
		var n uint64
		switch first := b[0]; {
		case first&0x80 != 0: // indexed
			if n, b, err = varint(b, 7); err == nil && n == 0 {
				err = errHeaders
			} else if err == nil {
				tell(t.at(n))
			}
		case first&0xe0 == 0x20: // the table's size
			if n, b, err = varint(b, 5); err == nil {
				t.max = int(min(n, maxTable))
				t.evict()
			}
		default:
			keep, bits := first&0x40 != 0, 4
			if keep {
				bits = 6
			}
			var f headerField
			if f, b, err = t.literal(b, bits); err != nil {
				return err
			}
			if keep {
				t.add(f)
			}
			tell(f)
		}
	}
	return err
}

// literal reads a field whose value, and perhaps whose name, is there.
func (t *headerTable) literal(b []byte, bits int) (f headerField, rest []byte, err error) {
	n, b, err := varint(b, bits)
	if err != nil {
		return f, nil, err
	}
	f.known = true
	if n > 0 {
		of := t.at(n)
		f.name, f.known = of.name, of.known
	} else if f.name, b, err = text(b); err != nil {
		return f, nil, err
	}
	f.value, rest, err = text(b)
	return f, rest, err
}

// at is the field of an index.
func (t *headerTable) at(n uint64) headerField {
	static := staticFields()
	if n <= uint64(len(static)) {
		return static[n-1]
	}
	if n -= uint64(len(static)); n <= uint64(len(t.entries)) {
		return t.entries[uint64(len(t.entries))-n]
	}
	return headerField{}
}

func (t *headerTable) add(f headerField) {
	t.entries = append(t.entries, f)
	t.size += f.cost()
	t.evict()
}

func (f *headerField) cost() int { return len(f.name) + len(f.value) + entryCost }

// evict drops the oldest.
func (t *headerTable) evict() {
	n := 0
	for ; t.size > t.max && n < len(t.entries); n++ {
		t.size -= t.entries[n].cost()
	}
	t.entries = slices.Delete(t.entries, 0, n)
}

// varint reads an integer whose first bits are the last of the first byte.
func varint(b []byte, bits int) (n uint64, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, errHeaders
	}
	mask := uint64(1)<<bits - 1
	if n = uint64(b[0]) & mask; n < mask {
		return n, b[1:], nil
	}
	for i, c := range b[1:] {
		if i > 4 {
			break
		}
		n += uint64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, b[i+2:], nil
		}
	}
	return 0, nil, errHeaders
}

// text reads a length and a text.
func text(b []byte) (s string, rest []byte, err error) {
	if len(b) == 0 {
		return "", nil, errHeaders
	}
	packed := b[0]&0x80 != 0
	n, b, err := varint(b, 7)
	if err != nil || n > uint64(len(b)) || n > maxField {
		return "", nil, errHeaders
	}
	if !packed {
		return string(b[:n]), b[n:], nil
	}
	s, err = unpack(b[:n])
	return s, b[n:], err
}

// packedBits are how many bits each byte has in a packed text. From them follow the codes, by length and value.
var packedBits = [257]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28,
	28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23,
	23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
	23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21,
	26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27,
	27, 28, 27, 27, 27, 27, 27, 26, 30, // the last: the end of a text
}

// packing are the codes of packed texts: of each length the first, how many there are, and where they begin in symbols.
type packing struct {
	first, count, begin [31]uint32
	symbols             []uint16
}

var packed = sync.OnceValue(func() *packing {
	p := &packing{}
	code := uint32(0)
	for bits := 1; bits <= 30; bits++ {
		code <<= 1
		p.first[bits], p.begin[bits] = code, uint32(len(p.symbols))
		for sym, n := range packedBits {
			if int(n) == bits {
				p.symbols = append(p.symbols, uint16(sym))
				p.count[bits]++
				code++
			}
		}
	}
	return p
})

// unpack reads a text of HPACK's Huffman code.
func unpack(b []byte) (string, error) {
	p := packed()
	out := make([]byte, 0, len(b)*8/5)
	code, bits := uint32(0), 0
	for _, c := range b {
		for i := 7; i >= 0; i-- {
			code, bits = code<<1|uint32(c>>i&1), bits+1
			if at := code - p.first[bits]; code >= p.first[bits] && at < p.count[bits] {
				sym := p.symbols[p.begin[bits]+at]
				if sym == 256 {
					return "", errHeaders
				}
				out = append(out, byte(sym))
				code, bits = 0, 0
			} else if bits == 30 {
				return "", errHeaders
			}
		}
	}
	if bits > 7 || code != 1<<bits-1 { // filled up with ones
		return "", errHeaders
	}
	return string(out), nil
}

// staticFields are those that both ends know from the beginning.
var staticFields = sync.OnceValue(func() (all []headerField) {
	for line := range strings.SplitSeq(staticTable, "\n") {
		name, value, _ := strings.Cut(line, " ")
		all = append(all, headerField{name, value, true})
	}
	return all
})

const staticTable = `:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`
