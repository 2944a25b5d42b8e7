package symbol

import "sync"

// mapping is a file's bytes, which are given back once: when its module is closed, or when nobody has the image any
// more. Until then a file that was built anew meanwhile takes its memory, and its place on the disk.
type mapping struct {
	once  sync.Once
	data  []byte
	unmap func()
	also  []func() // of its unpacked sections; guarded by its image's mu
}

func (m *mapping) free() {
	m.once.Do(func() {
		m.unmap()
		for _, unmap := range m.also {
			unmap()
		}
	})
}
