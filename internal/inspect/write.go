package inspect

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Writer changes a process. Register numbers are DWARF's, of the innermost frame.
type Writer interface {
	WriteMemory(addr uint64, b []byte) error
	WriteRegister(n int, v uint64) error
	WriteVector(n int, v [16]byte) error // xmm0 to xmm15: 0 to 15
}

// Write sets the targets of a question to their values, which are JSON, and returns what stands there then. All are
// checked before any is written.
func Write(p *snapshot.Process, th *snapshot.Thread, q collector.Inspection, w Writer) ([]collector.Reading, error) {
	s := &scene{pic: snapshot.New(p), depth: DefaultDepth}
	if err := s.enter(th, q.Frame); err != nil {
		return nil, err
	}
	out := make([]collector.Reading, len(q.Targets))
	places := make([][]assignment, len(q.Targets))
	bad := false
	for i := range q.Targets {
		var err error
		if places[i], err = s.assignments(&q.Targets[i]); err != nil {
			out[i].Err, bad = clientFault(err), true
		}
	}
	if bad {
		for i := range out {
			if out[i].Err == nil {
				out[i].Err = fault.New(fault.WriteFailed, "Correct the others and call again.",
					"not written: another target of the call cannot be")
			}
		}
		return out, nil
	}
	before := make([]*value.Value, len(q.Targets))
	for i := range q.Targets {
		if was := s.read(&q.Targets[i]); was.Err == nil {
			before[i] = &was.Value
		}
		if err := store(w, places[i]); err != nil {
			out[i].Err = fault.New(fault.WriteFailed,
				"See what is mapped there; code and other processes' memory cannot be written.", "write %s: %w",
				targetName(&q.Targets[i]), err)
		}
	}
	after := &scene{pic: snapshot.New(p), depth: DefaultDepth}
	if err := after.enter(th, q.Frame); err != nil {
		return nil, err
	}
	for i := range q.Targets {
		if out[i].Err == nil {
			out[i] = after.read(&q.Targets[i])
			out[i].Previous = before[i]
		}
	}
	return out, nil
}

func targetName(t *collector.InspectTarget) string {
	if t.Expr != "" {
		return strconv.Quote(t.Expr)
	}
	return fmt.Sprintf("0x%x", t.Address)
}

// Encode makes a JSON value the bytes of a type. The error says why it does not fit.
func Encode(t *symbol.Type, raw json.RawMessage) ([]byte, error) { return encode(t, raw) }

// encode is Encode.
func encode(t *symbol.Type, raw json.RawMessage) ([]byte, error) {
	st := t.Strip()
	if st == nil || st.Size <= 0 {
		return nil, badValue(t, raw, "it has no size")
	}
	switch st.Kind {
	case symbol.KindBase:
		return encodeBase(st, raw)
	case symbol.KindEnum:
		return encodeEnum(t, st, raw)
	case symbol.KindPointer, symbol.KindReference:
		if string(raw) == "null" {
			return make([]byte, st.Size), nil
		}
		b, err := encodeInt(raw, int(st.Size), false)
		if err != nil {
			err = badValue(t, raw, "a pointer takes an address or null")
		}
		return b, err
	case symbol.KindArray:
		return encodeArray(st, raw)
	}
	return nil, fault.New(fault.Unsupported, "Write its members one by one.",
		"a value of type %s cannot be written as a whole", t)
}

// encodeEnum takes a name, names with | between them, as flags are shown, or a number.
func encodeEnum(t, st *symbol.Type, raw json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && !strings.HasPrefix(text, "0x") {
		all := uint64(0)
		for name := range strings.SplitSeq(text, "|") {
			name = name[strings.LastIndex(name, ":")+1:]
			i := slices.IndexFunc(st.Enumerators(), func(e symbol.Enumerator) bool {
				return e.Name[strings.LastIndex(e.Name, ":")+1:] == strings.TrimSpace(name)
			})
			if i < 0 {
				return nil, badValue(t, raw, "it is none of its names")
			}
			all |= uint64(st.Enumerators()[i].Val)
		}
		return little(all, int(st.Size)), nil
	}
	b, err := encodeInt(raw, int(st.Size), true)
	if err != nil && !slices.ContainsFunc(st.Enumerators(),
		func(e symbol.Enumerator) bool { return e.Val < 0 && !e.Unsigned }) {
		return encodeInt(raw, int(st.Size), false)
	}
	return b, err
}

// specialFloats are the values that JSON has no numbers for, as they are shown.
var specialFloats = map[string]float64{`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)}

func encodeBase(t *symbol.Type, raw json.RawMessage) ([]byte, error) {
	switch t.Encoding {
	case symbol.EncFloat:
		f, special := specialFloats[string(raw)]
		if err := json.Unmarshal(raw, &f); err != nil && !special {
			return nil, badValue(t, raw, "it is no number")
		}
		switch t.Size {
		case 4:
			return little(uint64(math.Float32bits(float32(f))), 4), nil
		case 8:
			return little(math.Float64bits(f), 8), nil
		}
		return nil, fault.New(fault.Unsupported, "Write its bytes by address.", "a %d-byte float cannot be written", t.Size)
	case symbol.EncBool:
		var b bool
		if json.Unmarshal(raw, &b) == nil {
			if b {
				return little(1, int(t.Size)), nil
			}
			return make([]byte, t.Size), nil
		}
		if v, err := encodeInt(raw, int(t.Size), false); err == nil && v[0] > 1 { // compilers take it that there are two
			return nil, badValue(t, raw, "it is neither true nor false")
		}
	case symbol.EncSignedChar, symbol.EncUnsignedChar, symbol.EncUTF:
		var text string
		if json.Unmarshal(raw, &text) == nil && !strings.HasPrefix(text, "0x") {
			r, n := utf8.DecodeRuneInString(text)
			if n != len(text) || n == 0 || t.Size == 1 && r > 0x7f {
				return nil, badValue(t, raw, "it is not one character")
			}
			return little(uint64(r), int(t.Size)), nil
		}
	}
	return encodeInt(raw, int(t.Size), t.Encoding == symbol.EncSigned || t.Encoding == symbol.EncSignedChar)
}

// encodeMade is encode for a type that the expression named itself.
func encodeMade(t *expr.Type, raw json.RawMessage) ([]byte, error) {
	base := &symbol.Type{Kind: symbol.KindBase, Size: t.Size(), Encoding: symbol.EncUnsigned}
	switch t.Kind() {
	case expr.KindFloat:
		base.Encoding = symbol.EncFloat
	case expr.KindBool:
		base.Encoding = symbol.EncBool
	case expr.KindChar:
		base.Encoding = symbol.EncSignedChar
	case expr.KindObject, expr.KindText:
		return nil, fault.New(fault.Unsupported, "Write its members one by one.",
			"a value of type %s cannot be written as a whole", t)
	default:
		if t.Signed() {
			base.Encoding = symbol.EncSigned
		}
	}
	return encodeBase(base, raw)
}

// encodeArray writes text into an array of characters, with zeros behind it, and lists into others.
func encodeArray(t *symbol.Type, raw json.RawMessage) ([]byte, error) {
	out := make([]byte, t.Size)
	e := t.Elem().Strip()
	if e == nil || e.Size <= 0 {
		return nil, badValue(t, raw, "its elements have no size")
	}
	var text string
	if e.Size == 1 && json.Unmarshal(raw, &text) == nil {
		if len(text) > len(out) {
			return nil, badValue(t, raw, fmt.Sprintf("%d bytes do not fit %d", len(text), len(out)))
		}
		copy(out, text)
		return out, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || int64(len(list))*e.Size != t.Size {
		return nil, badValue(t, raw, fmt.Sprintf("it takes a list of %d", t.Size/e.Size))
	}
	for i, v := range list {
		b, err := encode(e, v)
		if err != nil {
			return nil, err
		}
		copy(out[int64(i)*e.Size:], b)
	}
	return out, nil
}

// encodeInt reads an integer exactly: a JSON number, or text such as "0x10".
func encodeInt(raw json.RawMessage, size int, signed bool) ([]byte, error) {
	text := strings.Trim(string(raw), `"`)
	if size > 8 {
		return encodeWide(raw, text, size, signed)
	}
	bits := 8 * size
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && (signed || n < 0) {
		if shift := 64 - bits; n<<shift>>shift != n {
			return nil, badValue(nil, raw, fmt.Sprintf("it does not fit %d bytes", size))
		}
		return little(uint64(n), size), nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return nil, badValue(nil, raw, "it is no integer")
	}
	if bits < 64 && n>>bits != 0 {
		return nil, badValue(nil, raw, fmt.Sprintf("it does not fit %d bytes", size))
	}
	return little(n, size), nil
}

// encodeWide is encodeInt for more than 64 bits.
func encodeWide(raw json.RawMessage, text string, size int, signed bool) ([]byte, error) {
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil, badValue(nil, raw, "it is no integer")
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	half := new(big.Int).Rsh(limit, 1)
	if signed && (n.Cmp(half) >= 0 || n.Cmp(new(big.Int).Neg(half)) < 0) || !signed &&
		(n.Sign() < 0 || n.Cmp(limit) >= 0) {
		return nil, badValue(nil, raw, fmt.Sprintf("it does not fit %d bytes", size))
	}
	if n.Sign() < 0 {
		n.Add(n, limit)
	}
	b := n.FillBytes(make([]byte, size))
	slices.Reverse(b)
	return b, nil
}

func little(v uint64, size int) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:min(size, 8)]
}

func badValue(t *symbol.Type, raw json.RawMessage, why string) error {
	of := ""
	if t != nil {
		of = " as " + t.String()
	}
	return fault.New(fault.ValidationError, "Give a number, true, a name, text or a list that fits the type.",
		"%.60s cannot be written%s: %s", raw, of, why)
}
