package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// shown is how many suspects are named at the end.
const shown = 3

// question is one that was asked.
type question struct {
	args   map[string]any
	answer string
	took   time.Duration
}

// result is one hunt.
type result struct {
	bug       *bug
	questions []question
	suspects  []string
	place     int // of the culprit among the suspects, from 1; 0: not named
}

// asking asks questions of two sessions and keeps count.
type asking struct {
	h         *hunter
	fail      string
	questions []question
	bytes     int
}

// ask puts a question to the failing session; "" where there is no more room.
func (a *asking) ask(args map[string]any) (string, error) {
	if len(a.questions) == maxQuestions || a.bytes >= maxBytes {
		return "", nil
	}
	args["sessionId"] = a.fail
	start := time.Now()
	answer, err := a.h.call("debug_query", args)
	if err != nil && answer == "" {
		return "", err
	}
	a.bytes += len(answer)
	a.questions = append(a.questions, question{args, answer, time.Since(start)})
	return answer, nil
}

func (h *hunter) hunt(b *bug, dir string) (*result, error) {
	fail, err := h.record(b, dir, b.Fail)
	if err != nil {
		return nil, err
	}
	pass, err := h.record(b, dir, b.Pass)
	if err != nil {
		return nil, err
	}
	again, err := h.record(b, dir, b.Pass) // what differs between two runs of one input says nothing
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, id := range []string{fail, pass, again} {
			_, _ = h.call("debug_session", map[string]any{"action": "stop", "sessionId": id})
		}
	}()
	against := pass + "," + again
	a := &asking{h: h, fail: fail}
	diff, err := a.ask(map[string]any{"view": "diff", "against": against})
	if err != nil {
		return nil, err
	}
	invariants, err := a.ask(map[string]any{"view": "invariants", "against": against})
	if err != nil {
		return nil, err
	}
	r := &result{bug: b, questions: a.questions}
	all := suspects(read(diff), read(invariants))
	for i, s := range all {
		if r.place == 0 && slices.ContainsFunc(b.Culprits, func(c string) bool { return sameName(s, c) }) {
			r.place = i + 1
		}
	}
	r.suspects = all[:min(len(all), shown)]
	return r, nil
}

// sameName reports whether an answer's name, which may have been cut, is a function's.
func sameName(said, function string) bool {
	begin, _, isCut := strings.Cut(said, "…(+")
	return said == function || isCut && strings.HasPrefix(function, begin)
}

// row is a line of the table.
func (r *result) row() string {
	n := 0
	for _, q := range r.questions {
		n += len(q.answer)
	}
	place := "-"
	if r.place > 0 {
		place = fmt.Sprint(r.place)
	}
	took := time.Duration(0)
	for _, q := range r.questions {
		took += q.took
	}
	return fmt.Sprintf("%-24s %2s  %d questions %5d bytes %5.1f s  %s", r.bug.id(), place, len(r.questions), n,
		took.Seconds(), strings.Join(r.suspects, ", "))
}

func (r *result) transcript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", r.bug.id(), r.row())
	for _, q := range r.questions {
		args, _ := json.Marshal(q.args)
		fmt.Fprintf(&b, "> %s\n\n%s\n\n", args, pretty(q.answer))
	}
	return b.String()
}

// pretty shows an answer's texts as lines.
func pretty(answer string) string {
	return strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(answer)
}
