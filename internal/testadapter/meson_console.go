package testadapter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// mesonLine is what Meson prints when a test has ended, where it does not print to a terminal:
//
//	 3/17 suite / passes                     OK              0.01s
//	12/17 suite / segfault                   FAIL            0.02s   killed by signal 11 SIGSEGV
var mesonLine = lazyregexp.MustCompile(
	`^\s*(\d+)/(\d+) (\S.*?)\s+(OK|FAIL|EXPECTEDFAIL|SKIP|TIMEOUT|ERROR|UNEXPECTEDPASS` +
		`|INTERRUPT)\s+([\d.]+)s(?:\s+(.*))?$`)

var (
	mesonKilled = lazyregexp.MustCompile(`killed by signal (\d+)`)
	mesonCode   = lazyregexp.MustCompile(`exit status (\d+)`)
)

// consoleLine keeps what the console says of a test. Meson writes its log when it ends, or when a buffer is full; where
// it is killed, the log lacks what the console has said at once.
func (x *mesonRun) consoleLine(line string) {
	m := mesonLine.FindStringSubmatch(line)
	if m == nil || !slices.Contains(x.ids, m[3]) || len(x.console) >= len(x.ids)*10 {
		return
	}
	r := mesonResult{Name: m[3], Result: m[4]}
	r.Duration, _ = strconv.ParseFloat(m[5], 64)
	if signal := mesonKilled.FindStringSubmatch(m[6]); signal != nil {
		r.Code = -number(signal[1])
	} else if code := mesonCode.FindStringSubmatch(m[6]); code != nil {
		r.Code = number(code[1])
	}
	x.chosen = number(m[2])
	x.console = append(x.console, r)
}

// brokenOff tells what is known of a run that did not come to its end.
func (x *mesonRun) brokenOff(exit Exit) {
	n := 0
	for i := range x.console {
		if r := &x.console[i]; !x.ended[r.Name] {
			x.told(r)
			n++
		}
	}
	if n > 0 {
		x.note("Meson kept back its log: the results are read from its console, without the tests' output")
	}
	var left []string
	for _, id := range x.ids {
		if !x.ended[id] && (x.keep == nil || x.keep[id]) {
			left = append(left, id)
		}
	}
	// It does not tell that a test begins. What is left over is known where it is one, or all that ran.
	if len(left) > 0 && (len(left) == x.chosen-len(x.console) && len(left) == 1 || x.keep != nil && len(left) == 1) {
		x.started(x.named(left[0]))
		left = nil
	}
	x.unfinished(exit, nil)
	if len(left) > 0 {
		const most = 5
		names := strings.Join(left[:min(len(left), most)], ", ")
		if len(left) > most {
			names += ", …"
		}
		x.note("%d tests had not ended or were not chosen: Meson tells of a test only when it has ended: %s", len(left),
			names)
	}
}

// named is a test of that name, with its place.
func (x *mesonRun) named(id string) *Test {
	t := &Test{ID: id}
	t.Suite, t.Name = mesonSplit(id)
	t.Name = orElse(t.Name, id)
	at := x.declared(t.Name)
	t.File, t.Line = at.File, at.Line
	return t
}
