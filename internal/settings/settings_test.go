package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLayersAndRereading(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	l := NewLoader(home)
	if s, w := l.Load(project); s != Defaults() || len(w) > 0 {
		t.Fatalf("Load with no files = %+v, %v", s, w)
	}
	write(t, filepath.Join(home, "settings.json"), `{"events.maxPerSession": 1000, "sessions.max": 7}`)
	write(t, filepath.Join(project, ".strobe", "settings.json"),
		`{"events.maxPerSession": 2e3, "trace.onFullBuffer": "block"}`)
	s, w := l.Load(project)
	if s.EventsMaxPerSession != 2000 || s.SessionsMax != 7 || s.OnFullBuffer != "block" || len(w) > 0 {
		t.Fatalf("Load = %+v, %v", s, w)
	}
	if s, _ := l.Load(""); s.EventsMaxPerSession != 1000 {
		t.Fatalf("Load without project = %+v", s)
	}
	// Same size, rewritten at once: the change must be seen.
	for i := range 5 {
		want := int64(3000 + i)
		write(t, filepath.Join(project, ".strobe", "settings.json"), `{"events.maxPerSession": 300`+string(rune('0'+i))+`}`)
		if s, _ := l.Load(project); s.EventsMaxPerSession != want {
			t.Fatalf("after rewrite %d: %d, want %d", i, s.EventsMaxPerSession, want)
		}
	}
	os.Remove(filepath.Join(project, ".strobe", "settings.json"))
	if s, _ := l.Load(project); s.EventsMaxPerSession != 1000 {
		t.Fatalf("after removal = %+v", s)
	}
}

func TestBadKeyLeavesTheRest(t *testing.T) {
	for _, tc := range []struct{ text, wantWarning string }{
		{`{"events.maxPerSession": 0, "sessions.max": 9}`, "allowed: integer, 1 to 10000000"},
		{`{"events.maxPerSession": 100000001, "sessions.max": 9}`, "100000001 is ignored"},
		{`{"events.maxPerSession": "many", "sessions.max": 9}`, `"many" is ignored`},
		{`{"events.maxPerSession": 1.5, "sessions.max": 9}`, "1.5"},
		{`{"events.maxPerSession": null, "sessions.max": 9}`, "null"},
		{`{"events.maxPerSession": 99999999999999999999, "sessions.max": 9}`, "99999"},
		{`{"events.maxPersession": 5, "sessions.max": 9}`, `did you mean "events.maxPerSession"`},
		{`{"events": {"maxPerSession": 5}, "sessions.max": 9}`, "unknown key"},
		{`{"trace.onFullBuffer": "lose", "sessions.max": 9}`, "allowed: string: wait, drop, block"},
		{`{"sampling.rate": 0, "sessions.max": 9}`, "sampling.rate = 0 is ignored; allowed: number, 0.0001 to 1"},
		{`{"sampling.rate": 1.01, "sessions.max": 9}`, "1.01"},
		{`{"sampling.rate": "0.5", "sessions.max": 9}`, `"0.5" is ignored`},
		{`{"sampling.rate": null, "sessions.max": 9}`, "null"},
		{`{"sampling.treshold": 5, "sessions.max": 9}`, `did you mean "sampling.threshold"`},
		{`{"sessions.max": 3, "sessions.max": 9}`, "sessions.max stands there more than once"},
	} {
		v, problems := Parse([]byte(tc.text))
		if v["sessions.max"] != int64(9) {
			t.Errorf("Parse(%s): the good key is lost: %v", tc.text, v)
		}
		if len(v) != 1 {
			t.Errorf("Parse(%s): the bad key holds: %v", tc.text, v)
		}
		if !strings.Contains(strings.Join(problems, "\n"), tc.wantWarning) {
			t.Errorf("Parse(%s): warnings %q, want %q", tc.text, problems, tc.wantWarning)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "settings.json")
	for _, text := range []string{"{\n\n\"a\": }", "[1]", "nonsense", strings.Repeat(" ", maxFileBytes+1)} {
		write(t, path, text)
		s, w := NewLoader(home).Load("")
		if s != Defaults() || len(w) != 1 || !strings.Contains(w[0], path) {
			t.Errorf("Load(%.20q) = %+v, %q", text, s, w)
		}
	}
	write(t, path, "{\n\n\"a\": }")
	if _, w := NewLoader(home).Load(""); !strings.Contains(w[0], "line 3") {
		t.Errorf("warning %q does not name the line", w)
	}
	os.Remove(path)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, w := NewLoader(home).Load(""); len(w) != 1 || !strings.Contains(w[0], "not a regular file") {
		t.Errorf("directory: warnings %q", w)
	}
}

func TestKeysAreConsistent(t *testing.T) {
	for _, k := range Keys {
		if k.Doc == "" || k.Enum == nil && !inRange(k, k.Default) {
			t.Errorf("key %+v is inconsistent", k.Name)
		}
	}
}

// inRange reports whether v has the key's type and lies within its range or enumeration.
func inRange(k Key, v any) bool {
	switch v := v.(type) {
	case int64:
		return k.Type() == "integer" && float64(v) >= k.Min && float64(v) <= k.Max
	case float64:
		return k.Type() == "number" && v >= k.Min && v <= k.Max
	case string:
		return k.Type() == "string" && (k.Enum == nil || slices.Contains(k.Enum, v))
	}
	return false
}

// Keeps out: a repository whose settings have the recordings of other projects deleted.
func TestProjectsCannotSetWhatConcernsAll(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "settings.json"), `{"storage.maxBytes": 5000000, "storage.retainDays": 90}`)
	write(t, filepath.Join(project, ".strobe", "settings.json"),
		`{"storage.maxBytes": 1048576, "storage.retainDays": 1, "sessions.max": 3}`)
	s, w := NewLoader(home).Load(project)
	if s.StorageMaxBytes != 5_000_000 || s.StorageRetainDays != 90 || s.SessionsMax != 3 {
		t.Errorf("Load = %+v", s)
	}
	if text := strings.Join(w, "\n"); len(w) != 2 || !strings.Contains(text, "storage.maxBytes is ignored") ||
		!strings.Contains(text, filepath.Join(home, "settings.json")) {
		t.Errorf("warnings %q", w)
	}
	// The user's own file is not a project's, though it may look like one.
	root := t.TempDir()
	write(t, filepath.Join(root, ".strobe", "settings.json"), `{"storage.retainDays": 2}`)
	if s, w := NewLoader(filepath.Join(root, ".strobe")).Load(root); s.StorageRetainDays != 2 || len(w) > 0 {
		t.Errorf("Load with home in the project = %+v, %q", s, w)
	}
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	s := Defaults()
	want := Settings{
		EventsMaxPerSession: 10_000_000, BytesMaxPerSession: 1 << 30, SessionsMax: 50, StorageMaxBytes: 10 << 30,
		StorageRetainDays: 7, SerializationDepth: 3,
		OnFullBuffer: "wait", LineBuffer: "auto", RecordWrites: true, SamplingThreshold: 100_000, SamplingAfter: 1_000_000,
		SamplingRate: 0.01, SecretRedact: true,
	}
	if s != want {
		t.Errorf("Defaults() = %+v, want %+v", s, want)
	}
}

// Keeps out: a file that is taken for unchanged because size and time are as they were.
func TestReadAnewAtEveryCall(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "settings.json")
	l := NewLoader(home)
	then := time.Unix(1_600_000_000, 0)
	for want := range int64(9) {
		write(t, path, fmt.Sprintf(`{"sessions.max": %d}`, want+1))
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		if s, _ := l.Load(""); int64(s.SessionsMax) != want+1 {
			t.Fatalf("sessions.max = %d, want %d", s.SessionsMax, want+1)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"events.maxPerSession": 5, "x": [1,2,{}]}`))
	f.Add([]byte("\xef\xbb\xbf{\"sessions.max\": -1}"))
	f.Add([]byte(`{"trace.onFullBuffer":"drop","` + strings.Repeat("k", 200) + `":1}`))
	f.Add([]byte(`{"sampling.rate":1e-3,"sampling.rate":0.5,"sampling.threshold":1e5,"a":null}`))
	f.Add([]byte(`{"sampling.rate":NaN}`))
	f.Add([]byte(`{"storage.maxBytes":1e300,"":{"":""},"\ud800":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, problems := Parse(data)
		if len(problems) > maxWarnings+1 {
			t.Fatalf("%d problems", len(problems))
		}
		var s Settings
		for _, k := range Keys {
			v, ok := values[k.Name]
			if !ok {
				continue
			}
			k.set(&s, v)
			if !inRange(k, v) {
				t.Fatalf("%s = %v is out of range", k.Name, v)
			}
		}
	})
}
