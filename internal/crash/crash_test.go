package crash_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/crash"
)

// recorded is a crash of a real program, written down by the code that stored crashes before they were a type.
type recorded struct {
	name                string
	Event, Short, Tight json.RawMessage
}

func events(tb testing.TB) (all []recorded) {
	tb.Helper()
	names, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(names) < 20 {
		tb.Fatalf("%d recorded crashes, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		r := recorded{name: filepath.Base(name)}
		if err := json.Unmarshal(b, &r); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		all = append(all, r)
	}
	return all
}

// A stored event that is read and written again is the same bytes, and its short form is what it always was.
func TestRecordedForm(t *testing.T) {
	for _, r := range events(t) {
		c, err := crash.Parse(r.Event)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if r.name == "bare-signal.json" { // of a collector without pictures, which said nothing of the end
			c.Fatal = true
			r.Event, r.Short = json.RawMessage(`{"signal":"SIGSEGV","fatal":true}`),
				json.RawMessage(`{"signal":"SIGSEGV","fatal":true}`)
		}
		got, err := c.JSON()
		if diff := cmp.Diff(string(r.Event), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-stored +written again):\n%s", r.name, err, diff)
		}
		short := encode(t, c.Short())
		if diff := cmp.Diff(string(r.Short), short); diff != "" {
			t.Errorf("%s: short form (-as it was +now):\n%s", r.name, diff)
		}
		if fatal := bytes.Contains(got, []byte(`"fatal":true`)); crash.Fatal(got) != fatal {
			t.Errorf("%s: Fatal = %v, want %v", r.name, !fatal, fatal)
		}
		again, err := crash.ParseShown(bytes.ReplaceAll(r.Event, []byte(`"file":`), []byte(`"sourceFile":`)))
		if err != nil {
			t.Errorf("%s: as queries show it: %v", r.name, err)
		} else if b, err := again.JSON(); err != nil || string(b) != string(got) {
			t.Errorf("%s: as queries show it (-stored +read):\n%s", r.name, cmp.Diff(string(got), string(b)))
		}
	}
}

// encode is without \u003c for <, as answers are.
func encode(tb testing.TB, v any) string {
	tb.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// An exception of an interpreter has a chain of causes, and frames without addresses.
func TestInterpretersException(t *testing.T) {
	c := &crash.Crash{
		ExitCode: 1, Class: "uncaught-exception", Reason: "uncaught exception KeyError: 'b'", Language: "python", Fatal: true,
		Function: "price", File: "/app/shop.py", Line: 12, ExceptionType: "KeyError", ExceptionMessage: "'b'",
		Causes: []crash.Cause{
			{Type: "ValueError", Message: "no number", ThrownAt: &crash.Place{Function: "parse", File: "/app/shop.py", Line: 4}},
			{Type: "OSError", Relation: "context"},
		},
		Backtrace: []crash.Frame{{Function: "price", File: "/app/shop.py", Line: 12},
			{Index: 1, Function: "<module>", Module: "shop"}},
	}
	b, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := crash.Parse(b)
	if err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("read again: %v (-want +got):\n%s", err, cmp.Diff(c, again, cmp.AllowUnexported(crash.Crash{})))
	}
	s := again.Short()
	if s.Language != "python" || !reflect.DeepEqual(s.CausedBy,
		[]string{"ValueError: no number in parse (shop.py:4)", "OSError, which was being handled"}) ||
		!reflect.DeepEqual(s.Stack, []string{"#0 price (shop.py:12)", "#1 <module> in shop"}) {
		t.Errorf("short form: %s", encode(t, s))
	}
}

// FuzzParse: a damaged file's crash is an error or an event that can be written.
func FuzzParse(f *testing.F) {
	for _, r := range events(f) {
		if len(r.Event) < 10<<10 {
			f.Add([]byte(r.Event))
		}
	}
	f.Add([]byte(`{"fatal":1,"backtrace":[null],"locals":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		crash.Fatal(b)
		c, err := crash.Parse(b)
		if err != nil {
			return
		}
		c.Short()
		out, err := c.JSON()
		if err != nil || !json.Valid(out) {
			t.Errorf("written again: %v: %s", err, out)
		}
	})
}
