package hunt

import (
	"fmt"
	"slices"
)

// tell says what was found, if anything was, and what the others did while the thread was held.
func (h *hunter) tell(f *found) error {
	if f.often == 0 {
		return nil
	}
	h.r.Rate, h.r.PlainRate = fmt.Sprintf("%d of %d", f.often, f.of), fmt.Sprintf("%d of %d", f.plain, f.of)
	h.r.Found, h.r.Failure, h.r.Output = true, f.example.String(), f.example.Tail
	h.r.Plan = &Plan{Program: h.p.Path, BuildID: h.mod.BuildID, Args: h.p.Args, Holds: f.holds}
	for range 10 {
		e, visits, err := h.run(work{holds: longer(f.holds), meanwhile: h.sites})
		if err != nil {
			return err
		}
		did := h.meanwhile(visits)
		if len(did) > 0 && h.failed(&e) {
			h.r.Meanwhile = did
			return nil
		}
		if len(h.r.Meanwhile) == 0 { // looking slows them, so that it may not fail: this is what they do all the same
			h.r.Meanwhile = did
		}
	}
	return nil
}

// longer are holds that last while the others are looked at, which slows them.
func longer(holds []Hold) []Hold {
	out := slices.Clone(holds)
	for i := range out {
		out[i].Ms *= 5
	}
	return out
}

// meanwhileMost bounds what is told of the others.
const meanwhileMost = 12

// meanwhile tells what threads came to while another was held: where they touch what it was about to touch, else where
// they were, each line once.
func (h *hunter) meanwhile(visits []visit) (out []string) {
	var held *visit
	said := map[string]bool{}
	for i := range visits {
		v := &visits[i]
		if v.held {
			if held == nil {
				held = v
			}
			continue
		}
		if held == nil || v.thread == held.thread {
			continue
		}
		what := "comes through"
		if v.addr != 0 && v.addr == held.addr {
			what = "reads what it is about to use, in"
			if v.site.writes {
				what = "writes what it is about to use, in"
			}
		}
		v.site.find(h.mod, h.mine)
		line := fmt.Sprintf("thread %d %s %s", v.thread, what, v.site.place())
		if !said[line] {
			said[line] = true
			out = append(out, line)
		}
	}
	if more := len(out) - meanwhileMost; more > 0 {
		out = append(out[:meanwhileMost:meanwhileMost], fmt.Sprintf("and %d more places", more))
	}
	return out
}
