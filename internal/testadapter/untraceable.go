package testadapter

// Languages whose functions cannot be traced yet: a failure of theirs has no patterns to offer.

func (Go) Untraceable() string         { return "functions of Go" }
func (Pytest) Untraceable() string     { return "functions of Python" }
func (Unittest) Untraceable() string   { return "functions of Python" }
func (Vitest) Untraceable() string     { return "functions of JavaScript" }
func (Jest) Untraceable() string       { return "functions of JavaScript" }
func (Mocha) Untraceable() string      { return "functions of JavaScript" }
func (NodeTest) Untraceable() string   { return "functions of JavaScript" }
func (Playwright) Untraceable() string { return "functions of JavaScript" }
func (Bun) Untraceable() string        { return "functions of JavaScript" }
func (Deno) Untraceable() string       { return "functions of JavaScript" }
