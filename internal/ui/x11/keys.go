package x11

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/near"
)

const symShift = 0xffe1

// named are keys without a letter, by the names that people write.
var named = map[string]uint32{
	"return": 0xff0d, "enter": 0xff0d, "tab": 0xff09, "escape": 0xff1b, "esc": 0xff1b, "backspace": 0xff08,
	"delete": 0xffff, "del": 0xffff, "insert": 0xff63, "home": 0xff50, "end": 0xff57, "pageup": 0xff55,
	"pagedown": 0xff56, "left": 0xff51, "up": 0xff52, "right": 0xff53, "down": 0xff54, "space": 0x20, "menu": 0xff67,
	"shift": symShift, "ctrl": 0xffe3, "control": 0xffe3, "alt": 0xffe9, "super": 0xffeb, "meta": 0xffeb,
	"f1": 0xffbe, "f2": 0xffbf, "f3": 0xffc0, "f4": 0xffc1, "f5": 0xffc2, "f6": 0xffc3, "f7": 0xffc4, "f8": 0xffc5,
	"f9": 0xffc6, "f10": 0xffc7, "f11": 0xffc8, "f12": 0xffc9, "plus": '+', "minus": '-',
}

// SymOf is the symbol of a letter: Latin 1 by its number, all others by a rule of their own.
func SymOf(r rune) uint32 {
	switch {
	case r == '\n' || r == '\r':
		return named["return"]
	case r == '\t':
		return named["tab"]
	case r >= 0x20 && r < 0x7f || r >= 0xa0 && r <= 0xff:
		return uint32(r)
	}
	return 0x1000000 | uint32(r)
}

// SymOfName is the symbol of a key by its name, or of a single letter.
func SymOfName(name string) (uint32, error) {
	if r, n := utf8.DecodeRuneInString(name); n == len(name) && n > 0 {
		return SymOf(r), nil
	}
	if sym, ok := named[strings.ToLower(name)]; ok {
		return sym, nil
	}
	keys := slices.Sorted(maps.Keys(named))
	if like := near.Names(strings.ToLower(name), keys, 1); len(like) > 0 {
		return 0, fmt.Errorf("no key has the name %q: did you mean %s", name, like[0])
	}
	return 0, fmt.Errorf("no key has the name %q: a letter, or %s", name, strings.Join(keys, ", "))
}
