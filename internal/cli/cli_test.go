package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

func TestExitCodes(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want int
		says string
	}{
		{context.Background(), nil, 0, ""},
		{context.Background(), errors.New("x"), 2, "strobe: x\n"},
		{context.Background(), fault.New(fault.SessionNotFound, "Do this.", "no y"), 2,
			"strobe: SESSION_NOT_FOUND: no y. Do this.\n"},
		{context.Background(), &exitStatus{code: 1}, 1, ""},
		{context.Background(), &exitStatus{143, "m"}, 143, "strobe: m\n"},
		{gone, context.Canceled, 130, ""},
		{context.Background(), syscall.EPIPE, 0, ""},
	} {
		var out bytes.Buffer
		a := &app{err: &out}
		if got := a.exitCode(c.ctx, c.err); got != c.want || out.String() != c.says {
			t.Errorf("exitCode(%v) = %d, %q; want %d, %q", c.err, got, out.String(), c.want, c.says)
		}
	}
}

// Every field of debug_query is a flag, and what the flags make is what the query package reads.
func TestQueryFlags(t *testing.T) {
	flags := pflag.NewFlagSet("query", pflag.ContinueOnError)
	all := queryFlags(flags, reflect.TypeFor[query.Request](), nil)
	err := flags.Parse([]string{
		"--event-type", "stdout,stderr", "--function-contains", "f", "--return-value-equals", "18446744073709551615",
		"--argument-name", "p.x", "--argument-equals", "text", "--time-from", "-5s", "--time-to", "1500", "--limit", "7",
		"--verbose", "--after-event-id", "0", "--argument-is-null=false", "--text-contains", "12",
	})
	if err != nil {
		t.Fatal(err)
	}
	req := map[string]any{}
	for _, f := range all {
		if flags.Changed(f.name) {
			if err := f.set(req); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"afterEventId":0,"argument":{"equals":"text","isNull":false,"name":"p.x"},"eventType":["stdout","stderr"],"function":{"contains":"f"},` +
		`"limit":7,"returnValue":{"equals":18446744073709551615},"text":{"contains":"12"},"timeFrom":"-5s","timeTo":1500,"verbose":true}`
	if string(got) != want {
		t.Errorf("request = %s\nwant      %s", got, want)
	}
	var r query.Request
	if err := json.Unmarshal(got, &r); err != nil {
		t.Errorf("the query package cannot read it: %v", err)
	}
}

func TestDurations(t *testing.T) {
	for ns, want := range map[int64]string{7: "7ns", 1500: "1.5µs", 2_340_000: "2.34ms", 1_500_000_000: "1.500s"} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) = %s, want %s", ns, got, want)
		}
	}
}

// TestExceptionsInRows: what a call was left by is shown, a text as well as an object.
func TestExceptionsInRows(t *testing.T) {
	for raw, want := range map[string]string{
		`"boom"`:                           "← f unwound by \"boom\"",
		`{"$class":"m.E","message":"bad"}`: `← f unwound by {"$class":"m.E","message":"bad"}`,
		`null`:                             "← f unwound by null", // throw null
	} {
		var b bytes.Buffer
		var e rawEvent
		err := decode("it", json.RawMessage(`{"eventType":"function_exit","function":"f","unwound":true,"exception":`+raw+`}`), &e)
		if err == nil {
			err = (&app{out: &b}).printEvent(&b, &e)
		}
		if err != nil || !strings.HasSuffix(b.String(), want+"\n") {
			t.Errorf("%s gives %q, %v", raw, b.String(), err)
		}
	}
}

func TestArgumentText(t *testing.T) {
	for raw, want := range map[string]string{
		`{"z":1,"a":"x","n":{"k":[1,2]}}`: `z=1, a="x", n={"k":[1,2]}`, `{}`: "", ``: "", `{"a":`: `{"a":`,
	} {
		if got := argumentText(json.RawMessage(raw)); got != want {
			t.Errorf("argumentText(%s) = %s, want %s", raw, got, want)
		}
	}
}

// Every command explains itself and shows an example.
func TestEveryCommandHasAnExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() != "help" && (c.Short == "" || c.Example == "") {
			t.Errorf("%s has no summary or no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root())
}
