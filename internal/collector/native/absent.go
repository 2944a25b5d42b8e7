package native

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Bounds of what is told of callers.
const (
	absentDepth   = 8
	absentCallers = 400
)

// Absent reads files for where a function is and who calls it. A file that cannot be read is told, and no error.
func Absent(ctx context.Context, q collector.AbsentQuestion) (*collector.Absent, error) {
	out := &collector.Absent{}
	pat, err := symbol.ParsePattern(q.Name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range q.Paths {
		mod, err := symbol.Open(path, symbol.Options{SymbolsPath: q.SymbolsPath})
		if err != nil {
			out.Unread = append(out.Unread, fmt.Sprintf("%s: %v", filepath.Base(path), err))
			continue
		}
		out.Read = append(out.Read, path)
		err = absentIn(ctx, out, mod, pat)
		if fns := mod.Functions(); len(out.Found)+len(out.NoCode) == 0 {
			for i := range fns {
				if fns[i].HasDWARF {
					names = append(names, fns[i].Name)
				}
			}
		}
		mod.Close() //nolint:errcheck // read only
		if err != nil {
			return nil, err
		}
	}
	if len(out.Found)+len(out.NoCode) == 0 {
		out.Near = symbol.Suggest(names, q.Name)
	}
	return out, nil
}

// absentIn adds what one file says.
func absentIn(ctx context.Context, out *collector.Absent, mod *symbol.Module, pat *symbol.Pattern) error {
	fns := mod.Functions()
	level := map[*symbol.Function]bool{}
	for i := range fns {
		if f := &fns[i]; pat.Match(f, "") {
			level[f] = true
			out.Found = append(out.Found, collector.StaticFunction{Name: publicName(f), File: f.File, Line: f.Line,
				Module: mod.Path})
		}
	}
	if len(level) == 0 {
		for _, u := range mod.Unhookable(symbol.NewSieve([]*symbol.Pattern{pat}, "")) {
			out.NoCode = append(out.NoCode, collector.StaticFunction{Name: u.Function, File: u.File, Line: u.Line,
				Module: mod.Path, Why: u.Reason})
		}
		return nil
	}
	all, err := mod.CallSites(ctx)
	if err != nil {
		return fmt.Errorf("look for callers in %s: %w", mod.Path, err)
	}
	of := map[*symbol.Function][]symbol.CallSite{}
	for _, s := range all {
		of[s.Callee] = append(of[s.Callee], s)
	}
	seen := map[*symbol.Function]bool{}
	for depth := 1; depth <= absentDepth && len(level) > 0; depth++ {
		next := map[*symbol.Function]bool{}
		for i := range fns { // by address, so that the answer is the same each time
			f := &fns[i]
			if !level[f] {
				continue
			}
			seen[f] = true
			told := map[*symbol.Function]bool{}
			for _, s := range of[f] {
				if told[s.Caller] {
					continue
				}
				told[s.Caller] = true
				if len(out.Callers) == absentCallers {
					out.More++
					continue
				}
				file, line, _ := mod.LineFor(s.At)
				out.Callers = append(out.Callers, collector.StaticCall{Caller: publicName(s.Caller), Callee: publicName(f),
					File: file, Line: line, Taken: s.Taken, Depth: depth})
				if !seen[s.Caller] && !level[s.Caller] {
					next[s.Caller] = true
				}
			}
		}
		level = next
	}
	return nil
}
