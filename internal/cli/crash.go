package cli

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/crash"
)

// died says why the program, or one of its children, crashed, if one did.
func (r *running) died(ctx context.Context) {
	var st struct {
		CrashInfo *crash.Short `json:"crashInfo"`
	}
	if r.client.callInto(ctx, "debug_session", map[string]any{"action": "status", "sessionId": r.id}, &st) != nil ||
		st.CrashInfo == nil {
		return
	}
	w, c := r.app.err, st.CrashInfo
	title := c.Reason
	if c.Signal != "" {
		title = c.Signal + ": " + title
	}
	fmt.Fprintf(w, "%s %s\n", paintOn(w, dim, "strobe:"), paintOn(w, red, title))
	for _, cause := range append(c.Nested, c.CausedBy...) {
		fmt.Fprintf(w, "  caused by %s\n", cause)
	}
	if c.Function != "" && c.Line > 0 {
		fmt.Fprintf(w, "  in %s at %s:%d", c.Function, c.SourceFile, c.Line)
		if len(c.Locals) > 0 {
			fmt.Fprintf(w, ": %s", argumentText(c.Locals.AppendJSON(nil)))
		}
		fmt.Fprintln(w)
	}
	if c.EndedBy != "" {
		fmt.Fprintf(w, "  %s\n", c.EndedBy)
	}
	for _, line := range c.Stack {
		fmt.Fprintf(w, "  %s\n", line)
	}
	fmt.Fprintf(w, "  all of it: strobe query %s --event-type crash --json\n", r.id)
}
