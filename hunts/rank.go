package main

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// answer is what of a debug_query's answer is read.
type answer struct {
	Text  string `json:"text"`
	First *first `json:"first"`
	Crash *struct {
		Function string `json:"function"`
	} `json:"crash"`
}

// first is the first call in which two sessions differ.
type first struct {
	What string `json:"what"`
	Path string `json:"path"`
	A    *struct {
		Function string `json:"function"`
		EventID  int64  `json:"eventId"`
	} `json:"a"`
	B *struct {
		Function string `json:"function"`
	} `json:"b"`
}

func read(text string) answer {
	var a answer
	_ = json.Unmarshal([]byte(text), &a) // an answer that is an error has nothing to read
	return a
}

// function is the innermost of a difference's path.
func (f *first) function() string {
	parts := strings.Split(f.Path, " > ")
	last := parts[len(parts)-1]
	if strings.HasPrefix(last, "(") && f.A != nil && f.A.Function != "" {
		return f.A.Function
	}
	last, _, _ = strings.Cut(last, " ×")
	return last
}

// named are the functions that an answer's text has blocks of: a line "NAME: …" and lines below it that are indented.
type named struct {
	function string
	calls    float64
	lines    []string
}

func blocks(text string) (out []named) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "):
			if len(out) > 0 {
				out[len(out)-1].lines = append(out[len(out)-1].lines, strings.TrimSpace(line))
			}
		case head.MatchString(line):
			m := head.FindStringSubmatch(line)
			calls, _ := strconv.ParseFloat(m[2], 64) // digits
			out = append(out, named{function: m[1], calls: calls})
		}
	}
	return out
}

var (
	head  = regexp.MustCompile(`^(\S.*?): (\d+) (?:in a|calls?)`)
	event = regexp.MustCompile(`#(\d+)`)
	news  = regexp.MustCompile(`(?m)^  (\S.*?) #\d+: `)
	ended = regexp.MustCompile(`(?m)^first to end with what broke one: (.*)$`)
	only  = regexp.MustCompile(`(?m)^only in a: (.*)$`)
)

// suspicion is what speaks against functions.
type suspicion struct {
	score map[string]float64
	order []string
}

func (s *suspicion) add(function string, score float64) {
	if function == "" {
		return
	}
	if _, ok := s.score[function]; !ok {
		s.order = append(s.order, function)
	}
	s.score[function] += score
}

// ranked are all suspects, the worst first.
func (s *suspicion) ranked() []string {
	out := slices.Clone(s.order)
	slices.SortStableFunc(out, func(x, y string) int { return cmp.Compare(s.score[y], s.score[x]) })
	return out
}

// gave reports whether a line is of what a function gave, not of what it was given.
func gave(line string) bool {
	return strings.HasPrefix(line, "result") || strings.HasPrefix(line, "out.") ||
		strings.Contains(line, "equal result") ||
		strings.Contains(line, "= result,") ||
		strings.Contains(line, "→ result") || strings.Contains(line, "thrown") || strings.Contains(line, " result ")
}

// accuse weighs what broke what held in the passing run: what functions gave more than what they were given, what is
// told first more than what is told later, and of the earliest calls the innermost.
func (s *suspicion) accuse(text string, weight float64) {
	first := map[int64]string{} // calls that gave what they should not
	var ids []int64
	for i, b := range blocks(text) {
		score := weight / (1 + 0.35*float64(i)) * b.calls / (b.calls + 2) // one call differs by the input alone
		if len(b.lines) > 0 && gave(b.lines[0]) {
			score *= 1.5
			if m := event.FindStringSubmatch(b.lines[0]); m != nil {
				id, _ := strconv.ParseInt(m[1], 10, 64) // digits
				first[id] = b.function
				ids = append(ids, id)
			}
		}
		s.add(b.function, score)
	}
	if m := ended.FindStringSubmatch(text); m != nil {
		for i, item := range strings.Split(m[1], "; ") {
			name, _, _ := strings.Cut(item, " #")
			s.add(name, weight/(1+float64(i)))
		}
		return
	}
	slices.Sort(ids)
	at := 0
	for at+1 < len(ids) && ids[at+1]-ids[at] <= nested { // a call that it made: it gave what that had given
		at++
	}
	if len(ids) > 0 {
		s.add(first[ids[at]], weight)
	}
}

// addList adds the functions of a list that a line begins, the first most.
func (s *suspicion) addList(text, begin string, weight float64) {
	_, list, _ := strings.Cut(text, begin)
	for i, line := range strings.Split(list, "\n") {
		m := news.FindStringSubmatch(line)
		if m == nil {
			return
		}
		s.add(m[1], weight/(1+0.35*float64(i)))
	}
}

// nested is how many events later a call begins that the one before is likely to have made.
const nested = 3

// suspects reads all answers and ranks the functions that they name.
func suspects(diff, invariants answer) []string {
	s := &suspicion{score: map[string]float64{}}
	s.accuse(invariants.Text, 10)
	s.accuse(diff.Text, 7)
	s.addList(diff.Text, "from nothing new:\n", 10)
	s.addList(diff.Text, "and not given:\n", 8)
	if m := only.FindStringSubmatch(diff.Text); m != nil {
		items := strings.Split(m[1], "; ")
		for i, item := range items {
			name, _, _ := strings.Cut(item, " ×")
			if !strings.HasPrefix(name, "…") {
				s.add(name, 5/(1+0.5*float64(i)))
			}
		}
	}
	if f := diff.First; f != nil {
		s.add(f.function(), 3) // often where the inputs differ
	}
	return s.ranked()
}
