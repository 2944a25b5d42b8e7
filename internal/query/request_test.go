package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

func TestInvalidRequests(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	m.grow(100)
	m.store(t)
	for raw, want := range map[string]string{
		`{"eventType":"function_call"}`:   `eventType: "function_call"`,
		`{"eventType":["stdout","none"]}`: `eventType: "none"`,
		`{"eventType":7}`:                 "eventType: 7",
		`{"function":{"matches":"a(b"}}`: "function.matches: missing closing ): " +
			"\"a(b\"|function.matches: missing closing ) at position 0",
		`{"function":{"matches":"ab[z-a]"}}`:          "at position 3",
		`{"text":{"matches":"(?=x)"}}`:                "text.matches: ",
		`{"text":{"matches":"((a{100}){100}){100}"}}`: "text.matches: ",
		`{"limit":-1}`:                                                  "limit: -1",
		`{"offset":-5}`:                                                 "offset: -5",
		`{"offset":1000001}`:                                            "offset: 1000001",
		`{"offset":5,"afterEventId":3}`:                                 "offset: 5 together with afterEventId 3",
		`{"afterEventId":-1}`:                                           "afterEventId: -1",
		`{"afterEventId":1,"order":"thread"}`:                           "order: thread",
		`{"order":"random"}`:                                            `order: "random"`,
		`{"view":"graph"}`:                                              `view: "graph"`,
		`{"view":"tree","text":{"contains":"x"}}`:                       "text: ",
		`{"view":"tree","eventType":"stdout"}`:                          "eventType: ",
		`{"view":"table","offset":2}`:                                   "offset: ",
		`{"waitMs":30001}`:                                              "waitMs: 30001",
		`{"timeFrom":"5 o'clock"}`:                                      "timeFrom: ",
		`{"timeFrom":-5}`:                                               "timeFrom: -5",
		`{"timeFrom":100,"timeTo":50}`:                                  "timeFrom: 100 is after timeTo 50",
		`{"timeFrom":"-1s","timeTo":"-2s"}`:                             "timeFrom: -1s is after",
		`{"minDurationNs":-1}`:                                          "minDurationNs: -1",
		`{"minDurationNs":10,"maxDurationNs":5}`:                        "minDurationNs: 10",
		`{"returnValue":{"equals":{"x":1}}}`:                            "returnValue.equals: ",
		`{"returnValue":{"greaterThan":1e-999999999}}`:                  "returnValue.greaterThan: 1e-999999999 is out of range",
		`{"returnValue":{"greaterThan":"1e-999999999"}}`:                "returnValue.greaterThan: ",
		`{"returnValue":{"greaterThan":"many"}}`:                        "returnValue.greaterThan: ",
		`{"returnValue":{"lessThan":null}}`:                             "returnValue.lessThan: ",
		`{"argument":{"equals":1}}`:                                     "argument.name: missing",
		`{"argument":{"name":"a"}}`:                                     `argument: "a" without a condition`,
		`{"threadId":-1}`:                                               "threadId: -1",
		`{"pid":99999999999}`:                                           "pid: 99999999999",
		`{"under":-3}`:                                                  "under: -3",
		`{"under":100000}`:                                              "under: event 100000 does not exist",
		`{"function":{"contains":"` + strings.Repeat("x", 5000) + `"}}`: "function.contains: 5000 bytes",
	} {
		var req Request
		err := json.Unmarshal([]byte(raw), &req)
		if err == nil {
			_, err = Run(t.Context(), m.st, req, Env{})
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.ValidationError || f.Hint == "" {
			t.Errorf("%.80s = %v, want VALIDATION_ERROR with a hint", raw, err)
			continue
		}
		ok := false
		for _, w := range strings.Split(want, "|") {
			ok = ok || strings.Contains(f.Msg, w)
		}
		if !ok {
			t.Errorf("%.80s: %s, want %s", raw, f.Msg, want)
		}
	}
}

func TestRequestJSON(t *testing.T) {
	raw := `{"sessionId":"s","eventType":["stdout"],"returnValue":{"equals":340282366920938463463374607431768211455},"argument":{"name":"p.x","equals":null},"timeFrom":"-5s","timeTo":1500,"afterEventId":0}`
	var req Request
	if err := json.Unmarshal([]byte(raw), &req); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(req)
	if err != nil || string(got) != raw {
		t.Errorf("%s, %v, want %s", got, err, raw)
	}
	if err := json.Unmarshal([]byte(`{"eventType":"crash"}`), &req); err != nil || len(req.EventType) != 1 ||
		req.EventType[0] != "crash" {
		t.Errorf("eventType = %v, %v", req.EventType, err)
	}
}

func TestLimitIsClampedAndSaid(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	m.grow(900)
	m.store(t)
	res := ask1(t, m.st, Request{Limit: 9000})
	if n := len(res.Events); n > MaxLimit || n < 300 || !strings.Contains(res.Hint, "limit was cut to 500") ||
		!res.HasMore {
		t.Errorf("%d events, more %v, hint %q", len(res.Events), res.HasMore, res.Hint)
	}
}

// TestEmptyAnswersExplain: what left nothing, what is there, what to do.
func TestEmptyAnswersExplain(t *testing.T) {
	empty := newStore(t, store.Options{})
	if res := ask1(t, empty, Request{}); !strings.Contains(res.Hint, "no events yet") || res.Events == nil {
		t.Errorf("empty session: %+v", res)
	}
	m := newModel(t, 2, store.Options{})
	m.grow(3000)
	m.store(t)
	for _, c := range []struct {
		req  Request
		want []string
	}{
		{Request{Function: &NameFilter{Equals: "app::ad"}},
			[]string{`function equals "app::ad" matches none of the 9 functions`, "did you mean app::add", "function_enter"}},
		{Request{SourceFile: &FileFilter{Contains: "ad.cc"}},
			[]string{`sourceFile contains "ad.cc" matches none`, "/src/app/add.cc"}},
		{Request{EventType: Kinds{"crash"}}, []string{"There is no crash"}},
		{Request{Text: &TextFilter{Contains: "nope"}}, []string{"text left none"}},
		{Request{Text: &TextFilter{Contains: "x"}, Function: &NameFilter{Contains: "app"}}, []string{"exclude each other"}},
		{Request{Argument: &ArgumentFilter{Name: "zz", ValueFilter: ValueFilter{Equals: "1"}}},
			[]string{`No selected function has an argument "zz"; there are a, b, n`}},
		{Request{Argument: &ArgumentFilter{Name: "a", ValueFilter: ValueFilter{Equals: "1000"}}},
			[]string{`functions have an argument "a"`}},
		{Request{AfterEventID: new(int64(3000))}, []string{"Nothing new after event 3000"}},
		{Request{ThreadID: new(int64(5))}, []string{"100/100 main"}},
		{Request{ReturnValue: &ValueFilter{Equals: "12345"}, EventType: Kinds{"function_exit"}},
			[]string{"returnValue left none"}},
		{Request{TimeFrom: "999999999999"}, []string{"time range"}},
	} {
		res := ask1(t, m.st, c.req)
		for _, w := range c.want {
			if !strings.Contains(res.Hint, w) {
				t.Errorf("%+v: hint %q, want %q", c.req, res.Hint, w)
			}
		}
	}
}

func FuzzRequest(f *testing.F) {
	m := newModel(f, 4, store.Options{})
	m.grow(500)
	m.store(f)
	for _, s := range []string{
		`{}`, `{"view":"tree","limit":5}`, `{"view":"stats","timeFrom":"-1ms"}`, `{"returnValue":{"greaterThan":1e400}}`,
		`{"argument":{"name":"p.v[99999999999]","notEquals":"x"},"order":"thread"}`,
		`{"eventType":[],"function":{"matches":"(a*)*$"}}`,
		`{"under":1,"view":"tree"}`, `{"timeFrom":"-9223372036854775808ns","timeTo":9223372036854775807}`,
		`{"afterEventId":9223372036854775807}`,
		`{"offset":1099511627776}`, `{"returnValue":{"equals":-170141183460469231731687303715884105728}}`,
		`{"text":{"contains":"\u0000"},"verbose":true}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var req Request
		if json.Unmarshal(raw, &req) != nil {
			return
		}
		req.WaitMs = 0
		res, err := Run(t.Context(), m.st, req, Env{})
		if err != nil {
			if c := fault.CodeOf(err); c != fault.ValidationError {
				t.Fatalf("Run(%q) = %v", raw, err)
			}
			return
		}
		if out, err := json.Marshal(res); err != nil || !json.Valid(out) {
			t.Fatalf("Run(%q): marshal: %v", raw, err)
		}
	})
}
