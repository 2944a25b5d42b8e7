package strobetest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// RuntimeTable is what the runs of the suite of behaviours found, as docs/runtimes.md shows it.
type RuntimeTable struct {
	Groups  []RuntimeGroup
	Columns []RuntimeColumn
}

// RuntimeGroup is behaviours that are looked at together.
type RuntimeGroup struct {
	Name       string
	Behaviours []string
}

// RuntimeColumn is one subject's last run.
type RuntimeColumn struct {
	Subject string
	Version string
	Day     string            // of the run
	Lacks   map[string]string // behaviours that it does not offer, and why
}

// ReadRuntimeTable reads what WriteFile has written.
func ReadRuntimeTable(file string) (*RuntimeTable, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := &RuntimeTable{}
	return t, json.Unmarshal(b, t)
}

// WriteFile keeps the table.
func (t *RuntimeTable) WriteFile(file string) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// Put replaces a subject's column by what a run has found. Subjects stand in the order in which they came first.
func (t *RuntimeTable) Put(sub Subject, found []Behaviour) {
	c := column(sub, found)
	t.Groups = groups(found)
	if i := slices.IndexFunc(t.Columns, func(o RuntimeColumn) bool { return o.Subject == c.Subject }); i >= 0 {
		t.Columns[i] = c
		return
	}
	t.Columns = append(t.Columns, c)
}

func column(sub Subject, found []Behaviour) RuntimeColumn {
	c := RuntimeColumn{Subject: sub.Name, Version: sub.Interpreter.Version, Lacks: map[string]string{}}
	c.Day = time.Now().UTC().Format(time.DateOnly)
	for _, b := range found {
		if !b.Offers {
			c.Lacks[b.Name] = b.Why
		}
	}
	return c
}

func groups(found []Behaviour) (all []RuntimeGroup) {
	for _, b := range found {
		if n := len(all); n == 0 || all[n-1].Name != b.Group {
			all = append(all, RuntimeGroup{Name: b.Group})
		}
		g := &all[len(all)-1]
		g.Behaviours = append(g.Behaviours, b.Name)
	}
	return all
}

// Differs says where a run found something else than the table has: "" for nowhere. A subject that is here of another
// version than its column's is not compared.
func (t *RuntimeTable) Differs(sub Subject, found []Behaviour) string {
	if a, b := fmt.Sprint(t.Groups), fmt.Sprint(groups(found)); a != b {
		return "it has other behaviours"
	}
	i := slices.IndexFunc(t.Columns, func(c RuntimeColumn) bool { return c.Subject == sub.Name })
	if i < 0 {
		return "it has no column"
	}
	c := column(sub, found)
	if have := t.Columns[i]; have.Version == c.Version && fmt.Sprint(have.Lacks) != fmt.Sprint(c.Lacks) {
		return fmt.Sprintf("it lacks %v, and in the table %v", c.Lacks, have.Lacks)
	}
	return ""
}

// Text is the table as a document's part: one table for each group, reasons below.
func (t *RuntimeTable) Text() string {
	var b strings.Builder
	n := 0
	for _, g := range t.Groups {
		n += len(g.Behaviours)
	}
	fmt.Fprintf(&b, "%d behaviours. Last run:\n\n", n)
	for _, c := range t.Columns {
		offers := n - len(c.Lacks)
		version := ""
		if c.Version != "" {
			version = " (" + c.Version + ")"
		}
		fmt.Fprintf(&b, "- %s%s on %s: %d\n", c.Subject, version, c.Day, offers)
	}
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| |", title(g.Name))
		for _, c := range t.Columns {
			fmt.Fprintf(&b, " %s |", c.Subject)
		}
		fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(t.Columns)))
		var reasons []string
		whose := map[string][]string{}
		for _, name := range g.Behaviours {
			fmt.Fprintf(&b, "| %s |", name)
			for _, c := range t.Columns {
				why, lacks := c.Lacks[name]
				if !lacks {
					b.WriteString(" ✓ |")
					continue
				}
				why = strings.TrimSuffix(why, ".")
				if !slices.Contains(whose[why], c.Subject) {
					whose[why] = append(whose[why], c.Subject)
				}
				at := slices.Index(reasons, why)
				if at < 0 {
					at = len(reasons)
					reasons = append(reasons, why)
				}
				fmt.Fprintf(&b, " (%d) |", at+1)
			}
			b.WriteString("\n")
		}
		for i, why := range reasons {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%d. %s: %s\n", i+1, strings.Join(whose[why], ", "), why)
		}
	}
	return b.String()
}

// title is a group's name as a heading.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
