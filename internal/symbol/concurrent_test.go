package symbol

import (
	"sync"
	"testing"
)

// TestConcurrentUse walks one module from several goroutines while it is closed at the end; run it
// with -race. Types must be the same objects for all.
func TestConcurrentUse(t *testing.T) {
	m := open(t, build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"), Options{})
	by := one(t, m, "geo::by_value")
	types := make([]*Type, 4)
	var wg sync.WaitGroup
	for i := range types {
		wg.Go(func() {
			walk(m, 80)
			if s, err := m.Signature(by); err == nil {
				types[i] = s.Params[0].Type
			}
		})
	}
	wg.Wait()
	for _, typ := range types {
		if typ == nil || typ != types[0] {
			t.Errorf("types differ: %p %p", typ, types[0])
		}
	}
	for range 4 {
		wg.Go(func() { walk(m, 80) })
	}
	m.Close()
	wg.Wait()
}

func BenchmarkSignature(b *testing.B) {
	m, err := Open(build(b, "shapes.cc", "g++", "-gdwarf-5", "-O0"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	fs := m.Functions()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if f := &fs[i%len(fs)]; f.HasDWARF {
			if _, err := m.Signature(f); err != nil {
				b.Fatal(err)
			}
		}
	}
}
