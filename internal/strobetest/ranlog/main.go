// Command ranlog reads what go test -json writes and writes what a person wants of it: the packages, the output of
// tests that failed, and at the end the slowest tests and those that are left to make soak.
//
// It stands behind .ci/run's make test and has no place in the data path. Lines that are not of go test pass as they
// are.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// slowest is how many tests the end names: enough to see where the minutes go.
const slowest = 10

// leftToSoak is strobetest.LeftToSoak, which a program may not import.
const leftToSoak = "left to make soak: "

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ranlog:", err)
		os.Exit(1)
	}
}

// event is a line of go test -json; `go doc test2json` says what they are.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// key is a test of a package; a package itself has no test.
type key struct{ pkg, test string }

func (k key) top() key {
	test, _, _ := strings.Cut(k.test, "/")
	return key{k.pkg, test}
}

// parent is the test that k is a part of: its name may have slashes of its own.
func (l *log) parent(k key) key {
	for at := strings.LastIndex(k.test, "/"); at > 0; at = strings.LastIndex(k.test[:at], "/") {
		if p := (key{k.pkg, k.test[:at]}); l.ran[p] {
			return p
		}
	}
	return k.top()
}

// name is what stands in a list: the package's folder and the test.
func (k key) name() string { return k.pkg[strings.LastIndex(k.pkg, "/")+1:] + "." + k.test }

type log struct {
	w      io.Writer
	output map[key][]string // of top tests that have not passed yet
	took   map[key]float64  // of top tests, in seconds
	parts  map[key]float64  // of the parts of any, whose time go test leaves out of the whole where they run side by side
	ran    map[key]bool
	left   []string
}

func run(r io.Reader, w io.Writer) error {
	l := &log{w: w, output: map[key][]string{}, took: map[key]float64{}, parts: map[key]float64{}, ran: map[key]bool{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if e := (event{}); json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
			l.take(&e)
		} else {
			fmt.Fprint(w, line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	l.end()
	return nil
}

func (l *log) take(e *event) {
	k := key{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(l.w, e.Output)
	case e.Action == "output" && e.Test == "":
		if strings.HasPrefix(e.Output, "FAIL\t") { // what had not ended when the package did
			l.showAll(e.Package)
		}
		if e.Output != "PASS\n" { // which go test does not show either
			fmt.Fprint(l.w, e.Output)
		}
	case e.Action == "output":
		l.output[k.top()] = append(l.output[k.top()], e.Output)
		if _, what, found := strings.Cut(e.Output, leftToSoak); found {
			l.leaves(k.top().name(), strings.TrimSpace(what))
		}
	case e.Test == "":
	case e.Action == "run":
		l.ran[k] = true
	case k != k.top():
		if e.Action == "pass" || e.Action == "fail" {
			l.parts[l.parent(k)] += max(e.Elapsed, l.parts[k])
		}
	case e.Action == "fail":
		l.show(k)
		l.took[k] = max(e.Elapsed, l.parts[k])
	case e.Action == "pass" || e.Action == "skip":
		delete(l.output, k)
		l.took[k] = max(e.Elapsed, l.parts[k])
	}
}

func (l *log) leaves(name, what string) {
	line := name
	if what != "all of it" {
		line += " (" + what + ")"
	}
	if !slices.Contains(l.left, line) {
		l.left = append(l.left, line)
	}
}

// show writes a test's output as go test does: without the lines that say that it runs.
func (l *log) show(k key) {
	for _, line := range l.output[k] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(l.w, line)
		}
	}
	delete(l.output, k)
}

func (l *log) showAll(pkg string) {
	for k := range l.output {
		if k.pkg == pkg {
			l.show(k)
		}
	}
}

func (l *log) end() {
	tests := make([]key, 0, len(l.took))
	for k := range l.took {
		tests = append(tests, k)
	}
	slices.SortFunc(tests, func(a, b key) int {
		return cmp.Or(cmp.Compare(l.took[b], l.took[a]), cmp.Compare(a.name(), b.name()))
	})
	var slow []string
	for _, k := range tests[:min(slowest, len(tests))] {
		slow = append(slow, fmt.Sprintf("%s %.0f s", k.name(), l.took[k]))
	}
	fmt.Fprintf(l.w, "ran %d tests; the slowest: %s\n", len(tests), strings.Join(slow, ", "))
	if len(l.left) > 0 {
		fmt.Fprintf(l.w, "left to make soak: %s\n", strings.Join(l.left, ", "))
	}
}
