package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

// given checks parameters as they were written. Once they are Go values 0, "" and an absent field are the same, and
// what is worse, each of them then means "the default": a client that asks for 0 is told what the range is instead.
// null is as absent, and so is an empty list.
type given struct{ op *Op }

// fields lists an object's fields by name. Of two with one name encoding/json would take a part of each.
func (g given) fields(path string, raw []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, invalid("See the tool's schema.", "%s: %w", path, err)
	}
	out := map[string]json.RawMessage{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, invalid("See the tool's schema.", "%s: %w", path, err)
		}
		name, _ := tok.(string)
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, invalid("See the tool's schema.", "%s: %w", join(path, name), err)
		}
		if _, twice := out[name]; twice {
			return nil, invalid("Send it once.", "%s is given twice", join(path, name))
		}
		out[name] = v
	}
	return out, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// object checks an object against a struct. path is how the field is named to the client, as add[3], and row its name
// in the table, as add.
func (g given) object(path, row string, t reflect.Type, raw []byte) error {
	if raw[0] != '{' {
		return g.mismatch(path, t, raw)
	}
	fields, err := g.fields(path, raw)
	if err != nil {
		return err
	}
	if err := g.names(path, t, fields); err != nil {
		return err
	}
	for _, f := range g.op.Fields {
		parent, name := "", f.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			parent, name = name[:i], name[i+1:]
		}
		if f.Required && parent == row && absent(fields[name]) {
			return invalid(fmt.Sprintf("Call %s again with %s.", g.op.Name, join(path, name)), "%s of %s is required",
				join(path, name), g.op.Name)
		}
	}
	for _, sf := range wireFields(t) {
		if raw, ok := fields[sf.name]; ok {
			if err := g.value(join(path, sf.name), join(row, sf.name), sf.typ, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// names refuses fields that there are not, exactly as written: encoding/json would take Command for command.
func (g given) names(path string, t reflect.Type, fields map[string]json.RawMessage) error {
	known := jsonNames(t)
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if hint, ok := g.op.Later[name]; ok && path == "" {
			return fault.New(fault.Unsupported, hint, "%s of %s is not available in this version", name, g.op.Name)
		}
		where := g.op.Name
		if path != "" {
			where = path + " of " + where
		}
		return unknownField(where, name, known)
	}
	return nil
}

func absent(raw []byte) bool { return raw == nil || string(raw) == "null" }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks one value.
func (g given) value(path, row string, t reflect.Type, raw json.RawMessage) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(unmarshaler)
	if absent(raw) && !own {
		return nil
	}
	f := g.op.field(row)
	if string(raw) == `""` && !f.Empty && (t.Kind() == reflect.String || own) && !anyValue(t) {
		return emptyText(path, f)
	}
	if t == reflect.TypeFor[Object]() || t == reflect.TypeFor[query.MessageFilter]() {
		if !absent(raw) && raw[0] != '{' {
			return g.mismatch(path, t, raw)
		}
		return nil
	}
	if own {
		return nil // it checks itself
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.object(path, row, t, raw)
	case reflect.Map:
		return g.entries(path, row, t, raw)
	case reflect.Slice:
		return g.elements(path, row, t, raw)
	case reflect.String:
		if raw[0] != '"' {
			return g.mismatch(path, t, raw)
		}
		return f.checkEnum(path, unquote(raw))
	case reflect.Bool:
		if raw[0] != 't' && raw[0] != 'f' {
			return g.mismatch(path, t, raw)
		}
		return nil
	}
	return g.integer(path, f, t, raw)
}

// anyValue reports a type for which "" is a value as any other: what a program's text is compared with or set to.
func anyValue(t reflect.Type) bool { return t.Name() == "JSONValue" || t.Name() == "Literal" }

func emptyText(path string, f *Field) error {
	hint := "Leave it out, or give text."
	if f.Enum != nil {
		hint = "Allowed: " + strings.Join(f.Enum, ", ") + "."
	}
	return invalid(hint, "%s is empty", path)
}

func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// entries checks an object that has any names.
func (g given) entries(path, row string, t reflect.Type, raw []byte) error {
	if raw[0] != '{' {
		return g.mismatch(path, t, raw)
	}
	fields, err := g.fields(path, raw)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := g.element(join(path, name), row, t.Elem(), fields[name]); err != nil {
			return err
		}
	}
	return nil
}

func (g given) elements(path, row string, t reflect.Type, raw []byte) error {
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return g.mismatch(path, t, raw)
	}
	for i, v := range list {
		if err := g.element(fmt.Sprintf("%s[%d]", path, i), row, t.Elem(), v); err != nil {
			return err
		}
	}
	return nil
}

// element checks what stands in a list or a map, where null is not as absent.
func (g given) element(path, row string, t reflect.Type, raw json.RawMessage) error {
	if absent(raw) && !reflect.PointerTo(t).Implements(unmarshaler) {
		return g.mismatch(path, t, raw)
	}
	return g.value(path, row, t, raw)
}

// integer checks a number of a field whose range the table has.
func (g given) integer(path string, f *Field, t reflect.Type, raw []byte) error {
	r, ok := new(big.Rat).SetString(string(raw))
	switch {
	case !isNumber(raw):
		return g.mismatch(path, t, raw)
	case len(raw) > 40 || bytes.ContainsAny(raw, "eE") && hugeExponent(raw):
		return f.outOfRange(path, excerpt(raw))
	case !ok || !r.IsInt() || bytes.ContainsAny(raw, ".eE"):
		return g.mismatch(path, t, raw)
	case !r.Num().IsInt64() || r.Num().Int64() < f.Min || r.Num().Int64() > f.Max && !f.Cut:
		return f.outOfRange(path, excerpt(raw))
	}
	return nil
}

// hugeExponent reports 1e300 and the like: no field takes it, and to compute it takes long.
func hugeExponent(raw []byte) bool {
	_, exp, _ := strings.Cut(strings.ToLower(string(raw)), "e")
	return len(strings.TrimLeft(exp, "+-0")) > 1
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

func (f *Field) outOfRange(path, got string) error {
	return invalid(f.allowed(), "%s = %s is out of range", path, got)
}

// allowed is a range in words.
func (f *Field) allowed() string {
	if f.Max >= unbounded-1 {
		return fmt.Sprintf("Allowed: %d or more.", f.Min)
	}
	return fmt.Sprintf("Allowed: %d to %d.", f.Min, f.Max)
}

func (f *Field) checkEnum(path, s string) error {
	if f.Enum != nil && !slices.Contains(f.Enum, s) {
		return invalid("Allowed: "+strings.Join(f.Enum, ", ")+".", "%s = %q is not allowed", path, s)
	}
	return nil
}

// mismatch names field, expectation and value.
func (g given) mismatch(path string, t reflect.Type, raw []byte) error {
	want, got := jsonType(t), excerpt(raw)
	switch {
	case raw[0] == '"':
		got = "string"
	case raw[0] == '[':
		got = "array"
	case raw[0] == '{':
		got = "object"
	case isNumber(raw):
		got = "number " + got
	case raw[0] == 't' || raw[0] == 'f':
		got = "boolean"
	}
	hint := fmt.Sprintf("Send %s as %s.", path, want)
	if want == "string" && isNumber(raw) {
		hint = fmt.Sprintf("Write it as text: %q.", excerpt(raw))
	}
	return invalid(hint, "%s: expected %s, got %s", path, want, got)
}

// excerpt shortens client text for an error message.
func excerpt(b []byte) string {
	const limit = 60
	if len(b) <= limit {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:limit]), "") + "…"
}

// field is the table's row of that name, or an empty one.
func (op *Op) field(row string) *Field {
	for i := range op.Fields {
		if op.Fields[i].Name == row {
			return &op.Fields[i]
		}
	}
	return &Field{Name: row}
}

// wireField is one field of a struct as clients see it.
type wireField struct {
	name string
	typ  reflect.Type
}

// wireFields lists a struct's fields in order, those of embedded structs among them.
func wireFields(t reflect.Type) []wireField {
	var out []wireField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			out = append(out, wireFields(f.Type)...)
		} else if f.IsExported() && name != "" && name != "-" {
			out = append(out, wireField{name, f.Type})
		}
	}
	return out
}
