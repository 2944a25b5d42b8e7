package capture

import (
	"fmt"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

func TestDebug(t *testing.T) {
	bin, fn := os.Getenv("DBG_BIN"), os.Getenv("DBG_FN")
	if bin == "" {
		return
	}
	m, err := symbol.Open(bin, symbol.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Functions() {
		if f.Name != fn && f.Raw != fn {
			continue
		}
		sig, err := m.Signature(&f)
		fmt.Println(f.Name, f.Raw, err)
		code, _ := m.Code(&f)
		p := readPrologue(code)
		fmt.Printf("producer %q opt %v clone %q fb %x prolen %d of %d sp %d %v\n", sig.Producer, sig.Optimized, sig.Clone, sig.FrameBase, p.length, len(code), p.sp, p.spOK)
		for off := int32(-400); off < 100; off++ {
			if s, ok := p.slots[off]; ok {
				fmt.Printf("%d:%v ", off, s)
			}
		}
		fmt.Println()
		for _, pa := range sig.Params {
			fmt.Printf("  %s %v size %d loc %d %x  classes %v\n", pa.Name, pa.Type, sizeOf(pa.Type), pa.Loc.Kind, pa.Loc.Expr, classify(pa.Type))
		}
		h, st := locateParams(sig, &f, code, resultHome{})
		fmt.Printf("%+v stack %d\nresult %+v\nresults %+v\n", h, st, locateResult(sig, &f, code), readResults(code))
		c, err := Compile(m, &f, 1)
		fmt.Printf("%+v %v\n", c.Plan, err)
	}
}
