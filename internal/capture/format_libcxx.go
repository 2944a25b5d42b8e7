package capture

// libcxx knows the types of its library.
var libcxx []*formatter
