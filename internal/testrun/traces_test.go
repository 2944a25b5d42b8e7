package testrun

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// TestCalled: the functions that the text of a failed assertion calls, and the text that they are read from.
func TestCalled(t *testing.T) {
	for text, want := range map[string][]string{
		"assert_eq!(price(&items, 5), 24);":                      {"price"},
		"EXPECT_EQ(shop::sum<int>(v), cart.total());":            {"EXPECT_EQ", "shop::sum", "total"},
		"let n = parse::<u32>(text).unwrap();":                   {"parse", "unwrap"},
		"assertion `left == right` failed":                       nil,
		"crate::a::b(c(1), c(2))":                                {"crate::a::b", "c"},
		"REQUIRE( shop::price(items, 5) == 24 ) with 2 (twice )": {"REQUIRE", "shop::price"},
	} {
		if got := called(text); !slices.Equal(got, want) {
			t.Errorf("called(%q) = %q, want %q", text, got, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.rs"),
		[]byte("one();\nassert_eq!(\n    two(),\n    3\n);\nthree();\nif four() {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Run{project: &testadapter.Project{Root: dir}, Request: Request{ProjectRoot: filepath.Dir(dir)}}
	for line, want := range map[int]string{1: "one();\n", 2: "assert_eq!(\n    two(),\n    3\n);\n", 6: "three();\n",
		7: "if four() {\n", 9: ""} {
		if got := r.statement("a.rs", line); got != want {
			t.Errorf("statement at %d = %q, want %q", line, got, want)
		}
	}
	if got, want := r.above("a.rs", 5), "    two(),\n    3"; got != want {
		t.Errorf("above = %q, want %q", got, want)
	}
	if got, want := r.below("a.rs"), filepath.Base(dir)+"/a.rs"; got != want {
		t.Errorf("below = %q, want %q", got, want)
	}
	if got := r.below("/elsewhere/a.rs"); got != "/elsewhere/a.rs" {
		t.Errorf("below = %q", got)
	}
}
