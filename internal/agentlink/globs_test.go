package agentlink

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
)

func TestGlobs(t *testing.T) {
	const name = "shop.sub.Order.Line.total"
	for glob, want := range map[string]bool{
		name: true, "Order.Line.total": true, "Line.total": true, "sub.Order.Line.total": true, "total": false,
		"*.total": true, "**": true, "**total": true, "shop.**": true, "shop.*": false, "shop.*.total": false,
		"shop.**.total": true, "shop.**.sub.Order.Line.total": true, "Line.t?tal": true, "Line?total": false, "ne.total": false,
		"Line.to": false, "shop.sub.Order.*.*": true, "": false,
	} {
		if got := Named(glob, name); got != want {
			t.Errorf("Named(%q) = %v, want %v", glob, got, want)
		}
	}
}

// FuzzGlobs: whatever is asked of whatever name has an answer.
func FuzzGlobs(f *testing.F) {
	f.Add("shop.**.total*", "shop.Order.total")
	f.Fuzz(func(t *testing.T, glob, name string) {
		if len(glob) < 30 && len(name) < 60 {
			Named(glob, name)
		}
	})
}

// TestLateFunctions: a pattern whose functions were loaded behind the last word of an agent that is gone matches them.
func TestLateFunctions(t *testing.T) {
	l := &Link{parted: Applied{Rules: []RuleState{{ID: 0}, {ID: 1}}, Near: []string{"main.run"}}}
	l.rounds.init(l)
	l.rounds.names["late.sum.add"] = true
	m := &Member{kind: Kind{Name: "python"}, link: l,
		tracing: collector.Tracing{Probes: []collector.Probe{{Pattern: "late.**"}, {Pattern: "nowhere.**"}}}}
	st := m.state()
	if p := st.Probes[0]; p.Matched != 1 || p.Warning != "" {
		t.Errorf("late.**: %+v", p)
	}
	if p := st.Probes[1]; p.Matched != 0 || !strings.Contains(p.Warning, "matches no python function that is loaded") {
		t.Errorf("nowhere.**: %+v", p)
	}
}
