package scenario

import (
	"encoding/json"

	"github.com/strobe-debug/strobe/internal/iochan"
)

type object = map[string]any

// Schema is the JSON schema of scenario files, as it is published: editors complete and check by it.
func Schema() ([]byte, error) {
	closed := func(required []string, properties object) object {
		return object{"type": "object", "required": required, "properties": properties, "additionalProperties": false}
	}
	integer := func(low, high int) object { return object{"type": "integer", "minimum": low, "maximum": high} }
	text := object{"type": "string"}
	steps := object{"type": "array", "items": object{"$ref": "#/$defs/step"}}
	condition := object{"withinMs": integer(0, MaxWaitMs), "times": object{"type": "integer", "minimum": 0},
		"atLeast": object{"type": "integer", "minimum": 0}, "atMost": object{"type": "integer", "minimum": 0},
		"called": object{"type": "boolean"}, "since": object{"enum": []string{"start", "do"}}}
	with := func(more object) object {
		out := object{}
		for k, v := range condition {
			out[k] = v
		}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	kinds := []any{
		closed([]string{"wait"}, object{"wait": integer(0, MaxWaitMs), "note": text}),
		closed([]string{"note"}, object{"note": text}),
		object{"type": "object", "required": []string{"assert"}, "properties": with(object{"assert": object{"type": "string",
			"description": "a channel: net, stdio, trace, process, file:GLOB; or value, with expression. The other members " +
				"are filters as debug_query's"}})},
		object{"type": "object", "required": []string{"waitFor"}, "properties": object{"withinMs": integer(0, MaxWaitMs),
			"waitFor": object{"type": "object", "required": []string{"channel"}, "properties": with(object{"channel": text})}}},
		closed([]string{"repeat", "steps"}, object{"repeat": integer(1, maxRepeat), "steps": steps, "note": text}),
		closed([]string{"parallel"}, object{"note": text, "parallel": object{"type": "array", "maxItems": maxParallel,
			"items": object{"anyOf": []any{object{"$ref": "#/$defs/step"}, steps}}}}),
		closed([]string{"capture", "from"}, object{"capture": text, "note": text, "from": object{"anyOf": []any{text,
			object{"type": "object", "properties": object{"channel": text, "take": text, "pattern": text, "value": text}}}}}),
	}
	for _, k := range iochan.Kinds {
		for _, m := range k.Messages {
			kinds = append(kinds, doSchema(k, &m))
		}
	}
	s := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Strobe scenario",
		"type": "object", "required": []string{"steps"}, "additionalProperties": false,
		"properties": object{"name": text, "launch": object{"type": "object", "description": "parameters of debug_launch"},
			"channels": object{"type": "array", "items": object{"anyOf": []any{text, closed([]string{"channel"},
				object{"channel": text, "options": object{"type": "object"}})}}},
			"vars": object{"type": "object"}, "stepTimeoutMs": integer(1, MaxWaitMs), "steps": steps},
		"$defs": object{"step": object{"anyOf": kinds}}}
	return json.MarshalIndent(s, "", " ")
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
