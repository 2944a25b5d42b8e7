package service

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Tools cost every conversation; package mcp holds the limits, and adds names and annotations.
func TestSchemasAreSmall(t *testing.T) {
	total := 0
	for _, op := range Ops {
		in, err := op.InputSchema()
		if err != nil {
			t.Fatal(err)
		}
		a, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(op.OutputSchema())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(string(a)+string(b), `"default":true`, ""), ":true") {
			t.Errorf("%s: a schema is \"true\", which some clients refuse", op.Name)
		}
		t.Logf("%s: input %d, output %d, summary %d", op.Name, len(a), len(b), len(op.Summary))
		if !op.Unlisted { // which no model is shown
			total += len(a) + len(b) + len(op.Summary) + len(op.Name)
		}
		if testing.Verbose() {
			t.Logf("%s\n%s", a, b)
		}
	}
	if total > 20<<10 {
		t.Errorf("all schemas are %d bytes", total)
	}
}

func TestEveryFieldOfTheTableExists(t *testing.T) {
	for _, op := range Ops {
		if op.Name == "" || op.Summary == "" || op.Doc == "" || len(op.Results) == 0 || op.run == nil {
			t.Errorf("%s: incomplete", op.Name)
		}
		v := reflect.New(op.Params).Elem()
		for _, f := range op.Fields {
			head, _, _ := strings.Cut(f.Name, ".")
			if _, ok := fieldByName(v, head); !ok {
				t.Errorf("%s has no field %s", op.Name, f.Name)
			}
		}
		for name := range op.Later {
			if _, ok := fieldByName(v, name); ok {
				t.Errorf("%s: %s is both offered and refused", op.Name, name)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		op, in string
		code   fault.Code // "" for none
		text   string
	}{
		{"debug_launch", `{"command":"x","projectRoot":"/p"}`, "", ""},
		{"debug_launch",
			`{"command":"x","projectRoot":"/p","args":["a"],"env":{"A":"b"},"trace":["f"],"onFullBuffer":"block","serializationDepth":10}`, "", ""},
		{"debug_launch", ``, fault.ValidationError, "projectRoot of debug_launch is required"},
		{"debug_launch", `null`, fault.ValidationError, "projectRoot of debug_launch is required"},
		{"debug_launch", `[]`, fault.ValidationError, "no JSON object"},
		{"debug_launch", `{"command":"x"}`, fault.ValidationError, "projectRoot of debug_launch is required"},
		{"debug_launch", `{"pid":1,"projectRoot":"/p"}`, "", ""},
		{"debug_launch", `{"command":5,"projectRoot":"/p"}`, fault.ValidationError, "command: expected string, got number"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","args":"a"}`, fault.ValidationError,
			"args: expected array of string, got string"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","args":[1]}`, fault.ValidationError, "args"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","terminal":"yes"}`, fault.ValidationError,
			"terminal: expected boolean"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","projectroot":"/p"}`, fault.ValidationError,
			`unknown field "projectroot" in debug_launch. Did you mean projectRoot`},
		{"debug_launch", `{"command":"x","projectRoot":"/p","Command":"y"}`, fault.ValidationError,
			`unknown field "Command"`},
		{"debug_launch", `{"command":"x","projectRoot":"/p","onFullBuffer":"lose"}`, fault.ValidationError,
			`onFullBuffer = "lose" is not allowed. Allowed: wait, drop, block`},
		{"debug_launch", `{"command":"x","projectRoot":"/p","serializationDepth":11}`, fault.ValidationError,
			"serializationDepth = 11 is out of range. Allowed: 1 to 10"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","serializationDepth":-1}`, fault.ValidationError, "out of range"},
		{"debug_launch", `{"command":"x","projectRoot":"/p","serializationDepth":2.5}`, fault.ValidationError,
			"serializationDepth: expected integer, got number 2.5"},
		{"debug_trace", `{"watches":{"add":[]},"sampling":{"rate":0.5},"captureOut":true}`, "", ""},
		{"debug_trace", `{"sampling":"on"}`, fault.ValidationError, "sampling"},
		{"debug_trace", `{"sampling":{"rate":2}}`, fault.ValidationError, "sampling.rate 2"},
		{"debug_trace", `{"sampling":{"rat":1}}`, fault.ValidationError, "sampling"},
		{"debug_trace", `{"watches":{"add":[{"var":"x"}]}}`, fault.ValidationError, "var"},
		{"debug_trace", `{}`, "", ""},
		{"debug_trace", `{"add":{}}`, fault.ValidationError, "add: expected array of string, got object"},
		{"debug_session", `{}`, fault.ValidationError, "action of debug_session is required"},
		{"debug_session", `{"action":"statsu"}`, fault.ValidationError, "Allowed: status, stop, list, delete, input"},
		{"debug_session", `{"action":"list"} {}`, fault.ValidationError, ""},
		{"debug_query", `{"sessionId":"x","eventType":"stdout"}`, "", ""},
		{"debug_query",
			`{"sessionId":"x","eventType":["stdout","stderr"],"timeFrom":"-5s","timeTo":100,"returnValue":{"equals":18446744073709551615}}`, "", ""},
		{"debug_query", `{"sessionId":"x","eventType":7}`, fault.ValidationError, "eventType"},
		{"debug_query", `{"sessionId":"x","function":{"equal":"x"}}`, fault.ValidationError, "equal"},
		{"debug_query", `{"sessionId":"x","argument":{"equals":1}}`, fault.ValidationError, "argument.name"},
		{"debug_query", `{"sessionId":"x","view":"graph"}`, fault.ValidationError, "Allowed: events, tree, stats"},
		{"debug_query", `{}`, fault.ValidationError, "sessionId"},
	} {
		p, err := Find(tc.op).Decode([]byte(tc.in))
		switch {
		case tc.code == "" && (err != nil || p == nil):
			t.Errorf("%s %s: %v", tc.op, tc.in, err)
		case tc.code != "" && (err == nil || fault.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text)):
			t.Errorf("%s %s: %v, want %s with %q", tc.op, tc.in, err, tc.code, tc.text)
		case tc.code != "" && fault.From(err).Hint == "":
			t.Errorf("%s %s: no hint", tc.op, tc.in)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("debug_launch", []byte(`{"command":"x","projectRoot":"/p","env":{"a":"b"}}`))
	f.Add("debug_query", []byte(`{"sessionId":"x","argument":{"name":"a","equals":null},"timeFrom":"-5s"}`))
	f.Add("debug_trace", []byte(`{"add":["a"],"serializationDepth":99}`))
	f.Add("debug_session", []byte(`{"action":"stop","kill":null}`))
	f.Fuzz(func(t *testing.T, name string, in []byte) {
		op := Find(name)
		if op == nil {
			return
		}
		if _, err := op.Decode(in); err != nil {
			if c := fault.CodeOf(err); c != fault.ValidationError && c != fault.Unsupported {
				t.Fatalf("%s %q: code %s: %v", name, in, c, err)
			}
		}
	})
}
