package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// promisedSkip is what a call that is not recorded, of a function that is sampled, costs at most, in nanoseconds.
const promisedSkip = 5.0

// valueKinds are the arguments whose capture is timed; gdb prints the same at a breakpoint.
var valueKinds = []struct {
	kind, function, print, what string
}{
	{"scalars", "scalars", "print a\nprint b", "two ints"},
	{"text", "text", "print s", "a text of 42 bytes"},
	{"vector", "items", "print v", "a vector of 10 ints"},
	{"nested", "nested", "print *t\nprint *t->mid\nprint *t->mid->low", "a struct of depth 3"},
}

// values times a call by what it is given, with gdb's print of the same beside, and a call that is not recorded.
func (b *bench) values() error {
	prog, root := filepath.Join(b.dir, "values"), filepath.Join(b.dir, "values.root")
	out, err := exec.Command("g++", "-g", "-O2", filepath.Join("bench", "programs", "values.cc"), "-o",
		prog).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build values: %w: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(root, ".strobe"), 0o700); err != nil {
		return err
	}
	for _, k := range valueKinds {
		script := filepath.Join(b.dir, "values."+k.kind+".gdb")
		text := "set pagination off\nset confirm off\nbreak " + k.function + "\ncommands\nsilent\n" + k.print +
			"\ncontinue\nend\nrun\n"
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			return err
		}
		calls := []string{k.kind, "2000", "60", "20"}
		strobe := append([]string{b.strobe, "run", "--json", "--project-root", root, "--trace", k.function, "--", prog},
			calls...)
		ns, err := b.best(contender{name: "strobe", command: strobe})
		if err != nil {
			return err
		}
		plain, err := b.best(contender{name: "untraced", command: append([]string{prog}, calls...)})
		if err != nil {
			return err
		}
		gdb, err := b.best(contender{name: "gdb",
			command: []string{"gdb", "-nx", "-batch", "-x", script, "--args", prog, k.kind, "100", "3", "0"}})
		if err != nil {
			return err
		}
		b.note("a call with "+k.what+", depth 3", ns, "ns", 0, "untraced %.1f; gdb's print of it %.0f, %.0f times as much",
			plain, gdb, gdb/ns)
	}
	if err := os.WriteFile(filepath.Join(root, ".strobe", "settings.json"), []byte(`{"sampling.threshold": 100000}`),
		0o600); err != nil {
		return err
	}
	calls := []string{"hot", strconv.Itoa(5_000_000), "40", "1"}
	plain, err := b.best(contender{name: "untraced", command: append([]string{prog}, calls...)})
	if err != nil {
		return err
	}
	for _, rate := range []string{"0.01", "0.0001"} {
		settings := fmt.Sprintf(`{"sampling.threshold": 100000, "sampling.rate": %s}`, rate)
		if err := os.WriteFile(filepath.Join(root, ".strobe", "settings.json"), []byte(settings), 0o600); err != nil {
			return err
		}
		ns, err := b.best(contender{name: "strobe, sampled",
			command: append([]string{b.strobe, "run", "--json", "--project-root", root, "--trace", "hot", "--", prog},
				calls...)})
		if err != nil {
			return err
		}
		limit := 0.0
		if rate == "0.0001" {
			limit = promisedSkip // nearly all of it is the calls that are not recorded
		}
		b.note("a call of a function that is sampled at "+rate, ns-plain, "ns", limit, "on top of %.2f untraced", plain)
	}
	return nil
}

// best is the median of three runs' medians: the rows of the cost table have five.
func (b *bench) best(c contender) (float64, error) {
	var all []float64
	for range 3 {
		ns, _, _, err := b.once(c)
		if err != nil {
			return 0, err
		}
		all = append(all, ns)
	}
	return median(all), nil
}
