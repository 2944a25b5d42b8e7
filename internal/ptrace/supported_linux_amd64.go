package ptrace

// Supported is nil: this platform has a tracer.
func Supported() error { return nil }
