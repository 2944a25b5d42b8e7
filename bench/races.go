package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// racePrograms are those of internal/hunt/testdata/races, with the variables that race; "": none does.
var racePrograms = []struct{ file, races string }{
	{"counter.c", "hits"}, {"halflocked.c", "head"}, {"stats.cc", "st.n"}, {"publish.c", "ready"}, {"rare.c", "errors"},
	{"bits.c", "flags"}, {"clean.c", ""}, {"atomics.cc", ""},
}

// races looks for races in small programs ten times each, for five seconds at most, beside ThreadSanitizer, for which
// they are compiled anew, and helgrind. How much slower a program is in a search is the search's time by its runs, with
// all that happens between them.
func (b *bench) races() error {
	const searches, seconds = 10, "5"
	for _, p := range racePrograms {
		source := filepath.Join("internal", "hunt", "testdata", "races", p.file)
		name := strings.TrimSuffix(filepath.Base(p.file), filepath.Ext(p.file))
		prog, sanitized := filepath.Join(b.dir, name), filepath.Join(b.dir, name+"-tsan")
		compiler := map[string]string{".c": "gcc", ".cc": "g++"}[filepath.Ext(p.file)]
		for out, flags := range map[string][]string{prog: nil, sanitized: {"-fsanitize=thread"}} {
			args := slices.Concat([]string{"-g", "-O1", "-pthread", source, "-o", out}, flags)
			if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("build %s: %w: %s", source, err, text)
			}
		}
		bare, _ := b.reports("", prog)
		found, wrong, slower, took := 0, 0, []float64{}, []float64{}
		for range searches {
			cmd := exec.Command(b.strobe, "races", "--json", "--seconds", seconds, "--project-root",
				filepath.Join(mustGetwd(), filepath.Dir(source)), "--", prog)
			cmd.Dir, cmd.Env = b.dir, b.env
			out, _ := cmd.Output() // code 1: nothing was found
			var r struct {
				Races []struct {
					Variable string
					Atomic   bool `json:"probablyAtomic"`
				}
				Runs int
				Took string
			}
			if err := json.Unmarshal(out, &r); err != nil {
				return fmt.Errorf("strobe races %s: %w: %s", name, err, lastLine(string(out)))
			}
			d, err := time.ParseDuration(r.Took)
			if err != nil {
				return err
			}
			took, slower = append(took, d.Seconds()), append(slower, d.Seconds()/float64(max(r.Runs, 1))/bare)
			hit := false
			for _, one := range r.Races {
				switch {
				case p.races != "" && strings.HasPrefix(one.Variable, p.races):
					hit = true
				case p.races == "" && !one.Atomic:
					wrong++
				}
			}
			if hit {
				found++
			}
		}
		limit, what := 4.0, fmt.Sprintf("found in %d of %d searches", found, searches)
		if p.races == "" {
			what = fmt.Sprintf("%d false in %d searches", wrong, searches)
		}
		tsan, tsanReports := b.reports("WARNING: ThreadSanitizer: data race", sanitized)
		helgrind, helgrindReports := b.reports("Possible data race", "valgrind", "--tool=helgrind", prog)
		b.note("races, "+name, median(slower), "times slower", limit,
			"%s of %.1f s; ThreadSanitizer: %d reports, %.0f times; helgrind: %d, %.0f times; untraced %.1f ms", what,
			median(took), tsanReports, tsan/bare, helgrindReports, helgrind/bare, bare*1000)
	}
	return nil
}

// reports runs a command three times and returns its median time in seconds, and how many reports it printed last.
func (b *bench) reports(report string, command ...string) (seconds float64, n int) {
	var took []float64
	for range 3 {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = b.dir
		var out bytes.Buffer
		cmd.Stderr = &out
		start := time.Now()
		_ = cmd.Run() // a report makes it fail
		took = append(took, time.Since(start).Seconds())
		if n = 0; report != "" {
			n = strings.Count(out.String(), report)
		}
	}
	return median(took), n
}
