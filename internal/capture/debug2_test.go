package capture

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

func TestDebug2(t *testing.T) {
	bin := os.Getenv("DBG_BIN2")
	if bin == "" {
		return
	}
	m, _ := symbol.Open(bin, symbol.Options{})
	for _, f := range m.Functions() {
		if !strings.HasPrefix(f.Name, "g") {
			continue
		}
		sig, err := m.Signature(&f)
		if err != nil {
			fmt.Println(f.Name, err)
			continue
		}
		code, _ := m.Code(&f)
		s := ""
		for _, p := range sig.Params {
			s += fmt.Sprintf(" %d:%x", p.Loc.Kind, p.Loc.Expr)
		}
		fmt.Println(f.Name, f.File, sig.Optimized, signatureHint(sig), looksOptimized(m, &f, sig, code), s)
	}
}
