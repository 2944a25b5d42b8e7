package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/query"
)

// Decode reads parameters from JSON, strictly: an unknown field, a wrong type, a value out of
// range each are a VALIDATION_ERROR that names the field, what it got and what it takes.
// Empty input and null are the empty object.
func (op *Op) Decode(raw []byte) (any, error) {
	params := op.New()
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return params, op.Check(params)
	}
	if raw[0] != '{' || !json.Valid(raw) {
		return nil, notObject(op, raw)
	}
	if err := (given{op}).object("", "", op.Params, raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(params); err != nil {
		return nil, op.explain(err)
	}
	return params, op.Check(params)
}

func invalid(hint, format string, args ...any) error {
	return fault.New(fault.ValidationError, hint, format, args...)
}

// notObject says why parameters are no object, and nothing behind it.
func notObject(op *Op, raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var first map[string]json.RawMessage
	if err := dec.Decode(&first); err != nil {
		return invalid("Send an object with the fields of "+op.Name+".", "the parameters are no JSON object: %w", err)
	}
	return invalid("Send one JSON object.", "there is text behind the parameters")
}

func unknownField(where, name string, known []string) error {
	hint := "Fields: " + strings.Join(known, ", ") + "."
	if near := near.Names(name, known, 1); len(near) > 0 {
		hint = fmt.Sprintf("Did you mean %s? %s", near[0], hint)
	}
	return invalid(hint, "unknown field %q in %s", name, where)
}

// explain turns a decoder's error into one that names field, expectation and value.
func (op *Op) explain(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		field := te.Field
		if field == "" {
			field = "the parameters"
		}
		return invalid(fmt.Sprintf("Send %s as %s.", field, jsonType(te.Type)), "%s: expected %s, got %s", field,
			jsonType(te.Type), te.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid("Leave it out, or see the tool's schema.", "unknown field %s in %s", name, op.Name)
	}
	return invalid("See the tool's schema.", "parameters of %s: %w", op.Name, err)
}

func jsonType(t reflect.Type) string {
	if t == reflect.TypeFor[query.MessageFilter]() {
		return "object"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array of " + jsonType(t.Elem())
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	}
	return t.String()
}

// jsonNames lists a struct's wire names in order.
func jsonNames(t reflect.Type) []string {
	var names []string
	for _, f := range wireFields(t) {
		names = append(names, f.name)
	}
	return names
}

// fieldByName finds a struct's field by its wire name.
func fieldByName(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		wire, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && wire == "" {
			if got, ok := fieldByName(v.Field(i), name); ok {
				return got, true
			}
		} else if wire == name {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// Check tests filled parameters against the table's limits. 0 and "" are absent here: Decode, which has seen what was
// written, knows better.
func (op *Op) Check(params any) error {
	v := reflect.ValueOf(params).Elem()
	for _, f := range op.Fields {
		fv, ok := lookup(v, f.Name)
		if !ok && strings.Contains(f.Name, ".") {
			continue // the object that it is a field of is absent, or there are several: a list's
		}
		if !ok || fv.IsZero() {
			if f.Required {
				return invalid(fmt.Sprintf("Call %s again with %s.", op.Name, f.Name), "%s of %s is required", f.Name, op.Name)
			}
			continue // absent: the operation's default holds
		}
		if err := f.check(fv); err != nil {
			return err
		}
	}
	return nil
}

func lookup(v reflect.Value, path string) (reflect.Value, bool) {
	for {
		head, rest, nested := strings.Cut(path, ".")
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}, false
		}
		f, ok := fieldByName(v, head)
		if !ok || !nested {
			return f, ok
		}
		v, path = f, rest
	}
}

func (f *Field) check(v reflect.Value) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		return f.checkEnum(f.Name, v.String())
	}
	if v.CanInt() && (v.Int() < f.Min || v.Int() > f.Max && !f.Cut) {
		return f.outOfRange(f.Name, strconv.FormatInt(v.Int(), 10))
	}
	return nil
}
