package symbol

// Relocated sets each address that is a key to the word that stands there once the module is loaded, less the load
// bias; 0 where the loader looks it up by name. Calls through the table of other objects' addresses lead to functions
// of the same file by such words.
func (m *Module) Relocated(words map[Addr]Addr) {
	_ = m.guarded(func() error {
		found := make(map[uint64]uint64, len(words))
		for a := range words {
			found[uint64(a)] = 0
		}
		m.im.relocated(found)
		for a := range words {
			words[a] = Addr(found[uint64(a)])
		}
		return nil
	})
}
