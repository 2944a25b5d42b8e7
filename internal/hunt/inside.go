package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// insideMost is how long a command may take that is run to see what it runs: it may build first.
const insideMost = 5 * time.Minute

// hasCode reports whether a program can be held in: built with debug information, from sources below root, or where
// anywhere is set, from any that are not the system's.
func hasCode(path, root string, anywhere bool) bool {
	mod, err := symbol.Open(path, symbol.Options{})
	if err != nil {
		return false
	}
	defer mod.Close()
	mine := project(func(file string) bool { return under(root, file) })
	if anywhere {
		mine = projectOf(mod, root)
	}
	return !mod.Go && mod.HasDWARF && len(userFunctions(mod, mine)) > 0
}

// Inside finds the program of the project that a command runs: cargo test, ctest, a script. It runs the command once.
// Of several that with the most threads is taken, then that which ran longest; what says so.
// A command that is such a program itself is returned as it is.
func Inside(ctx context.Context, p *Program) (_ *Program, what string, err error) {
	if hasCode(p.Path, p.Root, true) {
		return p, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, insideMost)
	defer cancel()
	all, err := programsOf(ctx, p)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, "", fmt.Errorf("%s did not end within %v: give the command of the program itself", p.Path, insideMost)
	}
	if err != nil {
		return nil, "", err
	}
	known := map[string]bool{}
	var mine []*begun
	for _, one := range all {
		is, asked := known[one.Path]
		if !asked {
			is = hasCode(one.Path, p.Root, false)
			known[one.Path] = is
		}
		if is {
			mine = append(mine, one)
		}
	}
	switch {
	case len(mine) == 0 && len(all) < 2:
		return p, "", nil // what is wrong with it is said where it is looked at
	case len(mine) == 0:
		return nil, "", fmt.Errorf("none of the %d programs that %s runs is one of C, C++ or Rust with debug information "+
			"(-g) of sources below %s", len(known), p.Path, p.Root)
	}
	sorting.By(mine, func(a, b *begun) int {
		return cmp.Or(cmp.Compare(b.threads, a.threads), cmp.Compare(b.took, a.took))
	})
	one := mine[0]
	one.Root = p.Root
	what = fmt.Sprintf("the command runs %s", strings.Join(append([]string{one.Path}, one.Args...), " "))
	if n := len(mine) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more of the project, which were left alone", n)
	}
	return &one.Program, what, nil
}
