package scenario

import (
	"encoding/json"
	"strings"

	"github.com/strobe-debug/strobe/internal/iochan"
)

// The schema but for the messages of channels, which stand where MESSAGES does.
const schemaText = `{
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "Strobe scenario",
 "type": "object", "required": ["steps"], "additionalProperties": false,
 "properties": {
  "name": {"type": "string"},
  "launch": {"type": "object", "description": "parameters of debug_launch"},
  "channels": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["channel"],
   "additionalProperties": false, "properties": {"channel": {"type": "string"}, "options": {"type": "object"}}}]}},
  "vars": {"type": "object", "description": "name: value, for ${name}"},
  "stepTimeoutMs": {"type": "integer", "minimum": 1, "maximum": 600000, "default": 5000},
  "steps": {"$ref": "#/$defs/steps"}
 },
 "$defs": {
  "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
  "ms": {"type": "integer", "minimum": 0, "maximum": 600000},
  "count": {"type": "integer", "minimum": 0},
  "text": {"type": "string"},
  "condition": {"type": "object", "properties": {"withinMs": {"$ref": "#/$defs/ms"}, "times": {"$ref": "#/$defs/count"},
   "atLeast": {"$ref": "#/$defs/count"}, "atMost": {"$ref": "#/$defs/count"}, "called": {"type": "boolean"},
   "since": {"enum": ["start", "do"]}}},
  "step": {"anyOf": [
   {"type": "object", "required": ["wait"], "additionalProperties": false,
    "properties": {"wait": {"$ref": "#/$defs/ms"}, "note": {"$ref": "#/$defs/text"}}},
   {"type": "object", "required": ["note"], "additionalProperties": false,
    "properties": {"note": {"$ref": "#/$defs/text"}}},
   {"type": "object", "required": ["assert"], "allOf": [{"$ref": "#/$defs/condition"}], "properties": {"assert": {
    "type": "string", "description": "a channel, or value with expression; other members are filters"}}},
   {"type": "object", "required": ["waitFor"], "properties": {"withinMs": {"$ref": "#/$defs/ms"},
    "waitFor": {"type": "object", "required": ["channel"], "allOf": [{"$ref": "#/$defs/condition"}]}}},
   {"type": "object", "required": ["repeat", "steps"], "additionalProperties": false, "properties": {
    "repeat": {"type": "integer", "minimum": 1, "maximum": 100000}, "steps": {"$ref": "#/$defs/steps"},
    "note": {"$ref": "#/$defs/text"}}},
   {"type": "object", "required": ["parallel"], "additionalProperties": false, "properties": {"note": {
    "$ref": "#/$defs/text"}, "parallel": {"type": "array", "maxItems": 64, "items": {"anyOf": [{"$ref": "#/$defs/step"},
    {"$ref": "#/$defs/steps"}]}}}},
   {"type": "object", "required": ["capture", "from"], "additionalProperties": false, "properties": {
    "capture": {"$ref": "#/$defs/text"}, "note": {"$ref": "#/$defs/text"}, "from": {"anyOf": [{"$ref": "#/$defs/text"},
    {"type": "object", "properties": {"channel": {"$ref": "#/$defs/text"}, "take": {"$ref": "#/$defs/text"},
    "pattern": {"$ref": "#/$defs/text"}, "value": {"$ref": "#/$defs/text"}}}]}}}MESSAGES
  ]}
 }
}
`

type object = map[string]any

// Schema is the JSON schema of scenario files, as it is published: editors complete and check by it.
func Schema() ([]byte, error) {
	var b strings.Builder
	for _, k := range iochan.Kinds {
		for i := range k.Messages {
			raw, err := json.Marshal(doSchema(k, &k.Messages[i]))
			if err != nil {
				return nil, err
			}
			b.WriteString(",\n   ")
			b.Write(raw)
		}
	}
	return []byte(strings.Replace(schemaText, "MESSAGES", b.String(), 1)), nil
}

func doSchema(k *iochan.Kind, m *iochan.Spec) object {
	pattern := "^" + k.Name
	if k.Arg != "" {
		pattern += "(:.+)?"
	}
	properties := object{"do": object{"type": "string", "pattern": pattern + "\\." + m.Name + "$", "description": m.Doc},
		"expectError": object{"type": "boolean"}, "note": object{"type": "string"}}
	required := []string{"do"}
	for _, f := range m.Fields {
		p := object{"description": f.Doc}
		switch f.Type {
		case "strings":
			p["type"], p["additionalProperties"] = "object", object{"type": "string"}
		case "any":
		case "string":
			p["type"] = "string"
		default:
			p["type"] = []string{f.Type, "string"} // or a variable
		}
		if f.Enum != nil {
			p["enum"] = f.Enum
		}
		properties[f.Name] = p
		if f.Required {
			required = append(required, f.Name)
		}
	}
	return object{"type": "object", "required": required, "properties": properties, "additionalProperties": false}
}
