package editors_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shop = `#include <stdio.h>
static int sum(int price, int n)
{
	int line = price * n;
	return line;
}
int main(void)
{
	int total = 0;
	for (int i = 1; i <= 3; i++)
		total += sum(70, i);
	printf("total %d\n", total);
	return 7;
}
`

// TestEmacs: dap-mode, as Debian's elpa-dap-mode has it, stops at a breakpoint of a C program, reads and changes a
// variable, steps, and lets it end.
func TestEmacs(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "emacs")
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "shop", shop)
	cmd := exec.Command("emacs", "--batch", "--load", "package", "--eval", "(package-initialize)",
		"--load", "emacs/dialogue.el")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home, "PATH="+filepath.Dir(s.Bin)+":"+os.Getenv("PATH"),
		"HOME="+t.TempDir(), "PROGRAM="+bin, "SOURCE="+strobetest.SourceOf(t, "c", "shop", shop))
	out, err := cmd.CombinedOutput()
	var said []string
	for line := range strings.Lines(string(out)) {
		if text, is := strings.CutPrefix(line, "said: "); is {
			said = append(said, strings.TrimSpace(text))
		}
	}
	want := []string{"sum 5", "line = 70", "now 1000", "sum 6", "ended"}
	if err != nil || !slices.Equal(said, want) {
		t.Errorf("emacs: %v: %q, want %q\n%s", err, said, want, out)
	}
}
