package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// isMangled reports whether a symbol looks like an Itanium C++ or Rust name.
func isMangled(raw string) bool {
	return strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R") && len(raw) > 2 && raw[2] >= 'A' && raw[2] <= 'Z'
}

// maxSymbolName bounds what is given to the demangler; longer names are shown raw.
const maxSymbolName = 1 << 14

// demangled returns the qualified name of a symbol without parameters and clone suffixes. ok is
// false when raw is not a mangled name.
func demangled(raw string) (name string, lang Language, ok bool) {
	if !isMangled(raw) || len(raw) > maxSymbolName {
		return raw, LangUnknown, false
	}
	base, _ := splitClone(raw)
	out, err := demangle.ToString(base, demangle.NoParams, demangle.NoClones)
	if err != nil {
		return raw, LangUnknown, false
	}
	lang = LangCPP
	if base[1] == 'R' || isRustLegacy(base) {
		lang = LangRust
		out = stripRustHash(out)
	}
	return out, lang, true
}

// isRustLegacy reports whether a _ZN name ends in Rust's hash segment.
func isRustLegacy(base string) bool {
	const n = len("17h0123456789abcdefE")
	if !strings.HasPrefix(base, "_ZN") || len(base) < n {
		return false
	}
	tail := base[len(base)-n:]
	if !strings.HasPrefix(tail, "17h") || tail[n-1] != 'E' {
		return false
	}
	return isHex(tail[3 : n-1])
}

// stripRustHash removes a trailing ::h0123456789abcdef.
func stripRustHash(name string) string {
	const n = len("::h0123456789abcdef")
	if len(name) > n && strings.HasPrefix(name[len(name)-n:], "::h") && isHex(name[len(name)-16:]) {
		return name[:len(name)-n]
	}
	return name
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// cloneMarks are what compilers put behind a function's name for a changed copy or a part of it.
var cloneMarks = []string{
	".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".localalias", ".clone.", ".__uniq.", ".warm",
	".specialized.", ".extracted", ".outlined", ".resume", ".destroy", ".actor",
}

// splitClone splits a symbol into the name and the compiler's clone suffix (".isra.0.cold"), if any.
func splitClone(raw string) (base, suffix string) {
	if strings.IndexByte(raw, '.') < 0 {
		return raw, ""
	}
	cut := len(raw)
	for _, m := range cloneMarks {
		i := strings.Index(raw, m)
		for i > 0 && raw[i-1] == '.' { // Rust has .. for ::, as in core..clone..Clone
			next := strings.Index(raw[i+1:], m)
			if next < 0 {
				i = -1
				break
			}
			i += 1 + next
		}
		if i > 0 && i < cut {
			end := i + len(m)
			if m[len(m)-1] != '.' && end < len(raw) && raw[end] != '.' {
				continue
			}
			cut = i
		}
	}
	return raw[:cut], raw[cut:]
}

// isFragment reports whether a symbol names a part that is jumped to, not called.
func isFragment(raw string) bool {
	_, suffix := splitClone(raw)
	return strings.Contains(suffix, ".cold") || strings.Contains(suffix, ".warm")
}
