package strobe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGeneratedRuntimes: the document is what the last runs of TestRuntimes found.
func TestGeneratedRuntimes(t *testing.T) {
	table, err := strobetest.ReadRuntimeTable("internal/acceptance/testdata/runtimes.json")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, generatedNote, "internal/acceptance/testdata/runtimes.json")
	b.WriteString(`# Runtimes

What is offered for programs of each runtime: ✓ is held by a test, through the binary, with the same program in each language
(` + "`internal/strobetest/testdata/runtime`, `TestRuntimes`" + `); a number leads to the reason why not. CI runs native, Python and Node as it has them; the
others, and more versions, are run by ` + "`make soak`" + `. A column is of the version and day that stand here until it is run again with
` + "`STROBE_SOAK=1m go test ./internal/acceptance -run TestRuntimes -update`" + `.

`)
	b.WriteString(table.Text())
	generated(t, "runtimes.md", b.String())
}
