package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/strobe-debug/strobe/internal/follow"
)

// demoCause is in the answer that shows the bug: the call, its result, and where the function is.
var demoCause = regexp.MustCompile(`shop::loyalty_points\(orders=\d+, years=\d+\) → -\d+ \(pricing\.cpp:\d+\)`)

// follow finds the bug once more, by a client that knows nothing of the program.
func (d *demo) follow(ctx context.Context) error {
	fmt.Fprintln(d.app.out)
	d.say("Once more, by a client that knows nothing: it makes only the calls that answers name.")
	f, err := follow.New(ctx, d.client.session)
	if err != nil {
		return fmt.Errorf("follow what answers say: %w", err)
	}
	size := 0
	f.Told = func(tool string, arguments json.RawMessage, answer string) {
		size += len(answer)
		fmt.Fprintf(d.app.out, "→ %s %s\n", tool, shorten(string(arguments), 300))
		d.show(json.RawMessage(answer))
	}
	d.id = ""
	calls, err := f.Find(ctx, map[string]any{"command": d.program, "projectRoot": d.dir}, demoCause.MatchString)
	if err != nil {
		return fmt.Errorf("follow what answers say: %w", err)
	}
	d.say("That is the cause, by %d calls whose answers have %d bytes.", calls, size)
	return d.client.callInto(ctx, "debug_session", map[string]any{"sessionId": f.Session(), "action": "stop"}, &struct{}{})
}
