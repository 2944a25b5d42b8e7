package scenario

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/near"
)

var variableUse = regexp.MustCompile(`\$\{([^}]*)\}`)

// variables refuses what no variable is called so far: a slip of the pen would be sent as it is.
func (p *parser) variables(s *Step) error {
	for _, m := range variableUse.FindAllSubmatch(s.Raw, -1) {
		name := string(m[1])
		if p.known[name] || strings.ContainsAny(name, ".:") { // those of channels
			continue
		}
		known := slices.Sorted(maps.Keys(p.known))
		hint := "Variables so far: " + strings.Join(known, ", ") + "; those of channels are net.url, net.port."
		if n := near.Names(name, known, 1); len(n) > 0 {
			hint = "Did you mean " + n[0] + "? " + hint
		}
		return invalid(hint, "%s: there is no variable %q", s.At, name)
	}
	return nil
}

// expand puts variables into all texts of a value. A text that is nothing but a variable becomes its value.
func expand(raw json.RawMessage, vars map[string]json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, []byte("${")) {
		return raw, nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	v, err := expandValue(v, vars)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func expandValue(v any, vars map[string]json.RawMessage) (any, error) {
	var err error
	switch x := v.(type) {
	case map[string]any:
		for name := range x {
			if x[name], err = expandValue(x[name], vars); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range x {
			if x[i], err = expandValue(x[i], vars); err != nil {
				return nil, err
			}
		}
	case string:
		if m := variableUse.FindString(x); m == x && m != "" {
			if raw, ok := vars[x[2:len(x)-1]]; ok {
				return raw, nil
			}
		}
		out := variableUse.ReplaceAllStringFunc(x, func(m string) string {
			raw, ok := vars[m[2:len(m)-1]]
			if !ok {
				err = invalid("Capture it first, or add the channel that it is of.", "there is no variable %s", m)
				return m
			}
			var s string
			if json.Unmarshal(raw, &s) == nil {
				return s
			}
			return string(raw)
		})
		return out, err
	}
	return v, nil
}

// fit turns texts that variables left into what a field is: "8080" into 8080.
func fit(k *iochan.Kind, action string, fields map[string]json.RawMessage) {
	for _, m := range k.Messages {
		if m.Name != action {
			continue
		}
		for _, f := range m.Fields {
			raw, ok := fields[f.Name]
			if !ok {
				continue
			}
			var s string
			isText := json.Unmarshal(raw, &s) == nil
			switch f.Type {
			case "integer", "number", "boolean":
				if isText && json.Valid([]byte(s)) {
					fields[f.Name] = json.RawMessage(s)
				}
			case "string":
				if !isText {
					fields[f.Name] = quoted(string(raw))
				}
			}
		}
	}
}

// quoted is a text as JSON.
func quoted(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return b
}
