package symbol

import "strings"

// Sieve matches a function with many patterns at once: a name is read one time, for the words that each pattern needs
// in it, and only the patterns whose word is there are tried. It is not for concurrent use.
type Sieve struct {
	patterns []*Pattern
	matchers []func(*Function) bool
	always   []int            // those that need no word
	raw      map[string][]int // exact ones by the symbol as linked
	nodes    []sieveNode      // a trie of the words (Aho and Corasick)
	next     []int32          // len(nodes) rows of sieveWidth
	met      []int            // per pattern: in which round it was met
	round    int
}

// sieveNode is a state: some of the words end there, and those of the nodes along more.
type sieveNode struct {
	ends []int // patterns
	more int32 // the next shorter end of the text that a word ends with; 0: none
	fail int32
}

// sieveWidth is how many kinds of bytes a word has: letters, digits, _ and $, and all others, which no word crosses.
const sieveWidth = 65

var sieveKind = func() (kind [256]uint8) {
	n := uint8(1)
	for c := range 256 {
		if b := byte(c); b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			kind[c] = n
			n++
		}
	}
	return kind
}()

// NewSieve makes one. projectRoot is for @usercode and file: patterns.
func NewSieve(patterns []*Pattern, projectRoot string) *Sieve {
	s := &Sieve{patterns: patterns, raw: map[string][]int{}, nodes: make([]sieveNode, 1), next: make([]int32, sieveWidth),
		met: make([]int, len(patterns))}
	for i, p := range patterns {
		s.matchers = append(s.matchers, p.Matcher(projectRoot))
		if p.Exact() {
			s.raw[p.bare()] = append(s.raw[p.bare()], i)
		}
		if p.literal == "" || !plainWord(p.literal) {
			s.always = append(s.always, i)
		} else {
			s.add(p.literal, i)
		}
	}
	s.link()
	return s
}

func plainWord(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r > 127 || sieveKind[r] == 0 })
}

func (s *Sieve) add(word string, pattern int) {
	at := int32(0)
	for i := range len(word) {
		cell := at*sieveWidth + int32(sieveKind[word[i]])
		if s.next[cell] == 0 {
			s.next[cell] = int32(len(s.nodes))
			s.nodes = append(s.nodes, sieveNode{})
			s.next = append(s.next, make([]int32, sieveWidth)...)
		}
		at = s.next[cell]
	}
	s.nodes[at].ends = append(s.nodes[at].ends, pattern)
}

// link gives every state its way on for every byte, the shallowest first.
func (s *Sieve) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for k := int32(1); k < sieveWidth; k++ {
			to, other := s.next[at*sieveWidth+k], int32(0)
			if at != 0 {
				other = s.next[s.nodes[at].fail*sieveWidth+k]
			}
			if to == 0 {
				s.next[at*sieveWidth+k] = other
				continue
			}
			n := &s.nodes[to]
			n.fail, n.more = other, other
			if len(s.nodes[other].ends) == 0 {
				n.more = s.nodes[other].more
			}
			queue = append(queue, to)
		}
	}
}

// Match calls yes with the number of each pattern that selects f, the leading "!" aside.
func (s *Sieve) Match(f *Function, yes func(pattern int)) {
	s.round++
	try := func(i int) {
		if s.met[i] != s.round {
			s.met[i] = s.round
			if s.matchers[i](f) {
				yes(i)
			}
		}
	}
	for _, i := range s.always {
		try(i)
	}
	if len(s.raw) > 0 {
		for _, i := range s.raw[f.Raw] {
			try(i)
		}
	}
	if len(s.nodes) > 1 {
		s.read(f.Name, try)
		for _, name := range f.Aliases {
			s.read(name, try)
		}
	}
}

// read tries the patterns whose word is in a name.
func (s *Sieve) read(name string, try func(int)) {
	at := int32(0)
	for i := range len(name) {
		at = s.next[at*sieveWidth+int32(sieveKind[name[i]])]
		for n := at; n != 0; n = s.nodes[n].more {
			for _, p := range s.nodes[n].ends {
				try(p)
			}
		}
	}
}
