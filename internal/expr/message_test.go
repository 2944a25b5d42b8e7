package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

func TestParseMessage(t *testing.T) {
	for _, tc := range []struct{ src, want string }{
		{"", ""},
		{"plain", "0:'plain'"},
		{"took {end - start} ns", "0:'took ' 6:end - start 18:' ns'"},
		{"{a}{b}", "1:a 4:b"},
		{"{{x}} {y}", "0:'{x} ' 7:y"},
		{`{s == "}"} {c == '}'}`, `1:s == "}" 10:' ' 12:c == '}'`},
		{`{s == "\"}"}!`, `1:s == "\"}" 12:'!'`},
		{"a } b", "error: position 2: this brace closes nothing"},
		{"a {b", "error: position 2: this brace is not closed"},
		{"ab {x +} c", "error: position 7: expected an operand, the expression ends here"},
		{"ab {} c", "error: position 4: the expression is empty"},
		{strings.Repeat("{a}", 70), "error: position 192: the message has more than 64 parts"},
	} {
		var parts []string
		segments, err := ParseMessage(tc.src, symbol.LangC)
		if err != nil {
			parts = []string{"error: " + err.Error()}
		}
		for _, s := range segments {
			if s.Expr != nil {
				parts = append(parts, fmt.Sprintf("%d:%s", s.Pos, s.Expr.Source))
			} else {
				parts = append(parts, fmt.Sprintf("%d:'%s'", s.Pos, s.Text))
			}
		}
		if got := strings.Join(parts, " "); got != tc.want {
			t.Errorf("ParseMessage(%q) = %s, want %s", tc.src, got, tc.want)
		}
	}
}
