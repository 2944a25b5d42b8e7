package service

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schemaer is implemented by parameter types whose JSON is not their Go shape, such as
// "a string or a list of strings".
type Schemaer interface{ JSONSchema() *jsonschema.Schema }

// outputDepth is how deep output schemas go: every byte is paid for in every conversation,
// and an answer explains itself.
const outputDepth = 1

// inputDepth bounds input schemas, which are complete.
const inputDepth = 8

// InputSchema returns the schema of the operation's parameters: all fields with types, ranges,
// defaults and enums; nothing else is allowed.
func (op *Op) InputSchema() (*jsonschema.Schema, error) {
	s := schemaOf(op.Params, inputDepth, true)
	for _, f := range op.Fields {
		prop, parent := s, s
		last := ""
		for name := range strings.SplitSeq(f.Name, ".") {
			parent, last = prop, name
			if prop.Items != nil {
				prop = prop.Items
				parent = prop
			}
			if prop = prop.Properties[name]; prop == nil {
				return nil, fmt.Errorf("build schema of %s: no field %s", op.Name, f.Name)
			}
		}
		if f.Required {
			parent.Required = append(parent.Required, last)
		}
		for _, e := range f.Enum {
			prop.Enum = append(prop.Enum, e)
		}
		if f.Max != 0 {
			// Beyond, it is the machine's bound and no advice, and nobody asks for thread 0 or for -1: schemas are paid for.
			if f.Min > 1 && f.Name != maxTokensField.Name || f.Min == 1 && f.Max < maxPID {
				prop.Minimum = jsonschema.Ptr(float64(f.Min))
			}
			if f.Max < 1_000_000 {
				prop.Maximum = jsonschema.Ptr(float64(f.Max))
			}
		}
		if f.Default != nil {
			data, err := json.Marshal(f.Default)
			if err != nil {
				return nil, fmt.Errorf("build schema of %s: %w", op.Name, err)
			}
			prop.Default = data
		}
	}
	if op.adjust != nil {
		op.adjust(s)
	}
	return s, nil
}

// OutputSchema returns the schema of the operation's answer: the fields that every one of its results has, whatever the
// action. Numbers and truth values are left out: they explain themselves, and every conversation pays for them.
func (op *Op) OutputSchema() *jsonschema.Schema {
	all := &jsonschema.Schema{Type: "object"}
	for i, t := range op.Results {
		properties := schemaOf(t, outputDepth, false).Properties
		if i == 0 {
			all.Properties = properties
		}
		for name, have := range all.Properties {
			if prop, ok := properties[name]; !ok || prop.Type != have.Type || plainTypes[have.Type] {
				delete(all.Properties, name)
			}
		}
	}
	return all
}

// plainTypes are not described in answers.
var plainTypes = map[string]bool{"integer": true, "number": true, "boolean": true}

var (
	schemaerType = reflect.TypeFor[Schemaer]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	marshaler    = reflect.TypeFor[json.Marshaler]()
)

// schemaOf reflects a type; depth bounds how many levels of struct fields are described.
func schemaOf(t reflect.Type, depth int, input bool) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(schemaerType) {
		return reflect.Zero(t).Interface().(Schemaer).JSONSchema()
	}
	if reflect.PointerTo(t).Implements(schemaerType) {
		return reflect.New(t).Interface().(Schemaer).JSONSchema()
	}
	if t == rawType || t.Implements(marshaler) || t.Kind() == reflect.Interface {
		// Never the schema "true": some clients take objects only.
		if input {
			return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
		}
		return &jsonschema.Schema{Type: "object"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return structSchema(t, depth, input)
	case reflect.Map:
		s := &jsonschema.Schema{Type: "object"}
		if input {
			s.AdditionalProperties = schemaOf(t.Elem(), depth, input)
		}
		return s
	case reflect.Slice, reflect.Array:
		s := &jsonschema.Schema{Type: "array"}
		if input {
			s.Items = schemaOf(t.Elem(), depth, input)
		}
		return s
	}
	return &jsonschema.Schema{Type: jsonType(t)}
}

func structSchema(t reflect.Type, depth int, input bool) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object"}
	if depth == 0 {
		return s
	}
	s.Properties = map[string]*jsonschema.Schema{}
	if input && depth == inputDepth { // of nested objects the operation refuses them all the same
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // false
	}
	addFields(s, t, depth, input)
	return s
}

func addFields(s *jsonschema.Schema, t reflect.Type, depth int, input bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !input && strings.Contains(opts, "omitempty") {
			continue // declared is what is always there: schemas are paid for in every conversation
		}
		if f.Anonymous && name == "" {
			addFields(s, f.Type, depth, input)
			continue
		}
		if !f.IsExported() || name == "" || name == "-" {
			continue
		}
		prop := schemaOf(f.Type, depth-1, input)
		prop.Description = f.Tag.Get("jsonschema")
		s.Properties[name] = prop
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
}
