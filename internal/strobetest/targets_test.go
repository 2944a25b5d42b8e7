package strobetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTargets builds every target in some variants and runs it twice, watched by nobody: what a
// tracer is compared with must itself be steady.
func TestTargets(t *testing.T) {
	for _, target := range Targets {
		for _, variant := range target.SomeVariants(t) {
			t.Run(target.Name+"/"+variant, func(t *testing.T) {
				t.Parallel()
				path := Build(t, target.Name, variant)
				first := Run(t, target.Stdin, path, target.Args...)
				if first.Exit != target.Exit {
					t.Fatalf("exit code %d, want %d\n%s%s", first.Exit, target.Exit, first.Stdout, first.Stderr)
				}
				second := Run(t, target.Stdin, path, target.Args...)
				if second.Exit != first.Exit || !target.Blurred && second.Stdout != first.Stdout {
					t.Errorf("two runs differ:\n%d %q\n%d %q", first.Exit, first.Stdout, second.Exit, second.Stdout)
				}
			})
		}
	}
}

// TestSomeVariants: what a usual run takes has every variant in every language that it builds.
func TestSomeVariants(t *testing.T) {
	met := map[string]int{}
	for _, target := range Targets {
		for _, v := range target.some() {
			met[target.Lang+" "+v]++
		}
	}
	for _, target := range Targets {
		for _, v := range target.Variants() {
			if met[target.Lang+" "+v] == 0 {
				t.Errorf("no program in %s is built as %s", target.Lang, v)
			}
		}
	}
	t.Log(met)
}

// TestTargetTable keeps the table and the folder the same.
func TestTargetTable(t *testing.T) {
	named := map[string]bool{}
	for _, target := range Targets {
		for _, f := range slices.Concat(target.Files, target.Libs) {
			named[filepath.Join(target.Lang, f)] = true
		}
		if len(target.Variants()) == 0 {
			t.Errorf("%s has no variant", target.Name)
		}
	}
	dir := TargetsDir(t)
	for _, lang := range []string{"c", "cpp", "rust"} {
		entries, err := os.ReadDir(filepath.Join(dir, lang))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !named[filepath.Join(lang, e.Name())] && !strings.HasSuffix(e.Name(), ".md") {
				t.Errorf("%s/%s is in no target's table row", lang, e.Name())
			}
		}
	}
}
