package symbol

// valueClass says what an attribute's value is.
type valueClass uint8

const (
	clsNone   valueClass = iota
	clsAddr              // u
	clsConst             // u, sign-extended when signed
	clsRef               // u is a dieRef
	clsSig               // u is a type signature
	clsOffset            // u is an offset in another section
	clsIndex             // u is an index in a list section (loclistx, rnglistx)
	clsBlock             // b
	clsString            // u is a strRef
	clsFlag              // u
	clsAlt               // a DIE in a supplementary file that was not found
)

// value is one decoded attribute value.
type value struct {
	class  valueClass
	signed bool
	u      uint64
	b      []byte
}

// skip moves r over a value of any form.
func (u *unit) skip(r *reader, form uint16) {
	if n := fixedSize(form, abbrevKey{offSize: u.offSize, addrSize: u.addrSize, old: u.version < 3}); n >= 0 {
		r.skip(uint64(n))
		return
	}
	skipForm(r, form, 0)
}

// value reads one attribute.
func (u *unit) value(r *reader, at abbrevAttr) value {
	form := at.form
	if form == formIndirect {
		if form = uint16(r.uleb()); form == formIndirect || form == formImplicitConst {
			r.fail()
			return value{}
		}
	}
	switch form {
	case formAddr:
		return value{class: clsAddr, u: r.word(int(u.addrSize))}
	case formAddrx, formGNUAddrIndex:
		return value{class: clsAddr, u: u.addrAt(r.uleb())}
	case formAddrx1:
		return value{class: clsAddr, u: u.addrAt(uint64(r.u8()))}
	case formAddrx2:
		return value{class: clsAddr, u: u.addrAt(uint64(r.u16()))}
	case formAddrx3:
		return value{class: clsAddr, u: u.addrAt(uint64(r.u24()))}
	case formAddrx4:
		return value{class: clsAddr, u: u.addrAt(uint64(r.u32()))}
	case formData1:
		return value{class: clsConst, u: uint64(r.u8())}
	case formData2:
		return value{class: clsConst, u: uint64(r.u16())}
	case formData4:
		v := value{class: clsConst, u: uint64(r.u32())}
		if u.version < 4 && u.offSize == 4 {
			v.class = sectionOrConst(at.name)
		}
		return v
	case formData8:
		v := value{class: clsConst, u: r.u64()}
		if u.version < 4 && u.offSize == 8 {
			v.class = sectionOrConst(at.name)
		}
		return v
	case formUdata:
		return value{class: clsConst, u: r.uleb()}
	case formSdata:
		return value{class: clsConst, signed: true, u: uint64(r.sleb())}
	case formImplicitConst:
		return value{class: clsConst, signed: true, u: uint64(at.implicit)}
	case formFlag:
		return value{class: clsFlag, u: uint64(r.u8())}
	case formFlagPresent:
		return value{class: clsFlag, u: 1}
	case formSecOffset:
		return value{class: clsOffset, u: r.word(int(u.offSize))}
	case formLoclistx, formRnglistx:
		return value{class: clsIndex, u: r.uleb()}
	}
	return u.value2(r, form)
}

// value2 reads blocks, references and strings.
func (u *unit) value2(r *reader, form uint16) value {
	switch form {
	case formExprloc, formBlock:
		return value{class: clsBlock, b: r.bytes(r.uleb())}
	case formBlock1:
		return value{class: clsBlock, b: r.bytes(uint64(r.u8()))}
	case formBlock2:
		return value{class: clsBlock, b: r.bytes(uint64(r.u16()))}
	case formBlock4:
		return value{class: clsBlock, b: r.bytes(uint64(r.u32()))}
	case formData16:
		return value{class: clsBlock, b: r.bytes(16)}
	case formRef1:
		return u.local(uint64(r.u8()))
	case formRef2:
		return u.local(uint64(r.u16()))
	case formRef4:
		return u.local(uint64(r.u32()))
	case formRef8:
		return u.local(r.u64())
	case formRefUdata:
		return u.local(r.uleb())
	case formRefAddr:
		n := int(u.offSize)
		if u.version < 3 {
			n = int(u.addrSize)
		}
		return value{class: clsRef, u: uint64(makeRef(u.sec.file.infos, r.word(n)))}
	case formRefSig8:
		return value{class: clsSig, u: r.u64()}
	case formGNURefAlt, formRefSup4, formRefSup8:
		n := int(u.offSize)
		if form == formRefSup4 {
			n = 4
		} else if form == formRefSup8 {
			n = 8
		}
		off := r.word(n)
		if u.sec.file.alt == nil {
			return value{class: clsAlt}
		}
		return value{class: clsRef, u: uint64(makeRef(u.sec.file.alt.infos, off))}
	case formString, formStrp, formLineStrp, formStrx, formStrx1, formStrx2, formStrx3, formStrx4,
		formGNUStrIndex, formStrpSup, formGNUStrpAlt:
		return value{class: clsString, u: uint64(u.str(r, form))}
	}
	r.fail()
	return value{}
}

// sectionOrConst settles data4 and data8 of DWARF 2 and 3, which are offsets in attributes that can be lists.
func sectionOrConst(name uint16) valueClass {
	switch name {
	case atLocation, atStmtList, atRanges, atFrameBase, atMemberLocation:
		if name == atMemberLocation {
			return clsConst
		}
		return clsOffset
	}
	return clsConst
}

func (u *unit) local(off uint64) value {
	return value{class: clsRef, u: uint64(u.ref(u.off + off))}
}

// str reads a string attribute without looking at the string.
func (u *unit) str(r *reader, form uint16) strRef {
	switch form {
	case formString:
		off := r.off
		r.cstr()
		return makeStr(strInfo, uint64(off))
	case formStrp:
		return makeStr(strStr, r.word(int(u.offSize)))
	case formLineStrp:
		return makeStr(strLine, r.word(int(u.offSize)))
	case formStrx, formGNUStrIndex:
		return u.strx(r.uleb())
	case formStrx1:
		return u.strx(uint64(r.u8()))
	case formStrx2:
		return u.strx(uint64(r.u16()))
	case formStrx3:
		return u.strx(uint64(r.u24()))
	case formStrx4:
		return u.strx(uint64(r.u32()))
	case formStrpSup, formGNUStrpAlt:
		return makeStr(strAlt, r.word(int(u.offSize)))
	}
	u.skip(r, form)
	return 0
}

func (u *unit) strx(i uint64) strRef {
	if i > 1<<40 {
		return 0
	}
	r := newReader(u.sec.file.strOff, u.strBase+i*uint64(u.offSize))
	off := r.word(int(u.offSize))
	if r.bad {
		return 0
	}
	return makeStr(strStr, off)
}

// addrAt reads entry i of the unit's address table. Split units use their skeleton's.
func (u *unit) addrAt(i uint64) uint64 {
	f, base := u.sec.file, u.addrBase
	if u.skel != nil {
		f, base = u.skel.sec.file, u.skel.addrBase
	}
	if i > 1<<40 {
		return 0
	}
	r := newReader(f.addr, base+i*uint64(u.addrSize))
	return r.word(int(u.addrSize))
}
