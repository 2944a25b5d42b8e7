package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	write(t, filepath.Join(project, ".strobe", "settings.json"), `{"events.maxPerSession": 2e3, "trace.onFullBuffer": "block"}`)
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
		{`{"events.maxPerSession": 0, "sessions.max": 9}`, "allowed: an integer from 1 to 10000000"},
		{`{"events.maxPerSession": 10000001, "sessions.max": 9}`, "10000001 is ignored"},
		{`{"events.maxPerSession": "many", "sessions.max": 9}`, `"many" is ignored`},
		{`{"events.maxPerSession": 1.5, "sessions.max": 9}`, "1.5"},
		{`{"events.maxPerSession": null, "sessions.max": 9}`, "null"},
		{`{"events.maxPerSession": 99999999999999999999, "sessions.max": 9}`, "99999"},
		{`{"events.maxPersession": 5, "sessions.max": 9}`, `did you mean "events.maxPerSession"`},
		{`{"events": {"maxPerSession": 5}, "sessions.max": 9}`, "unknown key"},
		{`{"trace.onFullBuffer": "wait", "sessions.max": 9}`, "allowed: drop, block"},
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
		if k.Doc == "" || k.Type() == "integer" && (k.Default.(int64) < k.Min || k.Default.(int64) > k.Max) {
			t.Errorf("key %+v is inconsistent", k.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"events.maxPerSession": 5, "x": [1,2,{}]}`))
	f.Add([]byte("\xef\xbb\xbf{\"sessions.max\": -1}"))
	f.Add([]byte(`{"trace.onFullBuffer":"drop","` + strings.Repeat("k", 200) + `":1}`))
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
			if n, isInt := v.(int64); isInt && (n < k.Min || n > k.Max) {
				t.Fatalf("%s = %d is out of range", k.Name, n)
			}
		}
	})
}
