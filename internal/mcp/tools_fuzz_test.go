package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/service"
)

// FuzzTools gives every tool any arguments, through the server, down to the sessions. There is no runtime, so nothing
// is ever launched. No input is an internal error, and every answer can be sent.
func FuzzTools(f *testing.F) {
	svc, err := service.New(service.Config{Home: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	tools, err := Tools(svc, nil)
	if err != nil {
		f.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	for i := range tools {
		for _, in := range []string{
			``, `null`, `{}`, `[]`, `"x"`, `1e999`, `{"sessionId":"x"}`, `{"sessionId":"../../x","action":"delete"}`,
			`{"action":"list"}`,
			`{"action":"stop","sessionId":"x","kill":false}`, `{"action":"input","sessionId":"x","text":"\u0000","eof":true}`,
			`{"command":"true","projectRoot":"/","args":["a"],"env":{"A":"b"},"stdin":"pipe"}`,
			`{"command":"/","projectRoot":"/","cwd":"\u0000"}`,
			`{"command":"true","projectRoot":"/","trace":["@usercode","!a::*"],"serializationDepth":3}`,
			`{"add":["f(int)","a[","**"],"remove":["x"],"projectRoot":"/"}`,
			`{"sessionId":"x","eventType":["stdout","crash"],"timeFrom":"-5s","timeTo":7}`,
			`{"sessionId":"x","returnValue":{"greaterThan":18446744073709551616},"argument":{"name":"a","isNull":true}}`,
			`{"sessionId":"x","function":{"matches":"("},"view":"tree","limit":500,"waitMs":1}`,
		} {
			f.Add(i, []byte(in))
		}
	}
	f.Fuzz(func(t *testing.T, i int, in []byte) {
		if i < 0 {
			i = -(i + 1)
		}
		tool := tools[i%len(tools)]
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		result, err := run(ctx, log, tool, in)
		if err == nil {
			if _, err := compact(result); err != nil {
				t.Errorf("%s %q: %v", tool.Name, in, err)
			}
			return
		}
		if fault.CodeOf(err) == fault.InternalError && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s %q: %v", tool.Name, in, err)
		}
		if _, err := json.Marshal(errorResult(err, 0)); err != nil {
			t.Errorf("%s %q: %v", tool.Name, in, err)
		}
	})
}
