// Package lazyregexp is regular expressions that are compiled when they are first used.
//
// It is of no layer. Every process of Strobe's begins with hundreds of them, and most processes (a client's pipe, a
// session's worker) use none: compiling all took each 17 ms of CPU time.
//
// Invariants: one that does not compile panics in the tests of every package that has it.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regexp.Regexp, of which Get returns the whole. Safe for concurrent use.
type Regexp struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

var inTest = len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test")

// MustCompile makes one. In tests it compiles it as well.
func MustCompile(text string) *Regexp {
	r := &Regexp{text: text}
	if inTest {
		r.Get()
	}
	return r
}

// Get compiles it, unless it is, and panics where it cannot be.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

// What follows is regexp.Regexp's.

func (r *Regexp) String() string                         { return r.text }
func (r *Regexp) Match(b []byte) bool                    { return r.Get().Match(b) }
func (r *Regexp) MatchString(s string) bool              { return r.Get().MatchString(s) }
func (r *Regexp) FindString(s string) string             { return r.Get().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int         { return r.Get().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string   { return r.Get().FindStringSubmatch(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte         { return r.Get().FindSubmatch(b) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.Get().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.Get().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.Get().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.Get().FindAllSubmatch(b, n)
}
func (r *Regexp) ReplaceAllString(s, with string) string { return r.Get().ReplaceAllString(s, with) }
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.Get().ReplaceAllLiteralString(s, with)
}
func (r *Regexp) ReplaceAll(b, with []byte) []byte { return r.Get().ReplaceAll(b, with) }
func (r *Regexp) Split(s string, n int) []string   { return r.Get().Split(s, n) }
func (r *Regexp) SubexpIndex(name string) int      { return r.Get().SubexpIndex(name) }
