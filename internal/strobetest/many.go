package strobetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Many is a generated program of many small functions.
type Many struct {
	Path      string
	Source    string // folder of the source: the projectRoot
	Functions int    // named f00000, f00001, …; main and the driver not counted
	Rounds    int    // how often each function is called by a run without arguments
	Output    string
}

// ManyFunctions builds a C program of n functions in which one run calls each exactly rounds
// times, four deep: f00000 calls f00001, that f00002, that f00003; f00004 starts the next chain.
// The program takes the number of rounds as its first argument and waits for a line on standard
// input after "ready" when a second argument is given, so that hooks can be set meanwhile.
func ManyFunctions(t testing.TB, n, rounds int, variant string) Many {
	t.Helper()
	name, source := fmt.Sprintf("many%d", n), manySource(n, rounds)
	path := BuildSource(t, "c", variant, name, source)
	return Many{Path: path, Source: filepath.Dir(sourceFile(t, "c", name, source)), Functions: n, Rounds: rounds,
		Output: fmt.Sprintf("functions=%d rounds=%d x=%d\n", n, rounds, manyResult(n, rounds))}
}

const manyChain = 4

// manyConst makes the functions differ, so that no linker folds two of them.
func manyConst(i int) uint32 { return uint32(i)*2654435761 + 12345 }

func manySource(n, rounds int) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stdlib.h>\n")
	for i := n - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "__attribute__((noinline)) unsigned f%05d(unsigned a, unsigned b) {\n\t", i)
		if next := i + 1; next%manyChain != 0 && next < n {
			fmt.Fprintf(&b, "return f%05d(a + 1, b) * 3u + %du;\n}\n", next, manyConst(i))
		} else {
			fmt.Fprintf(&b, "return (a ^ b) + %du;\n}\n", manyConst(i))
		}
	}
	b.WriteString("typedef unsigned (*function)(unsigned, unsigned);\nstatic const function all[] = {\n")
	for i := 0; i < n; i += manyChain {
		fmt.Fprintf(&b, "\tf%05d,\n", i)
	}
	fmt.Fprintf(&b, `};

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : %d;
	unsigned x = 1;
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF) return 2;
	}
	for (int r = 0; r < rounds; r++)
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) x = all[i](x, i);
	printf("functions=%d rounds=%%d x=%%u\n", rounds, x);
	return 0;
}
`, rounds, n)
	return b.String()
}

// manyResult runs the program in Go.
func manyResult(n, rounds int) uint32 {
	var call func(i int, a, b uint32) uint32
	call = func(i int, a, b uint32) uint32 {
		if next := i + 1; next%manyChain != 0 && next < n {
			return call(next, a+1, b)*3 + manyConst(i)
		}
		return (a ^ b) + manyConst(i)
	}
	x := uint32(1)
	for range rounds {
		for i := 0; i*manyChain < n; i++ {
			x = call(i*manyChain, x, uint32(i))
		}
	}
	return x
}
