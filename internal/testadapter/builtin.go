package testadapter

// Builtin are all adapters, in the order that breaks ties of detection.
func Builtin() []Adapter {
	return []Adapter{
		Cargo{},
		Nextest{},
		Catch2{},
		Pytest{},
		Unittest{},
		Vitest{},
		Jest{},
		Bun{},
		Deno{},
		Go{},
		GTest{},
		Doctest{},
		Mocha{},
		NodeTest{},
		Playwright{},
		CTest{},
		Meson{},
		Maven{},
		Gradle{},
		Generic{},
	}
}
