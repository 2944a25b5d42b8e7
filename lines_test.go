package strobe_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Columns at which lines end.
const (
	codeColumns     = 120
	documentColumns = 100
)

const maxFileLines = 500

// TestFileLength: a file is as long as can be read at once.
func TestFileLength(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^(//|/\*) Code generated .* DO NOT EDIT\.`)
	for _, p := range tracked(t, ".go", ".c", ".h", ".S", ".sh", ".ts", ".py") {
		if strings.Contains(p, "testdata/") {
			continue
		}
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(src), "\n"); lines > maxFileLines && !generated.Match(src) {
			t.Errorf("%s has %d lines, more than %d: is there a seam?", p, lines, maxFileLines)
		}
	}
}

// TestExamplesDoNotShip: only a file with the examples' build tag imports them.
func TestExamplesDoNotShip(t *testing.T) {
	some := false
	for _, f := range goFiles(t) {
		for _, imp := range f.ours() {
			if strings.HasPrefix(imp, exampleRuntimes+"/") {
				some = true
				if !strings.HasPrefix(f.text, "//go:build strobe_examples\n") {
					t.Errorf("%s imports %s without the build tag", f.path, imp)
				}
			}
		}
	}
	if !some {
		t.Error("no file imports an example")
	}
}

// TestLineLength: lines of shipping code end at codeColumns.
func TestLineLength(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^(//|/\*) Code generated .* DO NOT EDIT\.`)
	for _, p := range tracked(t, ".go", ".c", ".h", ".S") {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p, "testdata/") || strings.HasSuffix(p, "_test.go") || generated.Match(src) {
			continue
		}
		for n, line := range strings.Split(string(src), "\n") {
			if columns := utf8.RuneCountInString(line); columns > codeColumns {
				t.Errorf("%s:%d has %d columns, more than %d", p, n+1, columns, codeColumns)
			}
		}
	}
}

// TestDocumentLineLength: the text of documents that people write ends at documentColumns. Tables and code are as long
// as they are.
func TestDocumentLineLength(t *testing.T) {
	for _, p := range tracked(t, ".md") {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if p != "README.md" && !strings.HasPrefix(p, "docs/") || strings.HasPrefix(string(src), "<!-- Code generated") {
			continue // instructions.md is a model's, the demo's README a program's
		}
		fenced := false
		for n, line := range strings.Split(string(src), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(line, "|") || !strings.Contains(strings.TrimSpace(line), " ") {
				continue // what is one word has no place to break
			}
			if columns := utf8.RuneCountInString(line); columns > documentColumns {
				t.Errorf("%s:%d has %d columns, more than %d", p, n+1, columns, documentColumns)
			}
		}
	}
}

// TestTreeIsWhole: every package of the import table stands in the tree of docs/architecture.md, and in one page of its
// floor.
func TestTreeIsWhole(t *testing.T) {
	overview, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages strings.Builder
	for _, p := range tracked(t, ".md") {
		if strings.HasPrefix(p, "docs/architecture/") {
			src, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			pages.Write(src)
			if !strings.Contains(string(overview), "(architecture/"+path.Base(p)+")") {
				t.Errorf("docs/architecture.md does not lead to %s", p)
			}
		}
	}
	for _, pkg := range sortedKeys(mayImport) {
		if strings.HasPrefix(pkg, "internal/strobetest/") || strings.HasPrefix(pkg, exampleRuntimes+"/") {
			continue
		}
		if !regexp.MustCompile(`(?m)^` + pkg + ` `).Match(overview) {
			t.Errorf("docs/architecture.md does not have %s in its tree", pkg)
		}
		forTests := pkg == "internal/strobetest" || pkg == "internal/acceptance"
		if !strings.Contains(pages.String(), "`"+pkg+"`") && !forTests && pkg != "cmd/strobe" &&
			!slices.Contains(openToAll, pkg) {
			t.Errorf("no page below docs/architecture has %s", pkg)
		}
	}
}

// TestAcceptanceSubjects: each file of internal/acceptance begins with a subject that its doc comment tells of, and
// each of those has a file.
func TestAcceptanceSubjects(t *testing.T) {
	const folder, help = "internal/acceptance/", "doc main"
	doc, err := os.ReadFile(folder + "doc_test.go")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+)  `).FindAllStringSubmatch(string(doc), -1) {
		has[m[1]] = false
	}
	for _, p := range tracked(t, ".go") {
		if path.Dir(p)+"/" != folder {
			continue
		}
		subject, _, _ := strings.Cut(strings.TrimSuffix(path.Base(p), "_test.go"), "_")
		if _, ok := has[subject]; ok {
			has[subject] = true
		} else if !strings.Contains(help, subject) {
			t.Errorf("%s: doc_test.go has no subject %s", p, subject)
		}
	}
	for subject, used := range has {
		if !used {
			t.Errorf("no file is of the subject %s", subject)
		}
	}
}
