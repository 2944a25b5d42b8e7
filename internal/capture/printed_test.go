//go:build linux && amd64

package capture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// printedBuilds are the ways to build the programs that print their own arguments and results.
var printedBuilds = []string{
	"gcc -O0", "gcc -O2", "clang -O0", "clang -O2", "g++ -O0", "g++ -O2", "clang++ -O0", "clang++ -O2", // the short form
	"gcc -Og", "gcc -O1", "gcc -O3", "gcc -Os", "gcc -O2 -fno-var-tracking",
	"gcc -O2 -fno-inline -fno-ipa-sra -fno-ipa-cp", "gcc -O0 -fomit-frame-pointer", "gcc -O2 -flto", "gcc -O0 -gdwarf-4",
	"clang -O1", "clang -O3", "clang -Os", "clang -O0 -gdwarf-4", "clang -O2 -flto", "clang -O0 -mavx2", "gcc -O0 -mavx2",
	"gcc -O0 -fstack-protector-all", "clang -O0 -fstack-protector-all",
	"g++ -Og", "g++ -O1", "g++ -O3", "g++ -O2 -gdwarf-4", "clang++ -O1", "clang++ -O3", "gcc -O3 -march=haswell",
	"clang -O3 -march=haswell", "gcc -O0 -pg", "gcc -O0 -fsanitize=address", "clang -O0 -fsanitize=address",
}

// checkPrinted compares what one program's calls show with what it prints, and returns the scores.
func checkPrinted(t *testing.T, seed uint64, n int, command string) (args, rets score) {
	t.Helper()
	words := strings.Fields(command)
	cpp, optimised := strings.Contains(words[0], "++"), !strings.Contains(command, "-O0")
	file := map[bool]string{true: "a.cc", false: "a.c"}[cpp]
	bin := build(t, file, sigcorpus.GeneratePrinted(seed, n, cpp), append(words, "-g", "-w", "-lm")...)
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatalf("%s, seed %d: %v", command, seed, err)
	}
	cases := map[string]*sigcorpus.Case{}
	for line := range bytes.Lines(out) {
		f := strings.SplitN(strings.TrimSpace(string(line)), " ", 3)
		if len(f) != 3 {
			t.Fatalf("the program printed %q", line)
		}
		c := cases[f[0]]
		if c == nil {
			c = &sigcorpus.Case{Func: f[0], Signature: command + ", seed " + strconv.FormatUint(seed, 10) + ", " + f[0]}
			cases[f[0]] = c
		}
		if f[1] == "=" {
			c.Ret = f[2]
		} else {
			c.Args = append(c.Args, sigcorpus.Arg{Name: f[1], JSON: f[2]})
		}
	}
	for name, o := range trace(t, bin) {
		c := cases[name]
		if c == nil {
			continue
		}
		if !o.done {
			args.uncalled++
			continue
		}
		args.functions++
		for _, a := range c.Args {
			if v, ok := o.args.Get(a.Name); ok {
				args.judge(t, c, a.Name, string(v.AppendJSON(nil)), a.JSON, optimised)
			} else {
				args.absent++
			}
		}
		if c.Ret != "" {
			rets.judge(t, c, "result", string(o.ret.AppendJSON(nil)), c.Ret, optimised)
		}
	}
	t.Logf("%s, seed %d: functions %d (not left %d); arguments: right %d, partly %d, optimized out %d, not described "+
		"%d, wrong %d; results: right %d, partly %d, optimized out %d, wrong %d", command, seed,
		args.functions, args.uncalled, args.right, args.partial, args.missing, args.absent, args.wrong, rets.right,
		rets.partial, rets.missing, rets.wrong)
	return args, rets
}

// TestPrinted compares arguments and results with what programs print of them.
func TestPrinted(t *testing.T) {
	for i, command := range printedBuilds[:8] {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			checkPrinted(t, uint64(i+1), 20, command)
		})
	}
}

// TestSoakPrinted does so with other programs and all builds, for as long as STROBE_SOAK says.
func TestSoakPrinted(t *testing.T) {
	until := time.Now().Add(strobetest.Soak(t))
	seed, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	var args, rets score
	programs := 0
	for ; time.Now().Before(until) && !t.Failed(); seed++ {
		for _, command := range printedBuilds {
			if time.Now().After(until) || t.Failed() {
				break
			}
			t.Run(filepath.Base(command), func(t *testing.T) {
				a, r := checkPrinted(t, 1000+seed, 60, command)
				args.add(&a)
				rets.add(&r)
			})
			programs++
		}
	}
	t.Logf("%d programs: arguments: right %d, partly %d, optimized out %d, not described %d, wrong %d; results: right "+
		"%d, partly %d, optimized out %d, wrong %d", programs,
		args.right, args.partial, args.missing, args.absent, args.wrong, rets.right, rets.partial, rets.missing, rets.wrong)
}

func (sc *score) add(o *score) {
	sc.right, sc.missing, sc.partial, sc.wrong, sc.absent = sc.right+o.right, sc.missing+o.missing, sc.partial+o.partial,
		sc.wrong+o.wrong, sc.absent+o.absent
}
