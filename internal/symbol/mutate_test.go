package symbol

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var mutations = flag.Int("mutations", 60, "damaged copies per program in TestMutations")

// TestMutations damages the debug sections of real programs and uses what is left. Panics are
// visible here (panicsPass), and nothing may take long.
func TestMutations(t *testing.T) {
	programs := []string{
		build(t, "values.c", "gcc", "-gdwarf-4", "-O2"),
		build(t, "values.c", "gcc", "-gdwarf-5", "-O2"),
		build(t, "copying.cc", "clang++", "-gdwarf-5", "-O2"),
		build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"),
		build(t, "shapes.cc", "g++", "-gdwarf-4", "-fdebug-types-section", "-O0"),
	}
	rnd := rand.New(rand.NewPCG(1, uint64(*mutations)))
	path := filepath.Join(t.TempDir(), "prog")
	for _, src := range programs {
		good, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, src, Options{})
		var sects []sectHeader
		for _, s := range m.im.sects {
			if strings.HasPrefix(s.name, ".debug_") || s.name == ".eh_frame" || s.name == ".symtab" || s.name == ".strtab" {
				sects = append(sects, s)
			}
		}
		for n := 0; n < *mutations; n++ {
			bad := append([]byte(nil), good...)
			for k := rnd.IntN(8) + 1; k > 0; k-- {
				s := sects[rnd.IntN(len(sects))]
				at := s.off + rnd.Uint64N(s.size)
				switch rnd.IntN(4) {
				case 0:
					bad[at] = byte(rnd.Uint32())
				case 1:
					bad[at] = 0xff
				case 2:
					bad[at] ^= 1 << rnd.IntN(8)
				case 3:
					end := min(at+rnd.Uint64N(16), s.off+s.size)
					for ; at < end; at++ {
						bad[at] = byte(rnd.Uint32())
					}
				}
			}
			if rnd.IntN(8) == 0 { // headers too
				bad[rnd.IntN(64)+16] ^= byte(rnd.Uint32())
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			d, err := Open(path, Options{DebugDirs: []string{}})
			if err != nil {
				continue
			}
			walk(d, 60)
			d.Close()
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%s, damage %d: took %v", filepath.Base(src), n, took)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
