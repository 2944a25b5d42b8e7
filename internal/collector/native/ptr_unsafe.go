package native

import "unsafe"

func ptrOf(w *uint32) unsafe.Pointer { return unsafe.Pointer(w) }
