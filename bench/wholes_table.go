package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// What stands around the section that replaceSection writes.
const (
	sectionBegin = "<!-- bench -programs begins -->\n"
	sectionEnd   = "<!-- bench -programs ends -->\n"
)

const wholeHead = "" +
	`| program | | the program took | of untraced | of uftrace | all there after | calls made | kept ` +
	`| on disk | bytes an event | daemon, CPU a call |
|---|---|---|---|---|---|---|---|---|---|---|
`

// medians are of the times; what became of the calls is that of one run, the one whose share of kept calls is the
// middle, or the lower of the two in the middle.
func (r *result) medians() (m sample) {
	if len(r.samples) == 0 {
		return m
	}
	byKept := slices.SortedFunc(slices.Values(r.samples),
		func(a, b sample) int { return cmp.Compare(a.Kept*b.Made, b.Kept*a.Made) })
	m = byKept[(len(byKept)-1)/2]
	of := func(field func(*sample) float64) float64 {
		var all []float64
		for i := range r.samples {
			all = append(all, field(&r.samples[i]))
		}
		return median(all)
	}
	m.Program, m.Ready, m.CPU = of(func(s *sample) float64 { return s.Program }),
		of(func(s *sample) float64 { return s.Ready }), of(func(s *sample) float64 { return s.CPU })
	return m
}

// over is the median of each turn's ratio: what else the machine did then hit both.
func (r *result) over(other *result) string {
	var all []float64
	for i := range min(len(r.samples), len(other.samples)) {
		all = append(all, r.samples[i].Program/other.samples[i].Program)
	}
	if len(all) == 0 || r == other {
		return ""
	}
	return fmt.Sprintf("%.*f", digits(median(all)), median(all))
}

// writeWhole adds one program's rows to the table.
func writeWhole(text *strings.Builder, w *whole, results []result) {
	plain, uftrace := &results[0], &results[1]
	for i := range results {
		r := &results[i]
		name := ""
		if i == 0 {
			name = w.name + ": " + w.what
		}
		if r.problem != "" {
			fmt.Fprintf(text, "| %s | %s | %s | | | | | | | | |\n", name, r.way, strings.ReplaceAll(r.problem, "|", "/"))
			continue
		}
		m := r.medians()
		cells := []string{name, r.way, seconds(m.Program), r.over(plain), "", "", "", "", "", "", ""}
		if i > 1 {
			cells[4] = r.over(uftrace)
		}
		if m.Made > 0 {
			events := 2 * m.Kept
			cells[5], cells[6], cells[7] = seconds(m.Ready), grouped(m.Made), m.kept()
			cells[8], cells[9] = fmt.Sprintf("%.*f MB", digits(m.Bytes/1e6), m.Bytes/1e6),
				fmt.Sprintf("%.*f", digits(m.Bytes/events), m.Bytes/events)
		}
		if m.CPU > 0 && m.Made > 0 {
			cells[10] = fmt.Sprintf("%.2f µs", 1e6*m.CPU/m.Made)
		}
		fmt.Fprintf(text, "| %s |\n", strings.Join(cells, " | "))
	}
}

// kept says what became of the calls.
func (m *sample) kept() string {
	text := fmt.Sprintf("%.4g%%", 100*m.Kept/m.Made)
	if m.Sampled > 0 {
		text += fmt.Sprintf(", %.2g%% sampled", 100*m.Sampled/m.Made)
	}
	if m.Lost > 0 {
		text += fmt.Sprintf(", %.2g%% lost", 100*m.Lost/m.Made)
	}
	return text
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", 1000*s)
	}
	return fmt.Sprintf("%.2f s", s)
}

// digits is how many places a number shows behind its point.
func digits(v float64) int {
	if v < 10 {
		return 1
	}
	return 0
}

// grouped writes a number as documents do: 1,160,000.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for n := len(s) - 3; n > 0; n -= 3 {
		s = s[:n] + "," + s[n:]
	}
	return s
}

// replaceSection replaces what stands between the marks of a document.
func replaceSection(path, section string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(doc, []byte(sectionBegin))
	_, after, end := bytes.Cut(rest, []byte(sectionEnd))
	if !ok || !end {
		return fmt.Errorf("replace the section of %s: it has no lines %q and %q", path, sectionBegin, sectionEnd)
	}
	text := string(before) + sectionBegin + strings.TrimRight(section, "\n") + "\n" + sectionEnd + string(after)
	return os.WriteFile(path, []byte(text), 0o644)
}
