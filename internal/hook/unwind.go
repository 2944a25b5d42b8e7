package hook

import "encoding/binary"

// FDEOffset is where the FDE begins in what EHFrame returns, for unwinders that register an FDE
// (LLVM's libunwind) where others register a section (libgcc).
const FDEOffset = 24

// EHFrame returns an .eh_frame section for an arena of stubs: one CIE, one FDE for the bytes from
// arenaLo on, and a terminator. It says of every stub alike: CFA = rbp+16, the return
// address at CFA-8, the caller's rbp at CFA-16. That is so wherever a CallThrough stub calls.
func EHFrame(arenaLo Addr, arenaLen int) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, 64)
	b = le.AppendUint32(b, 20) // CIE: length, then id 0
	b = le.AppendUint32(b, 0)
	b = append(b,
		1, 0, // version, no augmentation: absolute pointers
		1, 0x78, 16, // code alignment 1, data alignment -8, return address in column 16
		0x0C, 6, 16, // DW_CFA_def_cfa rbp, 16
		0x80|16, 1, // DW_CFA_offset: return address at CFA-8
		0x80|6, 2, // rbp at CFA-16
		0, 0, 0, 0) // DW_CFA_nop
	b = le.AppendUint32(b, 24)               // FDE: length
	b = le.AppendUint32(b, uint32(len(b)))   // distance back to the CIE
	b = le.AppendUint64(b, uint64(arenaLo))  //
	b = le.AppendUint64(b, uint64(arenaLen)) //
	b = append(b, 0, 0, 0, 0)                // DW_CFA_nop
	return le.AppendUint32(b, 0)             // terminator
}
