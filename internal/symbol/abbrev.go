package symbol

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// abbrevAttr is one attribute of an abbreviation.
type abbrevAttr struct {
	name, form uint16
	implicit   int64
}

// abbrev is one abbreviation with a precompiled way to skip a DIE of its shape: runs of fixed
// bytes between attributes of variable size. Skipping is what indexing mostly does.
type abbrev struct {
	tag      uint16
	children bool
	sibling  bool // has DW_AT_sibling
	class    scanClass
	attrs    []abbrevAttr
	steps    []skipStep
}

// skipStep skips n bytes, then one attribute of the given form (0: none).
type skipStep struct {
	n    uint32
	form uint16
}

// abbrevTable maps codes, which producers count from one, to abbreviations. It is read when it is first needed: most
// units of a library are never looked into, but at their roots. Safe for concurrent use.
type abbrevTable struct {
	data []byte
	k    abbrevKey

	once  sync.Once
	whole atomic.Bool // dense and more are there
	dense []*abbrev
	more  map[uint64]*abbrev
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if !t.whole.Load() {
		t.once.Do(t.read)
	}
	if code < uint64(len(t.dense)) {
		return t.dense[code]
	}
	return t.more[code]
}

// root returns the abbreviation of a unit's first DIE, mostly the table's first: the others are not read for it.
func (t *abbrevTable) root(code uint64) *abbrev {
	if t.whole.Load() {
		return t.get(code)
	}
	for r := newReader(t.data, t.k.off); ; {
		here := r
		switch c := r.uleb(); {
		case c == 0 || r.bad:
			return nil
		case c == code:
			_, a := readAbbrev(&here)
			a.compile(t.k)
			return a
		}
		skipAbbrev(&r)
	}
}

// skipAbbrev moves r from behind an abbreviation's code to its end.
func skipAbbrev(r *reader) {
	r.uleb()
	r.u8()
	for {
		name, form := r.uleb(), r.uleb()
		if r.bad || name == 0 && form == 0 {
			return
		}
		if form == formImplicitConst {
			r.sleb()
		}
	}
}

type abbrevKey struct {
	off      uint64
	offSize  uint8
	addrSize uint8
	old      bool // DWARF 2: DW_FORM_ref_addr has the size of an address
}

// abbrevCache shares tables between units. Safe for concurrent use.
type abbrevCache struct {
	mu     sync.Mutex
	tables map[abbrevKey]*abbrevTable
}

func (c *abbrevCache) get(data []byte, k abbrevKey) (*abbrevTable, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tables[k]; t != nil {
		return t, nil
	}
	if k.off >= uint64(len(data)) {
		return nil, fmt.Errorf("abbreviation table at %#x lies outside its section", k.off)
	}
	t := &abbrevTable{data: data, k: k}
	if c.tables == nil {
		c.tables = map[abbrevKey]*abbrevTable{}
	}
	c.tables[k] = t
	return t, nil
}

// maxDenseCode bounds the slice that is indexed by code; beyond it codes go to a map.
const maxDenseCode = 1 << 14

// read reads all. What could be read of a damaged table is used; DIEs with other codes are reported.
func (t *abbrevTable) read() {
	for r := newReader(t.data, t.k.off); ; {
		code, a := readAbbrev(&r)
		if a == nil {
			break
		}
		a.compile(t.k)
		t.put(code, a)
	}
	t.whole.Store(true)
}

// readAbbrev reads the next abbreviation; nil: there is none.
func readAbbrev(r *reader) (code uint64, a *abbrev) {
	if code = r.uleb(); code == 0 || r.bad {
		return 0, nil
	}
	a = &abbrev{tag: uint16(r.uleb()), children: r.u8() != 0}
	for {
		name, form := r.uleb(), r.uleb()
		if r.bad || name == 0 && form == 0 {
			return code, a
		}
		at := abbrevAttr{name: uint16(name), form: uint16(form)}
		if form == formImplicitConst {
			at.implicit = r.sleb()
		}
		if name == atSibling {
			a.sibling = true
		}
		a.attrs = append(a.attrs, at)
	}
}

func (t *abbrevTable) put(code uint64, a *abbrev) {
	if code < maxDenseCode {
		for uint64(len(t.dense)) <= code {
			t.dense = append(t.dense, nil)
		}
		if t.dense[code] == nil {
			t.dense[code] = a
		}
		return
	}
	if t.more == nil {
		t.more = map[uint64]*abbrev{}
	}
	t.more[code] = a
}

func (a *abbrev) compile(k abbrevKey) {
	a.class = classOf(a.tag)
	var n uint32
	for _, at := range a.attrs {
		if s := fixedSize(at.form, k); s >= 0 {
			n += uint32(s)
			continue
		}
		a.steps = append(a.steps, skipStep{n, at.form})
		n = 0
	}
	if n > 0 {
		a.steps = append(a.steps, skipStep{n, 0})
	}
}

// fixedSize returns the size of a form's bytes, or -1 where it depends on the bytes.
func fixedSize(form uint16, k abbrevKey) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(k.addrSize)
	case formRefAddr:
		if k.old {
			return int(k.addrSize)
		}
		return int(k.offSize)
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(k.offSize)
	}
	return -1
}

// skipAttrs moves r over the attributes of a DIE of shape a.
func (a *abbrev) skipAttrs(r *reader) {
	for _, s := range a.steps {
		r.skip(uint64(s.n))
		if s.form != 0 {
			skipForm(r, s.form, 0)
		}
	}
}

// skipForm moves r over a form of variable size. An unknown form ends the unit.
func skipForm(r *reader, form uint16, depth int) {
	switch form {
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex,
		formSdata:
		r.uleb()
	case formString:
		r.cstr()
	case formExprloc, formBlock:
		r.skip(r.uleb())
	case formBlock1:
		r.skip(uint64(r.u8()))
	case formBlock2:
		r.skip(uint64(r.u16()))
	case formBlock4:
		r.skip(uint64(r.u32()))
	case formIndirect:
		f := uint16(r.uleb())
		if depth > 0 {
			r.fail()
			return
		}
		// Sizes that depend on the unit are those of 64-bit code and 32-bit DWARF here: nobody emits this form.
		if n := fixedSize(f, abbrevKey{offSize: 4, addrSize: 8}); n >= 0 {
			r.skip(uint64(n))
			return
		}
		skipForm(r, f, 1)
	default:
		r.fail()
	}
}
