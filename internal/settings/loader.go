package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

const (
	// maxFileBytes bounds what is read: a settings file is a page, not a dump.
	maxFileBytes = 1 << 20
	// maxWarnings bounds what one file can put into every answer.
	maxWarnings = 10
)

// Loader reads settings files. It remembers nothing: a file that keeps its size and time is read anew
// like any other. Safe for concurrent use.
type Loader struct{ home string }

// file is one parsed settings file.
type file struct {
	values   map[string]any // by key name, checked
	warnings []string
}

// NewLoader returns a loader whose user file is home/settings.json.
func NewLoader(home string) *Loader { return &Loader{home: home} }

// Load returns the settings for a project ("" for none) and what was wrong in the files.
func (l *Loader) Load(projectRoot string) (Settings, []string) {
	s := Defaults()
	user := filepath.Join(l.home, "settings.json")
	f := read(user)
	f.apply(&s, false)
	warnings := f.warnings
	if projectRoot == "" {
		return s, warnings
	}
	if path := filepath.Join(projectRoot, ".strobe", "settings.json"); path != user {
		f := read(path)
		warnings = append(warnings, f.warnings...)
		for _, name := range f.apply(&s, true) {
			warnings = append(warnings, fmt.Sprintf("%s: %s is ignored: it concerns all projects; set it in %s", path, name,
				user))
		}
	}
	return s, warnings
}

// apply lays the file over s. Of a project's file it returns the keys that only the user's may set.
func (f *file) apply(s *Settings, project bool) (refused []string) {
	for _, k := range Keys {
		switch v, ok := f.values[k.Name]; {
		case ok && project && k.UserOnly:
			refused = append(refused, k.Name)
		case ok:
			k.set(s, v)
		}
	}
	return refused
}

// isNotDir reports whether a part of the path is a file, as when .strobe is one.
func isNotDir(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "not a directory")
}

func read(path string) file {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return file{}
		}
		return file{warnings: []string{fmt.Sprintf("settings file %s is ignored: %v", path, err)}}
	}
	if !info.Mode().IsRegular() { // reading a FIFO or a device might never end
		return file{warnings: []string{fmt.Sprintf("settings file %s is ignored: not a regular file", path)}}
	}
	data, err := readBounded(path)
	if err != nil {
		return file{warnings: []string{fmt.Sprintf("settings file %s is ignored: %v", path, err)}}
	}
	values, problems := Parse(data)
	f := file{values: values}
	for _, p := range problems {
		f.warnings = append(f.warnings, path+": "+p)
	}
	return f
}

func readBounded(path string) ([]byte, error) {
	r, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxFileBytes)
	}
	return data, nil
}

// Parse reads a settings file's text. It returns the good values by key name (int64, float64 or string)
// and one line for everything that was ignored.
func Parse(data []byte) (values map[string]any, problems []string) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // editors on Windows put it there
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, []string{"the whole file is ignored: " + describeSyntax(data, err)}
	}
	names := make([]string, 0, len(raw))
	for name := range raw {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range twice(data) {
		problems = append(problems, fmt.Sprintf("%s stands there more than once; the last holds", cut(name)))
	}
	values = map[string]any{}
	for _, name := range names {
		v, problem := check(name, raw[name])
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		values[name] = v
	}
	if n := len(problems); n > maxWarnings {
		problems = append(problems[:maxWarnings:maxWarnings], fmt.Sprintf("%d more problems", n-maxWarnings))
	}
	return values, problems
}

// twice returns the keys that an intact object has more than once, in its order.
func twice(data []byte) (names []string) {
	d := json.NewDecoder(bytes.NewReader(data))
	seen := map[string]int{}
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var skip json.RawMessage
		if err != nil || d.Decode(&skip) != nil {
			return names
		}
		if key, ok := name.(string); ok {
			if seen[key]++; seen[key] == 2 {
				names = append(names, key)
			}
		}
	}
	return names
}

func describeSyntax(data []byte, err error) string {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		at := data[:min(max(int(se.Offset), 0), len(data))]
		return fmt.Sprintf("line %d: %v", 1+bytes.Count(at, []byte("\n")), err)
	}
	return "it must hold one JSON object with flat keys such as \"events.maxPerSession\""
}

// check returns the value of one key, or what is wrong with it.
func check(name string, raw json.RawMessage) (any, string) {
	i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return nil, fmt.Sprintf("unknown key %q is ignored%s", cut(name), meant(name))
	}
	k := Keys[i]
	switch k.Default.(type) {
	case string:
		var v string
		if json.Unmarshal(raw, &v) == nil && k.takes(v) {
			return v, ""
		}
	case float64:
		if v, ok := number(raw); ok && v >= k.Min && v <= k.Max {
			return v, ""
		}
	default:
		if v, ok := integer(raw); ok && v >= int64(k.Min) && v <= int64(k.Max) {
			return v, ""
		}
	}
	return nil, fmt.Sprintf("%s = %s is ignored; allowed: %s", name, cut(string(raw)), k.Allowed())
}

// takes reports whether a key of a text may have it.
func (k *Key) takes(v string) bool {
	if k.Enum == nil {
		return len(v) <= MaxText && strings.IndexFunc(v, unicode.IsControl) < 0 && (k.check == nil || k.check(v) == nil)
	}
	return slices.Contains(k.Enum, v)
}

func number(raw json.RawMessage) (float64, bool) {
	var f float64
	return f, json.Unmarshal(raw, &f) == nil && string(raw) != "null"
}

// integer accepts 200000, 2e5 and 200000.0, which are the same number in JSON.
func integer(raw json.RawMessage) (int64, bool) {
	var n int64
	if string(raw) == "null" {
		return 0, false
	}
	if json.Unmarshal(raw, &n) == nil {
		return n, true
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f < -(1<<53) || f > 1<<53 || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// cut keeps a hostile value from filling the answer.
func cut(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:limit], "�") + "…"
}

// meant offers the keys that look like a name.
func meant(name string) string {
	var keys []string
	for _, k := range Keys {
		keys = append(keys, k.Name)
	}
	if like := near.Parts(name, keys, 1); len(like) > 0 {
		return fmt.Sprintf("; did you mean %q?", like[0])
	}
	return "; the keys are " + strings.Join(keys, ", ")
}
