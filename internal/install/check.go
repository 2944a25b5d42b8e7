package install

import (
	"bytes"
	"fmt"
	"reflect"
)

// checkJSON says whether new is old but for the entry at path.
func checkJSON(old, new []byte, path []string) error {
	a, err := jsonValue(old)
	if err != nil {
		return err
	}
	b, err := jsonValue(new)
	if err != nil {
		return fmt.Errorf("it would not parse any more: %w", err)
	}
	return sameBut(a, b, path)
}

func jsonValue(src []byte) (any, error) {
	d, err := parseJSONC(src)
	if err != nil {
		if blank(src) {
			return map[string]any{}, nil
		}
		return nil, err
	}
	return d.parsed()
}

// blank tells whether a file has nothing in it, which is as good as an empty object.
func blank(src []byte) bool { return len(bytes.Trim(bytes.TrimPrefix(src, bom), " \t\r\n")) == 0 }

// sameBut compares two values without what is at path, and without objects on the way that hold nothing else.
func sameBut(a, b any, path []string) error {
	without(a, path)
	without(b, path)
	if reflect.DeepEqual(a, b) || fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) { // NaN is not itself
		return nil
	}
	return fmt.Errorf("more than %s would change", where(path))
}

func without(v any, path []string) {
	m, ok := v.(map[string]any)
	if !ok || len(path) == 0 {
		return
	}
	if len(path) > 1 {
		without(m[path[0]], path[1:])
		if below, ok := m[path[0]].(map[string]any); !ok || len(below) > 0 {
			return
		}
	}
	delete(m, path[0])
}
