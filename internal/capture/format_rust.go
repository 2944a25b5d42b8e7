package capture

// rustStd knows the types of its library.
var rustStd []*formatter
