package acceptance

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// differs compares a value of gdb's with one of ours, as JSON has it; "" if they are the same.
func (w *gdbValue) differs(got any) string {
	counted.values.Add(1)
	text, isText := got.(string)
	marker := isText && strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">")
	no := func(want any) string { return fmt.Sprintf("%v, gdb has %v", got, want) }
	switch w.K {
	case "gone":
		if o, object := got.(map[string]any); got != goneMarker && !(object && len(o) == 0) {
			return no("optimized out")
		}
	case "synthetic": // a pointer to what has no address
		if _, object := got.(map[string]any); object && w.To != nil {
			return w.To.differs(got)
		}
		if got != goneMarker {
			return no("a pointer to nothing in memory")
		}
	case "unreadable":
		// of an object with virtual bases, what can be read
		if _, object := got.(map[string]any); !object && got != nil && text != "<unreadable>" {
			return no("nothing readable")
		}
	case "int":
		return w.integer(got)
	case "bool":
		if b, ok := got.(bool); !ok || strconv.FormatBool(b) != string(w.V) {
			return no(string(w.V))
		}
	case "enum":
		return w.enumerator(got)
	case "float":
		return w.float(got)
	case "pointer", "function":
		return w.pointer(got)
	case "text":
		b, _ := hex.DecodeString(w.Hex)
		until, _, _ := bytes.Cut(b, []byte{0})
		if utf8.Valid(until) && (!isText || text != string(until)) {
			return no(strconv.Quote(string(until)))
		}
	case "object":
		return w.object(got)
	case "array":
		if marker && w.allGone() && text == goneMarker {
			return ""
		}
		elems, ok := got.([]any)
		// of debug_memory
		if b := w.bytes(); strings.HasPrefix(text, "base64:") || isText && b != "" && strings.HasPrefix(b, text) &&
			len(b) > len(text) && b[len(text)] == 0 {
			return ""
		}
		if !ok || len(elems) < len(w.Elements) {
			return fmt.Sprintf("%s, gdb has an array of %d", kindOf(got), len(w.Elements))
		}
		for i := range w.Elements {
			if d := w.Elements[i].differs(elems[i]); d != "" {
				return fmt.Sprintf("[%d]: %s", i, d)
			}
		}
	}
	return ""
}

// bytes are the elements of an array of them; "" if it is none.
func (w *gdbValue) bytes() string {
	var b []byte
	for i := range w.Elements {
		n, err := strconv.ParseUint(w.Elements[i].number(), 10, 8)
		if err != nil || w.Elements[i].Size != 1 {
			return ""
		}
		b = append(b, byte(n))
	}
	return string(b)
}

func kindOf(got any) string {
	switch got := got.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return fmt.Sprintf("an array of %d", len(got))
	}
	text, _, _ := strings.Cut(fmt.Sprint(got), " at 0x")
	return text
}

// allGone reports whether nothing of a value is left.
func (w *gdbValue) allGone() bool {
	for i := range w.Members {
		if !w.Members[i].Value.allGone() {
			return false
		}
	}
	for i := range w.Elements {
		if !w.Elements[i].allGone() {
			return false
		}
	}
	return w.K == "gone" || len(w.Members)+len(w.Elements) > 0
}

func (w *gdbValue) number() string { return strings.Trim(string(w.V), `"`) }

func (w *gdbValue) integer(got any) string {
	want := w.number()
	switch g := got.(type) {
	case json.Number:
		if g.String() == want {
			return ""
		}
	case string: // a character
		n, err := strconv.ParseInt(want, 10, 64)
		c := uint64(n) & (1<<(8*min(w.Size, 4)) - 1)
		if digits, found := strings.CutPrefix(g, `\x`); found {
			if v, bad := strconv.ParseUint(digits, 16, 64); err == nil && bad == nil && v == c {
				return ""
			}
		}
		if digits, found := strings.CutPrefix(g, `\u`); found {
			if v, bad := strconv.ParseUint(digits, 16, 64); err == nil && bad == nil && v == c {
				return ""
			}
		}
		if r, n := utf8.DecodeRuneInString(g); err == nil && n == len(g) && uint64(r) == c {
			return ""
		}
	}
	return fmt.Sprintf("%v, gdb has %s", got, want)
}

func (w *gdbValue) enumerator(got any) string {
	text, isText := got.(string)
	if n, ok := got.(json.Number); ok && n.String() == w.number() {
		return ""
	}
	last := func(s string) string { return s[strings.LastIndex(s, ":")+1:] }
	want := strings.Split(strings.Trim(w.Name, "()"), "|")
	have := strings.Split(text, "|")
	same := isText && len(want) == len(have)
	for i := 0; same && i < len(want); i++ {
		same = last(strings.TrimSpace(want[i])) == last(strings.TrimSpace(have[i]))
	}
	if !same {
		return fmt.Sprintf("%v, gdb has %s", got, w.Name)
	}
	return ""
}

func (w *gdbValue) float(got any) string {
	want := strings.Trim(string(w.V), `"`)
	have := ""
	switch g := got.(type) {
	case json.Number:
		have = g.String()
	case string:
		have = g
	}
	special := func(s string) string {
		s = strings.ToLower(s)
		switch {
		case strings.Contains(s, "nan"):
			return "nan"
		case strings.Contains(s, "inf"):
			return strings.Replace(s, "infinity", "inf", 1)
		}
		return ""
	}
	if special(want) != "" || special(have) != "" {
		if special(want) == special(have) {
			return ""
		}
		return fmt.Sprintf("%s, gdb has %s", have, want)
	}
	if w.Size > 8 {
		a, _, err := big.ParseFloat(want, 10, 64, big.ToNearestEven)
		b, _, bad := big.ParseFloat(have, 10, 64, big.ToNearestEven)
		if err == nil && bad == nil && a.Cmp(b) == 0 {
			return ""
		}
		return fmt.Sprintf("%s, gdb has %s", have, want)
	}
	a, err := strconv.ParseFloat(want, 8*w.Size)
	b, bad := strconv.ParseFloat(have, 8*w.Size)
	if err != nil || bad != nil || math.Float64bits(a) != math.Float64bits(b) {
		return fmt.Sprintf("%s, gdb has %s", have, want)
	}
	return ""
}

// Where gdb loads a position-independent program, for it runs without random addresses.
const programLo, programHi = 0x555555554000, 0x555556554000

// pointer compares where pointers lead to. Of addresses only that part is the same which does not depend on where the
// program is loaded.
func (w *gdbValue) pointer(got any) string {
	addr, err := strconv.ParseUint(w.number(), 10, 64)
	no := func(want string) string { return fmt.Sprintf("%v, gdb has %s", got, want) }
	text, isText := got.(string)
	marker := isText && strings.HasPrefix(text, "<")
	isText = isText && !strings.HasPrefix(text, "base64:")
	switch {
	case err != nil:
		return no(w.number())
	case addr == 0 || got == nil:
		if addr != 0 || got != nil {
			return no(fmt.Sprintf("%#x", addr))
		}
	case marker:
		if text == goneMarker {
			return no(fmt.Sprintf("%#x", addr))
		}
	case w.To != nil:
		return w.To.differs(got)
	case w.Text != nil && isText:
		want := *w.Text
		if strings.IndexFunc(want, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 && !strings.HasPrefix(text, want) {
			return no(strconv.Quote(want))
		}
	case w.K == "pointer" && strings.HasPrefix(text, "0x"):
		have, err := strconv.ParseUint(text[2:], 16, 64)
		mask := uint64(15)
		if addr >= programLo && addr < programHi {
			mask = 4095
		}
		if err != nil || have&mask != addr&mask {
			return no(fmt.Sprintf("%#x", addr))
		}
	}
	return ""
}

func (w *gdbValue) object(got any) string {
	if text, ok := got.(string); ok && strings.HasPrefix(text, "<") {
		if text == goneMarker && !w.allGone() {
			return kindOf(got) + ", gdb has an object"
		}
		return ""
	}
	if len(w.Members) == 0 {
		return ""
	}
	// a variant of Rust's without fields
	if text, ok := got.(string); ok && len(w.Members) == 1 && w.Members[0].Name == text {
		return ""
	}
	if strings.HasPrefix(w.Members[0].Name, "__0") { // a tuple of Rust's
		if len(w.Members) == 1 {
			return w.Members[0].Value.differs(got)
		}
		elems, ok := got.([]any)
		if !ok || len(elems) != len(w.Members) {
			return fmt.Sprintf("%s, gdb has a tuple of %d", kindOf(got), len(w.Members))
		}
		for i := range w.Members {
			if d := w.Members[i].Value.differs(elems[i]); d != "" {
				return fmt.Sprintf(".%d: %s", i, d)
			}
		}
		return ""
	}
	o, ok := got.(map[string]any)
	if !ok {
		return kindOf(got) + ", gdb has an object"
	}
	seen := map[string]int{}
	for i := range w.Members {
		m := &w.Members[i]
		name := m.Name
		if seen[m.Name]++; seen[m.Name] > 1 {
			name = fmt.Sprintf("%s#%d", m.Name, seen[m.Name])
		}
		v, ok := o[name]
		if !ok {
			return "no member " + name
		}
		if d := m.Value.differs(v); d != "" {
			return "." + name + ": " + d
		}
	}
	return ""
}
