// Command ports checks the types of the module for the platforms on which sessions are only queried, each given as
// os/arch.
//
// A build for one takes three minutes of CPU where nothing is cached, and finds little more: what does not fit another
// platform are names that are not there. It stands behind make ports and has no place in the data path.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mode is what the types of a package need: its sources, and those of all that it imports.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule

func main() {
	bad := false
	for _, port := range os.Args[1:] {
		n, wrong, err := check(port)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, w := range wrong {
			fmt.Fprintf(os.Stderr, "%s: %s\n", port, w)
		}
		fmt.Printf("%s: %d packages, %d errors\n", port, n, len(wrong))
		bad = bad || len(wrong) > 0
	}
	if bad {
		os.Exit(1)
	}
}

// check returns how many packages of the module a platform has, and what is wrong with them.
func check(port string) (n int, wrong []string, err error) {
	system, arch, ok := strings.Cut(port, "/")
	if !ok {
		return 0, nil, fmt.Errorf("%q is no os/arch", port)
	}
	patterns := []string{"./..."}
	if system == "windows" { // what measures and releases runs elsewhere
		patterns = []string{"./cmd/...", "./internal/..."}
	}
	list, err := packages.Load(&packages.Config{Mode: mode,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")}, patterns...)
	if err != nil {
		return 0, nil, fmt.Errorf("list packages: %w", err)
	}
	for _, p := range list {
		for _, e := range p.Errors {
			wrong = append(wrong, e.Error())
		}
	}
	return len(list), wrong, nil
}
