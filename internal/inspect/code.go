package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// Code answers a question about the code of a process, be it paused or not.
func Code(p *snapshot.Process, q collector.CodeQuery) (a collector.CodeAnswer, err error) {
	c := coder{p}
	if q.Count <= 0 {
		q.Count = shownAtOnce
	}
	switch q.Kind {
	case collector.CodeFunctions, collector.CodeGlobals, collector.CodeSources:
		a.Names = c.names(&q)
	case collector.CodeModules:
		a.Modules = c.modules()
	case collector.CodeInstructions:
		a.Instructions = c.instructions(q.At, q.From, q.Count)
	case collector.CodeCalls:
		a.Places = c.calls(q.At)
	case collector.CodeLines:
		a.Places = c.lines(&q)
	default:
		err = fault.New(fault.ValidationError, "Ask for functions, modules or instructions.", "code has no %q", q.Kind)
	}
	return a, err
}

// coder reads the code of one process.
type coder struct{ p *snapshot.Process }

func digits(a uint64) string { return fmt.Sprintf("0x%x", a) }

// own reports whether a module is the user's: it was built with debug information that is in its file or beside it.
func own(m *symbol.Module) bool { return m.HasDWARF && !m.InstalledApart() }

// modules are the files that are loaded, the user's first.
func (c coder) modules() (out []collector.Module) {
	for _, ours := range []bool{true, false} {
		for i := range c.p.Modules {
			m := &c.p.Modules[i]
			if own(m.Mod) != ours {
				continue
			}
			one := collector.Module{Path: m.Mod.Path, From: digits(m.Lo), To: digits(m.Hi), Symbols: m.Mod.DebugPath,
				System: !ours}
			if m.Mod.HasDWARF && one.Symbols == "" {
				one.Symbols = m.Mod.Path
			}
			out = append(out, one)
		}
	}
	return out
}

// names are those that begin as asked for, of the program's own modules first.
func (c coder) names(q *collector.CodeQuery) (out []string) {
	seen := map[string]bool{}
	add := func(name string) bool {
		if len(out) < q.Count && name != "" && !seen[name] && begins(name, q.Name) {
			seen[name] = true
			out = append(out, name)
		}
		return len(out) < q.Count
	}
	for _, ours := range []bool{true, false} {
		for i := range c.p.Modules {
			mod := c.p.Modules[i].Mod
			if own(mod) != ours {
				continue
			}
			n := len(out)
			switch fs := mod.Functions(); {
			case q.Kind == collector.CodeFunctions:
				for j := 0; j < len(fs) && add(fs[j].Name); j++ {
				}
			case !ours:
			case q.Kind == collector.CodeGlobals:
				for _, name := range mod.VariableNames() {
					if !add(name) {
						break
					}
				}
			default:
				for _, file := range mod.SourceFiles("") {
					if !add(file) {
						break
					}
				}
			}
			slices.Sort(out[n:])
		}
	}
	return out
}

// begins reports whether a name, or the part of it behind a separator, begins with text.
func begins(name, text string) bool {
	return strings.HasPrefix(name, text) || text != "" && (strings.Contains(name, "::"+text) ||
		strings.Contains(name, "."+text))
}

func (c coder) module(at uint64) *unwind.Module {
	for i := range c.p.Modules {
		if m := &c.p.Modules[i]; at >= m.Lo && at < m.Hi {
			return m
		}
	}
	return nil
}

// function is that at an address, with how far behind its beginning that is.
func (c coder) function(at uint64) (m *unwind.Module, f *symbol.Function, off uint64) {
	if m = c.module(at); m == nil {
		return nil, nil, 0
	}
	f, off, ok := m.Mod.Lookup(symbol.Addr(at - m.Bias))
	if !ok {
		f = nil
	}
	return m, f, off
}

// lines are the places of a line in the function that has an address, or of the next line there that has code.
func (c coder) lines(q *collector.CodeQuery) (out []collector.Location) {
	m, f, _ := c.function(q.At)
	if f == nil || !f.HasDWARF {
		return nil
	}
	body := m.Mod.BodyStart(f)
	for _, s := range m.Mod.FileStatements(q.File) {
		if s.Line < q.Line || s.Addr < body || s.Addr >= f.High || len(out) > 0 && s.Line != out[0].Line {
			continue
		}
		out = append(out, collector.Location{Function: f.Name, File: s.File, Line: s.Line,
			Address: digits(uint64(s.Addr) + m.Bias)})
	}
	return out
}
