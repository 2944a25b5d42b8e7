package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// askedWidth bounds one field of a call where whole values were not asked for.
const askedWidth = 400

// fieldViews take fields: of table they are its columns, of the others what is shown of each call, and nothing else.
var fieldViews = []string{"events", "tree", "table"}

// asked are the fields of a question, computed call by call.
type asked struct {
	fields []askedField
	width  int
}

type askedField struct {
	name string
	c    *checker
	had  bool // some call has it
}

// askedFields returns nil where the question names none.
func (a *asker) askedFields() (*asked, error) {
	if len(a.req.Fields) == 0 {
		return nil, nil
	}
	w := &asked{width: askedWidth}
	if a.req.Verbose {
		w.width = maxVerbose
	}
	for _, f := range a.req.Fields {
		if err := checkLength("fields", f); err != nil {
			return nil, err
		}
		w.fields = append(w.fields, askedField{name: f, c: newChecker(a, claim{holds: f}, nil)})
	}
	if len(w.fields) > maxEndWords {
		return nil, invalid("fields", "Ask in two questions.", "%d fields, the limit is %d", len(w.fields), maxEndWords)
	}
	return w, nil
}

// of returns what a call has of the fields: those that are known when it begins, and those that are at its end. One of
// enter and exit may be nil; who has both gives an enter whose values can be read.
func (w *asked) of(enter, exit *store.Row) (before, after value.Object) {
	first := enter
	if first == nil {
		first = exit
	}
	for i := range w.fields {
		f := &w.fields[i]
		f.c.call.enter = first
		k := f.c.of(first.Func)
		lookup := f.c.lookup(k, first, exit)
		v, ok := value.Value{}, false
		if k.err == nil {
			got, err := k.holds.Recorded(lookup)
			v, ok = got, err == nil
		} else { // a path that is no expression, such as $class
			v, ok = f.c.resolve(k, f.name)(&f.c.call)
		}
		if !ok {
			continue
		}
		f.had = true
		switch m := (value.Member{Name: f.name, Value: v}); {
		case k.atEnd:
			after = append(after, m)
		case enter != nil:
			before = append(before, m)
		}
	}
	return before, after
}

// short is what a summary shows of them.
func (w *asked) short(o value.Object) value.Object {
	for i := range o {
		o[i].Value = inShort(o[i].Value, w.width)
	}
	return o
}

// text writes those that are known at a call's end.
func (w *asked) text(after value.Object) string {
	if len(after) == 0 {
		return ""
	}
	if len(after) == 1 && after[0].Name == "result" {
		return " → " + after[0].Value.Short(w.width)
	}
	return " → [" + after.Short(w.width) + "]"
}

// notes says which fields no call has that was looked at.
func (w *asked) notes() []string {
	if w == nil {
		return nil
	}
	var none []string
	for _, f := range w.fields {
		if !f.had {
			none = append(none, f.name)
		}
	}
	if len(none) == 0 {
		return nil
	}
	why := ""
	if _, err := expr.ParseRecorded(none[0], ""); err != nil {
		why = fmt.Sprintf(" (%v)", err)
	}
	return []string{"No call that is shown has " + strings.Join(none, ", ") + why +
		": view table without fields names what there is."}
}
