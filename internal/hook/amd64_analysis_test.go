package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var offsets = regexp.MustCompile(`\+0x[0-9a-f]+|has \d+ bytes`)

// share counts how functions can be hooked, and why not by a jump.
type share struct {
	total, loops, uses, table int
	by                        map[Patch]int
	why                       map[string]int
	example                   map[string]string
	took                      time.Duration
}

func (s *share) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d functions, %v each: jump %d (%.2f%%), trap %d (%.2f%%), none %d; %d loop to entry, %d use their "+
		"return address, %d with jump tables",
		s.total, s.took/time.Duration(max(s.total, 1)), s.by[PatchJump], 100*float64(s.by[PatchJump])/float64(s.total),
		s.by[PatchTrap], 100*float64(s.by[PatchTrap])/float64(s.total), s.by[PatchNone], s.loops, s.uses, s.table)
	keys := make([]string, 0, len(s.why))
	for k := range s.why {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return s.why[b] - s.why[a] })
	for _, k := range keys {
		fmt.Fprintf(&b, "\n\t%6d %s (%s)", s.why[k], k, s.example[k])
	}
	return b.String()
}

func measure(tb testing.TB, path string) *share {
	s := &share{by: map[Patch]int{}, why: map[string]int{}, example: map[string]string{}}
	fns := functions(tb, path)
	start := time.Now()
	all := make([]Analysis, len(fns))
	opt := fileOptions(tb, path)
	for i, f := range fns {
		all[i] = Analyze(f.code, f.addr, f.pad, opt)
	}
	s.took = time.Since(start)
	for i := range all {
		a := &all[i]
		s.total++
		s.by[a.Patch]++
		if a.LoopsToEntry {
			s.loops++
		}
		if a.UsesReturn {
			s.uses++
			if os.Getenv("STROBE_DEBUG_HOOK_FILES") != "" {
				tb.Logf("uses return: %s", fns[i].name)
			}
		}
		if a.TableJumps > 0 {
			s.table++
		}
		if a.Reason != "" {
			key := a.Patch.String() + ": " + offsets.ReplaceAllString(a.Reason, "…")
			s.why[key]++
			s.example[key] += fns[i].name + " "
			if len(s.example[key]) > 200 {
				s.example[key] = s.example[key][:200]
			}
		}
	}
	return s
}

func TestAnalyzeSystemLibraries(t *testing.T) {
	check := func(name string, file func(t *testing.T) string) {
		t.Run(name, func(t *testing.T) { t.Log(measure(t, file(t))) })
	}
	check("libc", func(t *testing.T) string { return systemLibrary(t, "libc.so.6") })
	check("libcrypto", func(t *testing.T) string { return systemLibrary(t, "libcrypto.so.3") })
	check("libstdc++", func(t *testing.T) string { return systemLibrary(t, "libstdc++.so.6") })
	check("rust", func(t *testing.T) string { return build(t, "main.rs", rustSource, "rustc", "-Cdebuginfo=0") })
	if more := os.Getenv("STROBE_DEBUG_HOOK_FILES"); more != "" {
		for _, file := range strings.Split(more, ":") {
			check(filepath.Base(file), func(*testing.T) string { return file })
		}
	}
}
