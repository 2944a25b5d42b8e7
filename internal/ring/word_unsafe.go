package ring

import "unsafe"

func tailWord(h *Header) *uint32 { return (*uint32)(unsafe.Pointer(&h.Tail)) }
