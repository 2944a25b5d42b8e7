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
	"sync"
	"time"
)

const (
	// maxFileBytes bounds what is read: a settings file is a page, not a dump.
	maxFileBytes = 1 << 20
	// maxWarnings bounds what one file can put into every answer.
	maxWarnings = 10
	// maxCached bounds the projects whose file is remembered.
	maxCached = 256
	// racyWindow: a file changed this shortly before it was read is read anew, because a second
	// change within the file system's clock tick leaves size and time as they were.
	racyWindow = 50 * time.Millisecond
)

// Loader reads settings files anew when they changed. Safe for concurrent use.
type Loader struct {
	home string

	mu    sync.Mutex // leaf lock; not held while a file is read
	files map[string]file
}

// file is one parsed settings file.
type file struct {
	mtime, readAt time.Time
	size          int64
	values        map[string]any // by key name, checked
	warnings      []string
}

// NewLoader returns a loader whose user file is home/settings.json.
func NewLoader(home string) *Loader {
	return &Loader{home: home, files: map[string]file{}}
}

// Load returns the settings for a project ("" for none) and what was wrong in the files.
func (l *Loader) Load(projectRoot string) (Settings, []string) {
	s := Defaults()
	paths := []string{filepath.Join(l.home, "settings.json")}
	if projectRoot != "" {
		paths = append(paths, filepath.Join(projectRoot, ".strobe", "settings.json"))
	}
	var warnings []string
	for i, path := range paths {
		if i > 0 && path == paths[0] {
			continue
		}
		f := l.file(path)
		for _, k := range Keys {
			if v, ok := f.values[k.Name]; ok {
				k.set(&s, v)
			}
		}
		warnings = append(warnings, f.warnings...)
	}
	return s, warnings
}

// file returns the parsed file, from memory if it has not changed.
func (l *Loader) file(path string) file {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return file{}
		}
		return file{warnings: []string{fmt.Sprintf("settings file %s is ignored: %v", path, err)}}
	}
	l.mu.Lock()
	f, ok := l.files[path]
	l.mu.Unlock()
	if ok && f.mtime.Equal(info.ModTime()) && f.size == info.Size() && f.readAt.Sub(f.mtime) > racyWindow {
		return f
	}
	f = read(path, info)
	l.mu.Lock()
	if len(l.files) >= maxCached {
		clear(l.files)
	}
	l.files[path] = f
	l.mu.Unlock()
	return f
}

// isNotDir reports whether a part of the path is a file, as when .strobe is one.
func isNotDir(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "not a directory")
}

func read(path string, info fs.FileInfo) file {
	f := file{mtime: info.ModTime(), size: info.Size(), readAt: time.Now()}
	if !info.Mode().IsRegular() {
		f.warnings = []string{fmt.Sprintf("settings file %s is ignored: not a regular file", path)}
		return f
	}
	data, err := readBounded(path)
	if err != nil {
		f.warnings = []string{fmt.Sprintf("settings file %s is ignored: %v", path, err)}
		return f
	}
	var problems []string
	f.values, problems = Parse(data)
	for _, p := range problems {
		f.warnings = append(f.warnings, path+": "+p)
	}
	return f
}

func readBounded(path string) ([]byte, error) {
	r, err := os.Open(path)
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

// Parse reads a settings file's text. It returns the good values by key name (int64 or string)
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
		near := nearestKey(name)
		return nil, fmt.Sprintf("unknown key %q is ignored; did you mean %q?", cut(name), near)
	}
	k := Keys[i]
	if k.Enum != nil {
		var s string
		if json.Unmarshal(raw, &s) == nil && slices.Contains(k.Enum, s) {
			return s, ""
		}
		return nil, fmt.Sprintf("%s = %s is ignored; allowed: %s", name, cut(string(raw)), strings.Join(k.Enum, ", "))
	}
	if n, ok := integer(raw); ok && n >= k.Min && n <= k.Max {
		return n, ""
	}
	return nil, fmt.Sprintf("%s = %s is ignored; allowed: an integer from %d to %d", name, cut(string(raw)), k.Min, k.Max)
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

// nearestKey returns the key with the smallest edit distance.
func nearestKey(name string) string {
	best, bestDistance := "", 1<<30
	for _, k := range Keys {
		if d := distance(strings.ToLower(cut(name)), strings.ToLower(k.Name)); d < bestDistance {
			best, bestDistance = k.Name, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
