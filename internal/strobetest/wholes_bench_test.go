package strobetest

import (
	"flag"
	"slices"
	"testing"
)

var (
	benchWhole    = flag.String("whole", "", "TestWholeForBench: the program to build")
	benchProfiled = flag.Bool("profiled", false, "TestWholeForBench: with the calls that uftrace wants")
)

// sqliteShell is measured only: TestSoakWholePrograms has no script for it.
var sqliteShell = Whole{Name: "sqlite", Lang: "c", From: "debian:sqlite3", Needs: []string{"tcl"}, Program: "shell",
	Build: `./configure --disable-tcl --disable-readline; make sqlite3.c shell.c
gcc -g -O2 -w -DSQLITE_OMIT_LOAD_EXTENSION -o shell shell.c sqlite3.c -lm -lpthread`}

// profiled puts compilers before PATH that add -pg to what they are told.
const profiled = `mkdir -p .pg; export MAKEFLAGS="-j$(nproc)"
for c in gcc g++ cc c++; do printf '#!/bin/sh\nexec %s -pg "$@"\n' "$(command -v $c)" >.pg/$c; chmod +x .pg/$c; done
PATH=$PWD/.pg:$PATH
`

// TestWholeForBench builds a program for bench -programs and says where it is: bench may not import what is for tests.
func TestWholeForBench(t *testing.T) {
	if *benchWhole == "" {
		t.Skip("bench -programs runs it")
	}
	all := append(slices.Clone(Wholes), sqliteShell)
	n := slices.IndexFunc(all, func(w Whole) bool { return w.Name == *benchWhole })
	if n < 0 {
		t.Fatalf("no whole program %q", *benchWhole)
	}
	w := all[n]
	if *benchProfiled {
		w.Name, w.Build = w.Name+"-pg", profiled+w.Build
	}
	b := BuildWhole(t, w)
	t.Logf("whole=%s source=%s", b.Program, b.Source)
}
