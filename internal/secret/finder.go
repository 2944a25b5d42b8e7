package secret

import (
	"slices"
	"unicode/utf8"
)

// finder looks for words in any text, whatever their case, at about a nanosecond a byte: package regexp takes thirty for
// so many words, and each record with a map in it is looked through. A "_" in a word is one character that is no letter
// or digit, or nothing.
type finder struct {
	next  [][classes]uint16 // by state and class of a character
	final []bool
}

// Classes of characters: letters, digits, others.
const (
	classOther = 36
	classes    = 37
)

// classOf are those of bytes that are characters by themselves.
var classOf = func() (t [utf8.RuneSelf]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = uint8(c - 'a')
		case c >= 'A' && c <= 'Z':
			t[c] = uint8(c - 'A')
		case c >= '0' && c <= '9':
			t[c] = uint8(c-'0') + 26
		default:
			t[c] = classOther
		}
	}
	return t
}()

// newFinder makes a finder of words of letters, digits and "_".
func newFinder(words []string) *finder {
	// A place is before a word's character; the last one of a word is its end.
	type place struct {
		word, at int
	}
	begin := func() (all []place) {
		for i := range words {
			all = append(all, place{i, 0})
		}
		return all
	}
	f := &finder{}
	states := map[string]uint16{}
	var todo [][]place
	state := func(places []place) uint16 {
		for _, p := range places { // a separator may be left out
			for at := p.at; at < len(words[p.word]) && words[p.word][at] == '_'; at++ {
				places = append(places, place{p.word, at + 1})
			}
		}
		slices.SortFunc(places, func(a, b place) int { return (a.word-b.word)<<16 + a.at - b.at })
		places = slices.Compact(places)
		key := make([]byte, 0, 4*len(places))
		end := false
		for _, p := range places {
			key = append(key, byte(p.word), byte(p.word>>8), byte(p.at), byte(p.at>>8))
			end = end || p.at == len(words[p.word])
		}
		n, ok := states[string(key)]
		if !ok {
			n = uint16(len(f.next))
			states[string(key)] = n
			f.next, f.final = append(f.next, [classes]uint16{}), append(f.final, end)
			todo = append(todo, places)
		}
		return n
	}
	state(begin())
	for n := 0; n < len(todo); n++ {
		for class := range classes {
			to := begin()
			for _, p := range todo[n] {
				if w := words[p.word]; p.at < len(w) &&
					(w[p.at] == '_' && class == classOther || w[p.at] != '_' && int(classOf[w[p.at]]) == class) {
					to = append(to, place{p.word, p.at + 1})
				}
			}
			next := state(to)
			f.next[n][class] = next
		}
	}
	return f
}

// in reports whether a text has one of the words.
func (f *finder) in(b []byte) bool {
	s := uint16(0)
	for i := 0; i < len(b); i++ {
		class := uint8(classOther)
		if c := b[i]; c < utf8.RuneSelf {
			class = classOf[c]
		} else {
			r, size := utf8.DecodeRune(b[i:])
			i += size - 1
			switch r { // letters whose other case is one of ours
			case 'ſ':
				class = 's' - 'a'
			case '\u212a': // of kelvin
				class = 'k' - 'a'
			}
		}
		if s = f.next[s][class]; f.final[s] {
			return true
		}
	}
	return false
}
