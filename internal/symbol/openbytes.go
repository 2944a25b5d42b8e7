package symbol

// OpenBytes reads a module from a copy of its memory or file: the kernel's vDSO has no file. name
// stands for its path. data must not change while the module is in use. Errors are those of Open.
func OpenBytes(name string, data []byte) (*Module, error) {
	if len(data) < 64 {
		return nil, notELF(name)
	}
	im := &image{path: name, data: data, release: func() {}}
	m := &Module{Path: name, Machine: "x86_64", im: im, sources: newSources(name)}
	if err := protect(func() error { return im.readHeaders(false) }); err != nil {
		return nil, err
	}
	if err := protect(func() error { m.readHeader(); m.load(Options{DebugDirs: []string{}}); return nil }); err != nil {
		return nil, openFault(name, err)
	}
	return m, nil
}
