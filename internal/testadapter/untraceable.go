package testadapter

// Languages whose functions cannot be traced yet: a failure of theirs has no patterns to offer.

func (Playwright) Untraceable() string { return "functions in the browser" }
func (Bun) Untraceable() string        { return "functions that Bun runs" }
func (Deno) Untraceable() string       { return "functions that Deno runs" }

// Languages of interpreters: functions are known when they are called, so patterns name files.

func (Pytest) Interpreted()   {}
func (Unittest) Interpreted() {}
func (Vitest) Interpreted()   {}
func (Jest) Interpreted()     {}
func (Mocha) Interpreted()    {}
func (NodeTest) Interpreted() {}

// A JVM's classes are known when they are loaded.

func (Maven) Interpreted()  {}
func (Gradle) Interpreted() {}

// Go's programs of tests are gone, and have no debug information in a run that is not traced.

func (Go) Interpreted() {}
