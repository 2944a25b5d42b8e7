package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// objectLife is what lay at an address from when it was made to when it was freed.
type objectLife struct {
	made, ended *objectUse // nil: not seen
	uses        int64
	late        []*objectUse // after ended
	first, last *objectUse
}

// live divides the uses into lives, and says what changed in them.
func (o *objectFinder) live() {
	var l *objectLife
	var young bool               // only made so far
	inits := map[event.ID]bool{} // constructors and destructors of this life, by their begin
	var known map[string]string  // fields as they were seen last
	begin := func(made *objectUse) {
		l, young, known = &objectLife{made: made}, true, map[string]string{}
		clear(inits)
		o.lives = append(o.lives, l)
	}
	for _, u := range o.uses {
		within := inits[u.parent]
		switch u.role {
		case makesIt:
			begin(u)
		case initsIt:
			if (l == nil || !young || l.ended != nil) && !within {
				begin(u)
			}
			inits[u.enter] = true
		default:
			if l == nil {
				begin(nil)
			}
			if u.role == usesIt && !within {
				young = false
			}
		}
		u.life = len(o.lives)
		if l.first == nil {
			l.first = u
		}
		l.last = u
		l.uses++
		switch {
		case u.role == endsIt:
			inits[u.enter] = true
			if l.ended == nil {
				l.ended = u
			}
		case u.role == freesIt:
			if l.ended != nil && l.ended.role == freesIt && u.enter != l.ended.enter { // freed twice
				u.late = true
				l.late = append(l.late, u)
			}
			l.ended = u
		case l.ended != nil && u.role == usesIt && !within && u.enter != l.ended.enter && u.enter > l.ended.id:
			u.late = true
			l.late = append(l.late, u)
		}
		u.changes = changesOf(known, u.fields)
	}
}

// changesOf says which fields are new or other than they were, and remembers them.
func changesOf(known map[string]string, fields []field) (out []string) {
	first := len(known) == 0
	for _, f := range fields {
		was, ok := known[f.path]
		known[f.path] = f.text
		switch {
		case ok && was != f.text:
			out = append(out, fmt.Sprintf("%s %s → %s", f.path, was, f.text))
		case !ok && first:
			out = append(out, f.path+"="+f.text)
		}
	}
	if n := len(out) - maxFields; n > 0 {
		out = append(out[:maxFields], fmt.Sprintf("…+%d", n))
	}
	return out
}

// call is a use in a line, upTo the last of several that are alike.
func (u *objectUse) call(addr string, upTo *objectUse) string {
	where := strings.Join(u.paths[:min(len(u.paths), 3)], ", ")
	if n := len(u.paths) - 3; n > 0 {
		where += fmt.Sprintf(" …+%d", n)
	}
	name := cut(u.fn.Name, 80)
	if u.exit {
		if u.paths[0] == "result" {
			return fmt.Sprintf("%s returned it", name)
		}
		return fmt.Sprintf("%s ended, %s", name, where)
	}
	if u.others != "" {
		where += "; " + u.others
	}
	if upTo.others != u.others {
		where += " … " + upTo.others
	}
	where = strings.ReplaceAll(where, addr, "it")
	return fmt.Sprintf("%s(it as %s)", name, where)
}

// short names a use for a life's line.
func (u *objectUse) short() string {
	return fmt.Sprintf("#%d %s at %s", u.enter, cut(u.fn.Name, 60), duration(u.ts))
}

// header tells of the lives.
func (o *objectFinder) header(b *strings.Builder) {
	calls := map[event.ID]bool{}
	for _, u := range o.uses {
		calls[u.enter] = true
	}
	fmt.Fprintf(b, "%s: %s had it", o.name, plural(int64(len(calls)), "call"))
	if n := len(o.lives); n > 1 {
		fmt.Fprintf(b, ", in %d lives", n)
	}
	b.WriteByte('\n')
	lives := slices.Clone(o.lives)
	sorting.By(lives, func(x, y *objectLife) int { return min(len(y.late), 1) - min(len(x.late), 1) })
	for i, l := range lives {
		if i == maxLives {
			fmt.Fprintf(b, "…+%d lives\n", len(lives)-i)
			break
		}
		made, ended := "first seen in "+l.first.short(), "not freed, last seen in "+l.last.short()
		if l.made != nil {
			made = "made by " + l.made.short()
		}
		if l.ended != nil {
			ended = "freed by " + l.ended.short()
			if l.ended.role == endsIt {
				ended = "destroyed by " + l.ended.short()
			}
		}
		fmt.Fprintf(b, "life %d: %s, %s\n", slices.Index(o.lives, l)+1, made, ended)
		for k, u := range l.late {
			if k == 3 {
				fmt.Fprintf(b, "  ! …+%d after its end\n", len(l.late)-k)
				break
			}
			what := "used"
			if u.role == freesIt {
				what = "freed again"
			}
			fmt.Fprintf(b, "  ! %s after its end: #%d %s\n", what, u.enter, cut(u.call(o.name, u), 120))
		}
	}
}

// objectRow is a line of the list: a use, or several that show the same.
type objectRow struct {
	text string
	last event.ID
	n    int64
}

// rows are the lines behind a cursor.
func (o *objectFinder) rows(after event.ID) (all []objectRow) {
	var before *objectUse
	n, life := int64(0), 0
	for _, u := range o.uses {
		if u.id <= after {
			continue
		}
		if u.exit && len(u.changes) == 0 && u.paths[0] != "result" { // told by its begin
			if len(all) > 0 {
				all[len(all)-1].last = u.id
				all[len(all)-1].n++
				continue
			}
		}
		same := before != nil && before.fn == u.fn && before.exit == u.exit && len(u.changes)+len(before.changes) == 0 &&
			before.life == u.life && before.late == u.late && u.role == usesIt && slices.Equal(before.paths, u.paths)
		if n++; same {
			row := &all[len(all)-1]
			row.text = fmt.Sprintf("  #%d..#%d %s ×%d", before.enter, u.enter, before.call(o.name, u), n)
			if u.late {
				row.text = "!" + row.text[1:]
			}
			row.last = u.id
			row.n++
			continue
		}
		before, n = u, 1
		text := fmt.Sprintf("  #%d %s", u.enter, u.call(o.name, u))
		if len(u.changes) > 0 {
			text += ": "
			if !u.exit && strings.Contains(u.changes[0], " → ") { // whoever wrote it was not seen at its end
				text += "by then "
			}
			text += strings.Join(u.changes, ", ")
		}
		if u.late {
			text = "!" + text[1:]
		}
		if u.life != life && len(o.lives) > 1 {
			life = u.life
			text = fmt.Sprintf(" life %d\n%s", life, text)
		}
		all = append(all, objectRow{text, u.id, 1})
	}
	return all
}

// write puts lives and uses into res.
func (o *objectFinder) write(res *Result) (notes []string) {
	var b strings.Builder
	limit := o.a.short()
	after := event.ID(0)
	if o.a.req.AfterEventID != nil {
		after = *o.a.req.AfterEventID
	} else {
		o.header(&b)
	}
	if b.Len() > limit/2 { // what follows has a line at least
		text := cutLines(b.String(), limit/2)
		b.Reset()
		b.WriteString(text)
	}
	rows := o.rows(after)
	for _, r := range rows {
		res.TotalCount += r.n
	}
	shown := int64(0)
	for i, r := range rows {
		text := cut(r.text, max(limit-b.Len()-20, 100))
		if b.Len()+len(text) > limit && i > 0 {
			res.HasMore = true
			break
		}
		b.WriteString(text + "\n")
		res.LastEventID = r.last
		shown += r.n
	}
	if res.Text = b.String(); res.HasMore {
		notes = append(notes, fmt.Sprintf("%d of %d begins and ends of calls are shown; afterEventId %d goes on.", shown,
			res.TotalCount, res.LastEventID))
	} else {
		res.LastEventID = o.a.sn.LastID()
	}
	if o.more > 0 {
		notes = append(notes, fmt.Sprintf("%d more uses were not looked at; timeFrom or threadId select others.", o.more))
	}
	return notes
}
