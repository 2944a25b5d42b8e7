package group

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

func TestParse(t *testing.T) {
	all, err := parse([]byte(`
services:
  a: {command: ./a, depends: [c], trace: ["main.*"], cwd: sub}
  b: {command: b, trace: [], env: {X: "1"}, readyWhen: {port: 80, output: up, timeoutMs: 5}}
  c: {command: c, args: [1, two], depends: [b], trace: ["@sockets:64"]}
`), "/dir")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, strings.Join(append([]string{s.Name, s.Cwd}, s.Patterns()...), " "))
	}
	want := []string{"b /dir", "c /dir @sockets:64", "a /dir/sub @sockets main.*"}
	if !slices.Equal(got, want) || !slices.Equal(all[1].Args, []string{"1", "two"}) || all[0].ReadyWhen.Port != 80 {
		t.Errorf("parse = %q, %+v", got, all)
	}
	if all, err := parse([]byte(`{"services": {"x": {"command": "y"}}}`), "/"); err != nil || len(all) != 1 {
		t.Errorf("JSON: %v, %v", all, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "EOF",
		"services: {}":               "0 services",
		"services: {a: {comand: x}}": "comand",
		"services: {a: {args: [x]}}": "service a has no command",
		"services: {a: }":            "service a has no command",
		"services: {a: {command: x, depends: [b]}}":                                "service a depends on b, which is not there",
		"services: {a: {command: x, depends: [b]}, b: {command: y, depends: [a]}}": "depends on itself",
		"services: {a: {command: x, readyWhen: {port: 70000}}}":                    "out of range",
		"services: [": "did not find",
	} {
		_, err := parse([]byte(text), "/")
		if f := fault.From(err); err == nil || f.Code != fault.ValidationError || f.Hint == "" ||
			!strings.Contains(f.Msg, want) {
			t.Errorf("parse(%q) = %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("services: {a: {command: x, depends: [b]}, b: {command: y}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parse(text, "/")
		if err != nil {
			if fault.From(err).Hint == "" {
				t.Errorf("%q: %v says not what to do", text, err)
			}
			return
		}
		started := map[string]bool{}
		for _, s := range all {
			for _, d := range s.Depends {
				if !started[d] {
					t.Errorf("%q: %s before %s", text, s.Name, d)
				}
			}
			started[s.Name] = true
		}
	})
}
