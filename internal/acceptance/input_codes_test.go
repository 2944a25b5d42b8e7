package acceptance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

var (
	constant = regexp.MustCompile(`(?m)^\t(\w+) +Code = "([A-Z_]+)"`)
	usedCode = regexp.MustCompile(`\bfault\.([A-Z]\w+)\b`)
	wireCode = regexp.MustCompile(`"([A-Z_]+)[":]`)
)

// Not met through the real binary here, and why.
var elsewhere = map[string]string{
	"NO_DEBUG_SYMBOLS": "internal/symbol: a launch goes on without; warnings and capabilities say so",
	"OPTIMIZED_OUT":    "internal/expr: a watch that needs such a value answers WATCH_FAILED, and says so",
	"READ_FAILED":      "internal/expr: a watch that cannot be read shows <unreadable>; reads by debug_memory come later",
	"UNREACHABLE":      "internal/bucket: a store that does not answer",
	"INTERNAL_ERROR":   "internal/daemon and internal/mcp: a daemon that hangs, an operation that panics",
}

// Every code that the program can answer with is met by a test of the real binary; docs/errors.md says of the
// others that they are for later.
func TestEveryCodeIsMet(t *testing.T) {
	root := strobetest.Root(t)
	names := map[string]string{} // of constants
	used, met, tested := map[string]bool{}, map[string]bool{}, map[string]bool{}
	source, err := os.ReadFile(filepath.Join(root, "internal", "fault", "fault.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range constant.FindAllSubmatch(source, -1) {
		names[string(m[1])] = string(m[2])
	}
	if len(names) < 20 {
		t.Fatalf("found %d codes: %v", len(names), names)
	}
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "fault.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go")
		for _, m := range usedCode.FindAllSubmatch(text, -1) {
			if code := names[string(m[1])]; isTest {
				tested[code] = true
			} else {
				used[code] = true
			}
		}
		if isTest && filepath.Base(filepath.Dir(path)) == "acceptance" && filepath.Base(path) != "codes_test.go" {
			for _, m := range wireCode.FindAllSubmatch(text, -1) {
				met[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range names {
		_, section, _ := strings.Cut(string(doc), "\n## "+code+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		reserved := strings.Contains(section, "Reserved for a later version")
		switch {
		case section == "":
			t.Errorf("docs/errors.md has no section %s", code)
		case used[code] == reserved && elsewhere[code] == "":
			t.Errorf("%s: used %v, but docs/errors.md says reserved %v", code, used[code], reserved)
		case used[code] && !met[code] && elsewhere[code] == "":
			t.Errorf("no test here meets %s", code)
		case elsewhere[code] != "" && !tested[code]:
			t.Errorf("no test meets %s, which is said to be met in %s", code, elsewhere[code])
		}
	}
}
