package symbol

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestDump prints what Open finds in STROBE_DEBUG_DUMP; for looking at odd files by hand.
func TestDump(t *testing.T) {
	path := os.Getenv("STROBE_DEBUG_DUMP")
	if path == "" {
		return
	}
	start := time.Now()
	m := open(t, path, Options{})
	fmt.Printf("open %v: %d functions, %d fragments, %d ghosts, %d types, %s, %s, problems %q\n", time.Since(start),
		len(m.ix.funcs), len(m.ix.frags), len(m.ix.ghosts), len(m.ix.types), m.Compiler, m.Language, m.Problems())
	if os.Getenv("STROBE_DEBUG_BRIEF") != "" {
		return
	}
	for i := range m.Functions() {
		f := &m.Functions()[i]
		if !f.HasDWARF {
			continue
		}
		fmt.Printf("%x-%x %s | %s | %v | %s:%d %s\n", f.Low, f.High, f.Name, f.Full(), f.Aliases, f.File, f.Line, f.Language)
		s, err := m.Signature(f)
		if err != nil {
			fmt.Println("   ", err)
			continue
		}
		for _, p := range s.Params {
			fmt.Printf("    %s %s size %d: %v %x %s\n", p.Name, p.Type, p.Type.Size, p.Loc.Kind, p.Loc.Expr, p.Loc.Const)
		}
		fmt.Printf("    -> %s  %+v\n", s.Return, m.EntryRule(f.Low))
	}
}
