// Package alpha is tested by tests of every kind of result.
package alpha

// Add adds.
func Add(a, b int) int { return a + b }
