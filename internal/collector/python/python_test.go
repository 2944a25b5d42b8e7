package python

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
)

func TestUnreachable(t *testing.T) {
	for line, want := range map[string]string{
		"python3 prog.py -I":                "",
		"python3 -W ignore prog.py":         "",
		"python3 -W ignore -I prog.py":      "-I",
		"python3 -bW error -E prog.py":      "-E",
		"python3 -Wignore -X dev -S x.py":   "-S",
		"python3 -uI prog.py":               "-I",
		"python3 -m pkg -I":                 "",
		"python3 -Bc pass -I":               "",
		"python3 --check-hash-based-pycs -": "",
		"python3":                           "",
	} {
		got := unreachable(collector.Image{Args: strings.Fields(line)})
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want one with %q", line, got, want)
		}
	}
}
