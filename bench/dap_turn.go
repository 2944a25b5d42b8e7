package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// How often a turn does what can be done more than once; the turn's figure is the median.
const (
	dapSteps     = 6
	dapContinues = 5
	dapQuestions = 5
)

// dapTurn is what a turn took, by what it did.
type dapTurn map[string]time.Duration

// dapRows keeps the order in which a table has its rows.
var dapRows = []string{
	"the adapter's process begins, to initialize's answer",
	"the adapter's process begins, to the stop at a breakpoint in a function",
	"of that launch to the stop",
	"the first stack, scopes and locals",
	"a step over, to its stop",
	"the same with stack, scopes and locals",
	"evaluate of n * 2 + a",
	"1,000 elements of an array, as the editor asks",
	"1,000 elements of an array, with one request",
	"1,000 elements of a list, as the editor asks",
	"1,000 elements of a list, with one request",
	"continue, to the next stop at the same breakpoint",
	"disconnect, to the end of the adapter's process",
}

// dapFigures times the steps by turns and adds their table.
func (b *bench) dapFigures(text *strings.Builder, p *dapPair) error {
	all := make([][]dapTurn, len(p.adapters))
	for _, a := range p.adapters {
		// The first one is not counted: it reads files for the first time, and starts Strobe's daemon.
		if _, err := b.dapTurn(a, p.program); err != nil {
			return fmt.Errorf("%s under %s: %w", p.program.what, a.name, err)
		}
	}
	for n := range b.turns {
		for i := range p.adapters {
			i = (i + n) % len(p.adapters) // who is first changes
			t, err := b.dapTurn(p.adapters[i], p.program)
			if err != nil {
				return fmt.Errorf("%s under %s: %w", p.program.what, p.adapters[i].name, err)
			}
			all[i] = append(all[i], t)
		}
	}
	fmt.Fprintf(text, "\nDebug adapters, %s; medians of %d turns, Strobe's daemon is running:\n\n| | Strobe |",
		p.program.what, b.turns)
	for _, a := range p.adapters[1:] {
		fmt.Fprintf(text, " %s | times Strobe's |", a.name)
	}
	text.WriteString("\n|---|---" + strings.Repeat("|---|---", len(p.adapters)-1) + "|\n")
	for _, what := range dapRows {
		b.dapRow(text, p, what, all)
	}
	return nil
}

// dapRow adds what one thing took.
func (b *bench) dapRow(text *strings.Builder, p *dapPair, what string, all [][]dapTurn) {
	if len(all[0]) == 0 || all[0][0][what] == 0 {
		return
	}
	own := medianOf(all[0], func(t dapTurn) float64 { return ms(t[what]) })
	fmt.Fprintf(text, "| %s | %s |", what, millis(own))
	note := ""
	for i, turns := range all[1:] {
		other := medianOf(turns, func(t dapTurn) float64 { return ms(t[what]) })
		var ratios []float64
		for n, t := range turns {
			ratios = append(ratios, float64(t[what])/float64(all[0][n][what]))
		}
		fmt.Fprintf(text, " %s | %s |", millis(other), times(median(ratios)))
		note += fmt.Sprintf("%s %s, %s times as much; ", p.adapters[i+1].name, millis(other), times(median(ratios)))
	}
	text.WriteByte('\n')
	b.note(p.program.what+": "+what, own, "ms", 0, "%s", strings.TrimSuffix(note, "; "))
}

func medianOf(turns []dapTurn, f func(dapTurn) float64) float64 {
	var all []float64
	for _, t := range turns {
		all = append(all, f(t))
	}
	return median(all)
}

func millis(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.2f ms", v)
	}
	return fmt.Sprintf("%.*f ms", digits(v), v)
}

// openSession starts an adapter for a program.
func (b *bench) openSession(a *dapAdapter, p *dapProgram) (*dapSession, error) {
	env := os.Environ()
	if a.ours {
		env = b.env
	}
	c, err := openDAP(a, env)
	if err != nil {
		return nil, err
	}
	return &dapSession{dapClient: c, adapter: a, program: p}, nil
}

// dapTurn does all steps once.
func (b *bench) dapTurn(a *dapAdapter, p *dapProgram) (dapTurn, error) {
	s, err := b.openSession(a, p)
	if err != nil {
		return nil, err
	}
	defer s.close()
	t := dapTurn{}
	if err := s.begin(0, func() error { return s.atFunction("work") }, nil); err != nil {
		return nil, err
	}
	at, err := s.stops()
	if err != nil {
		return nil, err
	}
	a.can = s.can
	t[dapRows[0]], t[dapRows[1]], t[dapRows[2]] = s.ready.Sub(s.began), at.Sub(s.began), at.Sub(s.asked)
	start := time.Now()
	if _, _, _, err := s.look(); err != nil {
		return nil, err
	}
	t[dapRows[3]] = time.Since(start)
	for _, part := range []func(dapTurn) error{s.timeSteps, s.timeLists, s.timeContinues} {
		if err := part(t); err != nil {
			return nil, err
		}
	}
	t[dapRows[12]], err = s.quit()
	return t, err
}

// timeSteps steps, at first without a look.
func (s *dapSession) timeSteps(t dapTurn) error {
	var bare, shown, asked []time.Duration
	for n := range 2 * dapSteps {
		took, err := s.move("next")
		if err != nil {
			return err
		}
		if n < dapSteps {
			bare = append(bare, took)
			continue
		}
		start := time.Now()
		if _, _, f, err := s.look(); err != nil || !strings.Contains(f.Name, "work") {
			return fmt.Errorf("step: the thread is in %s: %w", f.Name, err)
		}
		shown = append(shown, took+time.Since(start))
	}
	for range dapQuestions {
		_, took, err := s.evaluate("n * 2 + a")
		if err != nil {
			return err
		}
		asked = append(asked, took)
	}
	t[dapRows[4]], t[dapRows[5]], t[dapRows[6]] = middle(bare), middle(shown), middle(asked)
	return nil
}

// timeLists expands lists of 1,000, each at a stop of its own: adapters keep what they have read.
func (s *dapSession) timeLists(t dapTurn) error {
	row := 7
	if len(s.program.lists) == 1 {
		row = 9
	}
	for _, name := range s.program.lists {
		for _, paged := range []bool{true, false} {
			if _, err := s.move("next"); err != nil {
				return err
			}
			list, _, err := s.find("data", name)
			if err != nil {
				return err
			}
			start := time.Now()
			n, err := s.elements(list, paged)
			if err != nil {
				return err
			}
			if n != 1000 {
				return fmt.Errorf("data.%s has %d elements, not 1,000", name, n)
			}
			t[dapRows[row]] = time.Since(start)
			row++
		}
	}
	return nil
}

func (s *dapSession) timeContinues(t dapTurn) error {
	var all []time.Duration
	for range dapContinues {
		took, err := s.move("continue")
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	t[dapRows[11]] = middle(all)
	return nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
