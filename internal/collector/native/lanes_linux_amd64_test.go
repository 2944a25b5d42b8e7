package native

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

// run plays enters ("+sp" or "~sp" for a tail call) and exits ("-sp") and returns what is emitted.
func play(t *testing.T, script string) string {
	t.Helper()
	var out []string
	ls := lanes{name: func(n int) event.ThreadID { return event.ThreadID(n) }}
	fns := map[string]*function{}
	closing := func(l *lane, f frame, flags event.Flags) {
		out = append(out, fmt.Sprintf("%d:close %x %d", l.id, f.sp, flags))
	}
	for _, w := range strings.Fields(script) {
		if w == "lost" {
			ls.lost = true
			continue
		}
		var sp uint64
		fmt.Sscanf(w[1:], "%x", &sp)
		fn := fns[w[1:]]
		if fn == nil {
			fn = &function{}
			fns[w[1:]] = fn
		}
		switch w[0] {
		case '+', '~':
			l := ls.enter(sp, hookOf(sp), fn, w[0] == '~', closing)
			out = append(out, fmt.Sprintf("%d:enter %x", l.id, sp))
		case '-':
			l, ok := ls.exit(sp, hookOf(sp), closing, func(l *lane,
				f frame) {
				out = append(out, fmt.Sprintf("%d:tailed %x", l.id, f.sp))
			})
			if !ok {
				out = append(out, "unknown")
				continue
			}
			out = append(out, fmt.Sprintf("%d:exit %x", l.id, sp))
		}
	}
	return strings.Join(out, ", ")
}

// hookOf makes calls at the same place of their stack calls of the same function, at other places of others.
func hookOf(sp uint64) uint32 { return uint32(sp & 0xffff) }

func TestLanes(t *testing.T) {
	const stack2 = "7f0000001000"
	for _, c := range []struct{ name, script, want string }{
		{"nested", "+1000 +f00 -f00 -1000", "0:enter 1000, 0:enter f00, 0:exit f00, 0:exit 1000"},
		{"siblings", "+1000 +f00 -f00 +f00 -f00 -1000",
			"0:enter 1000, 0:enter f00, 0:exit f00, 0:enter f00, 0:exit f00, 0:exit 1000"},
		{"exception closes skipped frames at the next record", "+1000 +f00 +e00 +f80",
			"0:enter 1000, 0:enter f00, 0:enter e00, 0:close e00 2, 0:close f00 2, 0:enter f80"},
		{"exception closes skipped frames at the outer exit", "+1000 +f00 +e00 -1000",
			"0:enter 1000, 0:enter f00, 0:enter e00, 0:close e00 2, 0:close f00 2, 0:exit 1000"},
		{"tail call returns with its caller", "+1000 ~ff0 -1000", "0:enter 1000, 0:enter ff0, 0:tailed ff0, 0:exit 1000"},
		{"tail call of a tail call", "+1000 ~ff0 ~ff0 -1000",
			"0:enter 1000, 0:enter ff0, 0:close ff0 4, 0:enter ff0, 0:tailed ff0, 0:exit 1000"},
		{"lost exits", "+1000 +f00 lost -1000", "0:enter 1000, 0:enter f00, 0:close f00 8, 0:exit 1000"},
		{"lost enter", "-1000", "unknown"},
		{"another stack", "+1000 +" + stack2 + " +f00 -" + stack2 + " -f00 -1000",
			"0:enter 1000, 1:enter " + stack2 + ", 0:enter f00, 1:exit " + stack2 + ", 0:exit f00, 0:exit 1000"},
		// Stacks of 64 KB below a thread's, as coroutines have. The calls of the first are taken for left, once.
		{"stacks close together", "+ff000 +aff00 +afe00 +bff00 +bfe00 -afe00 -bfe00 +afd00 +bfd00 -afd00 -bfd00 +cff00 -bff00",
			"0:enter ff000, 0:enter aff00, 0:enter afe00, 0:close afe00 2, 0:close aff00 2, 0:enter bff00, 0:enter bfe00, " +
				"unknown, 0:exit bfe00, 1:enter afd00, 0:enter bfd00, 1:exit afd00, 0:exit bfd00, 1:enter cff00, 0:exit bff00"},
		{"stacks close together that begin alike", "+aff00 +afe00 +bff00 -afe00 -bff00 -aff00",
			"0:enter aff00, 0:enter afe00, 1:enter bff00, 0:exit afe00, 1:exit bff00, 0:exit aff00"},
	} {
		if got := play(t, c.script); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.script, got, c.want)
		}
	}
}
