package symbol

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var bigBinary = flag.String("big", "", "binary for BenchmarkOpen; default: one made here")

// bigProgram makes a debug binary of tens of megabytes: few sources, compiled once each, with many
// templates. -big names another binary to measure instead.
func bigProgram(b *testing.B) string {
	b.Helper()
	if *bigBinary != "" {
		return *bigBinary
	}
	dir := b.TempDir()
	var objs []string
	for m := range 2 {
		var s strings.Builder
		s.WriteString("#include <map>\n#include <string>\n#include <vector>\n")
		fmt.Fprintf(&s, "namespace mod%d {\n", m)
		for i := range 100 {
			fmt.Fprintf(&s, "struct S%d { int a; std::map<int, std::string> m; std::vector<S%d*> v; int get(int k) { return "+
				"m.count(k); } };\n", i, max(i-1, 0))
			fmt.Fprintf(&s, "int work%d(S%d &s, const std::string &n, int k) { auto f = [&](int q) { return q + s.a; }; "+
				"s.v.push_back(nullptr); return s.get(k) + f(3) + (int)n.size(); }\n", i, i)
		}
		s.WriteString("}\n")
		if m == 0 {
			s.WriteString("int main() { return 0; }\n")
		}
		src := filepath.Join(dir, fmt.Sprintf("m%d.cc", m))
		if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		objs = append(objs, src)
	}
	out := filepath.Join(dir, "big")
	if msg, err := exec.Command("g++", append([]string{"-g", "-O0", "-o", out}, objs...)...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, msg)
	}
	return out
}

func BenchmarkOpen(b *testing.B) {
	path := bigProgram(b)
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	cache := b.TempDir()
	for _, tt := range []struct {
		name string
		o    Options
	}{{"build", Options{}}, {"cached", Options{CacheDir: cache}}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(st.Size())
			n := 0
			if tt.o.CacheDir != "" {
				m, err := Open(path, tt.o)
				if err != nil {
					b.Fatal(err)
				}
				m.Close()
			}
			for b.Loop() {
				m, err := Open(path, tt.o)
				if err != nil {
					b.Fatal(err)
				}
				n = len(m.Functions())
				m.Close()
			}
			b.ReportMetric(float64(n), "functions")
		})
	}
}
