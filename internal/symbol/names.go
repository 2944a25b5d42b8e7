package symbol

import (
	"strconv"
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
	out, err := demangle.ToString(withUnderscores(base), demangle.NoParams, demangle.NoClones)
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

// withUnderscores doubles the underscore that a part of one of Rust's older names begins with: the demangler takes one
// for a separator, and _helper would be helper, the _ of a const block's impl nothing at all. One before an escape is
// the compiler's own and goes.
func withUnderscores(raw string) string {
	base, clone := splitClone(raw)
	if !isRustLegacy(base) {
		return raw
	}
	var b strings.Builder
	b.WriteString("_ZN")
	for rest := base[len("_ZN"):]; rest != "E"; {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n < 1 || n > len(rest)-digits {
			return raw
		}
		part := rest[digits : digits+n]
		if part[0] == '_' && !strings.HasPrefix(part, "_$") {
			part = "_" + part
		}
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteString(part)
		rest = rest[digits+n:]
	}
	return b.String() + "E" + clone
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
	".specialized.", ".extracted", ".outlined", ".resume", ".destroy", ".cleanup", ".actor",
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

// CoroutinePart returns what the symbol says of a part of a C++20 coroutine behind its first: ".resume", ".destroy" and
// ".cleanup" of LLVM, ".actor" and ".destroy" of gcc; "" for all other functions. Such a part is called with the
// coroutine's frame, and returns nothing.
func (f *Function) CoroutinePart() string {
	if f.Language != LangCPP {
		return ""
	}
	_, suffix := splitClone(f.Raw)
	for _, part := range []string{".resume", ".destroy", ".cleanup", ".actor"} {
		if strings.HasPrefix(suffix, part) {
			return part
		}
	}
	return ""
}

// isFragment reports whether a symbol names a part that is jumped to, not called.
func isFragment(raw string) bool {
	_, suffix := splitClone(raw)
	return strings.Contains(suffix, ".cold") || strings.Contains(suffix, ".warm")
}
