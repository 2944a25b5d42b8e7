package service

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// leaf is a field that is no object, wherever it stands.
type leaf struct {
	row  string // as in the table
	typ  reflect.Type
	wrap func(raw string) string // the parameters with it
}

// leaves lists every field of an operation, nested ones and those of lists' elements too.
func leaves(row string, t reflect.Type, wrap func(string) string) (out []leaf) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(unmarshaler)
	switch {
	case t.Kind() == reflect.Struct && !own:
		for _, f := range wireFields(t) {
			out = append(out, leaves(join(row, f.name), f.typ,
				func(raw string) string { return wrap(fmt.Sprintf("{%q:%s}", f.name, raw)) })...)
		}
	case t.Kind() == reflect.Slice && !own:
		out = append(out, leaf{row, t, wrap})
		out = append(out, leaves(row, t.Elem(), func(raw string) string { return wrap("[" + raw + "]") })...)
	case t.Kind() == reflect.Map:
		out = append(out, leaf{row, t, wrap})
		out = append(out, leaves(row, t.Elem(), func(raw string) string { return wrap(`{"k":` + raw + `}`) })...)
	default:
		out = append(out, leaf{row, t, wrap})
	}
	return out
}

var hostile = []string{
	"0", "-0", "0.0", "-1", "1", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
	"18446744073709551616", "1e300", "-1e300", "1e-300",
	"1e999999999999", "1.5", `""`, `"x"`, `"0"`, `" "`, "null", "true", "false", "[]", "{}", "[null]", `[""]`, "[[]]",
	"[0]", `{"x":0}`, `{"":null}`,
	strings.Repeat("[", 2000) + strings.Repeat("]", 2000), strings.Repeat("9", 5000),
}

// TestZeroIsAValue gives every field of every operation what clients send by mistake. Each is taken for what it is, or
// refused by the field's name, an integer with its range. It keeps out a poll with an interval of 0, which was a panic
// in a goroutine, and every 0 that was read as "the default".
func TestZeroIsAValue(t *testing.T) {
	tried := 0
	for _, op := range Ops {
		for _, l := range leaves("", op.Params, func(s string) string { return s }) {
			f := op.field(l.row)
			kind := l.typ.Kind()
			own := reflect.PointerTo(l.typ).Implements(unmarshaler)
			integer := kind >= reflect.Int && kind <= reflect.Int64
			if kind >= reflect.Uint && kind <= reflect.Float64 {
				t.Errorf("%s.%s is a %v: the table knows ranges of signed integers only", op.Name, l.row, l.typ)
			}
			if integer && f.Max <= f.Min {
				t.Errorf("%s.%s has no range in the table", op.Name, l.row)
			}
			name := l.row[strings.LastIndexByte(l.row, '.')+1:]
			for _, raw := range hostile {
				tried++
				_, err := op.Decode([]byte(merge(t, op, l.wrap(raw))))
				if err != nil {
					e := fault.From(err)
					if e.Code != fault.ValidationError || e.Hint == "" || !strings.Contains(e.Msg, name) {
						t.Errorf("%s.%s = %.40s: %v", op.Name, l.row, raw, err)
					}
				}
				switch {
				case integer:
					checkInteger(t, op, f, l.row, raw, err)
				case raw == "null" || own:
				case kind == reflect.String && raw == `""`:
					if (err == nil) != f.Empty {
						t.Errorf(`%s.%s = "": %v`, op.Name, l.row, err)
					}
				case kind == reflect.String && raw[0] != '"', kind == reflect.Bool && raw != "true" && raw != "false",
					kind == reflect.Slice && raw[0] != '[', kind == reflect.Map && raw[0] != '{':
					if err == nil {
						t.Errorf("%s.%s = %.40s is taken", op.Name, l.row, raw)
					}
				}
			}
		}
	}
	if tried < 3000 {
		t.Errorf("%d values were tried", tried)
	}
}

func checkInteger(t *testing.T, op *Op, f *Field, row, raw string, err error) {
	t.Helper()
	var n int64
	in := json.Unmarshal([]byte(raw), &n) == nil && raw != "null" && n >= f.Min && (n <= f.Max || f.Cut)
	switch {
	case raw == "null":
		in = err == nil
	case raw == "0" && err != nil && f.Min <= 0:
		t.Errorf("%s.%s takes 0 and refused it: %v", op.Name, row, err)
	case err != nil && isNumber([]byte(raw)) && !strings.ContainsAny(raw, ".e") &&
		!strings.Contains(fault.From(err).Hint, fmt.Sprintf("Allowed: %d ", f.Min)):
		t.Errorf("%s.%s = %.40s does not name the range: %v", op.Name, row, raw, err)
	}
	if in != (err == nil) {
		t.Errorf("%s.%s = %.40s: %v", op.Name, row, raw, err)
	}
}

// merge lays parameters over those that the operation cannot do without.
func merge(t *testing.T, op *Op, over string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(over), &fields); err != nil {
		t.Fatalf("%.200s: %v", over, err)
	}
	for _, f := range op.Fields {
		head, rest, nested := strings.Cut(f.Name, ".")
		have, ok := fields[head]
		if f.Required && !nested && !ok {
			fields[head] = json.RawMessage(fmt.Sprintf("%q", append(f.Enum, "/x")[0]))
			continue
		}
		var inner map[string]json.RawMessage
		if f.Required && nested && ok && json.Unmarshal(have, &inner) == nil && inner != nil && inner[rest] == nil {
			inner[rest] = json.RawMessage(`"x"`)
			fields[head], _ = json.Marshal(inner)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestGivenTwice(t *testing.T) {
	for _, in := range []string{
		`{"sessionId":"x","poll":{"intervalMs":0},"poll":{"durationMs":1000}}`, // encoding/json would merge them
		`{"sessionId":"x","sessionId":"y"}`,
	} {
		if _, err := Find("debug_memory").Decode([]byte(in)); fault.CodeOf(err) != fault.ValidationError ||
			!strings.Contains(err.Error(), "given twice") {
			t.Errorf("%s: %v", in, err)
		}
	}
}
