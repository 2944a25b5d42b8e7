package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// offered are the names of what an adapter says it supports.
func (a *dapAdapter) offered() map[string]bool {
	out := map[string]bool{}
	for k, v := range a.can {
		if yes, is := v.(bool); is && yes && strings.HasPrefix(k, "support") {
			out[strings.TrimPrefix(strings.TrimPrefix(k, "supports"), "support")] = true
		}
	}
	return out
}

// filters are the exceptions that an adapter can stop at.
func (a *dapAdapter) filters() []dapFilter {
	var out []dapFilter
	list, _ := a.can["exceptionBreakpointFilters"].([]any) // none
	for _, f := range list {
		m, _ := f.(map[string]any)
		name, _ := m["filter"].(string)
		label, _ := m["label"].(string)
		out = append(out, dapFilter{name, label})
	}
	return out
}

type dapFilter struct{ name, label string }

// capabilityTable compares what adapters say that they offer.
func capabilityTable(text *strings.Builder, pairs []dapPair) {
	text.WriteString("\nWhat the adapters say that they offer (initialize's answer, and what is told of it later):\n\n" +
		"| Strobe and | both | only Strobe | only the other | filters of exceptions, Strobe's | the other's |\n" +
		"|---|---|---|---|---|---|\n")
	for i := range pairs {
		own := pairs[i].adapters[0]
		for _, a := range pairs[i].adapters[1:] {
			ours, theirs := own.offered(), a.offered()
			var both, only, other []string
			for _, k := range slices.Sorted(maps.Keys(ours)) {
				if theirs[k] {
					both = append(both, k)
				} else {
					only = append(only, k)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(theirs)) {
				if !ours[k] {
					other = append(other, k)
				}
			}
			counted := func(list []string) string { return fmt.Sprintf("%d: %s", len(list), strings.Join(list, ", ")) }
			fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n", a.name, counted(both), counted(only), counted(other),
				shownFilters(own.filters()), shownFilters(a.filters()))
		}
	}
}

func shownFilters(list []dapFilter) string {
	var names []string
	for _, f := range list {
		names = append(names, fmt.Sprintf("`%s` (%s)", f.name, f.label))
	}
	return cell(strings.Join(names, ", "))
}

// cell is text that breaks no table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
}

// dapBehaviours does what is offered and adds a table of what came of it.
func (b *bench) dapBehaviours(text *strings.Builder, pairs []dapPair) {
	text.WriteString("\nWhat came of it when it was done:\n\n|")
	for i := range pairs {
		for _, a := range pairs[i].adapters {
			fmt.Fprintf(text, " | %s, %s", a.name, pairs[i].program.what)
		}
	}
	text.WriteString(" |\n|---")
	for i := range pairs {
		text.WriteString(strings.Repeat("|---", len(pairs[i].adapters)))
	}
	text.WriteString("|\n")
	for _, h := range dapBehaviours {
		text.WriteString("| " + h.what)
		for i := range pairs {
			for _, a := range pairs[i].adapters {
				came := cell(b.behaves(a, pairs[i].program, &h))
				fmt.Fprintf(os.Stderr, "%-58s %-16s %s\n", h.what, a.name, came)
				text.WriteString(" | " + came)
			}
		}
		text.WriteString(" |\n")
	}
}

// behaves says what an adapter does of one thing.
func (b *bench) behaves(a *dapAdapter, p *dapProgram, h *dapBehaviour) string {
	if h.needs != "" && a.can[h.needs] != true {
		return "not offered"
	}
	if h.native && len(p.args) > 0 {
		return "not of this language"
	}
	s, err := b.openSession(a, p)
	if err != nil {
		return err.Error()
	}
	defer s.close()
	note, err := h.do(s)
	if err != nil {
		return fmt.Sprintf("no: %.300s", err)
	}
	if _, err := s.quit(); err != nil {
		return fmt.Sprintf("yes, but it does not end: %.200s", err)
	}
	if note != "" {
		return "yes; " + note
	}
	return "yes"
}
