package expr

import (
	"errors"
	"testing"

	"github.com/strobe-debug/strobe/internal/value"
)

// TestRecorded: what was recorded means what the expression language says, and what was not is said by name.
func TestRecorded(t *testing.T) {
	var o value.Object
	if err := o.UnmarshalJSON([]byte(`{"n":7,"big":9223372036854775807,"f":2.5,"s":"abc","p":{"x":-3,"next":null,"v":[1,2,3]},
		"ok":true,"zero":0,"out":{"p":{"x":4}}}`)); err != nil {
		t.Fatal(err)
	}
	o = append(o, value.Member{Name: "gone", Value: value.OptimizedOut})
	for _, c := range []struct{ source, want, untold string }{
		{"n > 3 && p.x < 0", "true", ""},
		{"n / 2 == 3 and n % 2 == 1", "true", ""},
		{"p->v[1] + p.v[2]", "5", ""},
		{"p.v[n - 5]", "3", ""},
		{"len(s) + p.v.size()", "6", ""},
		{"big + 1 > big", "true", ""}, // exact where 64 bits are not enough, too
		{"f * 2", "5", ""},
		{"ok == 1 and not zero", "true", ""},
		{"p.next == null", "true", ""},
		{"s == \"abc\" ? n : 0", "7", ""},
		{"-p.x", "3", ""},
		{"(*p).x", "-3", ""},
		{"out.p.x - p.x == 7", "true", ""},
		{"zero == 1 && nosuch > 2", "false", ""},
		{"n == 7 || gone", "true", ""},
		{"p.next.x == 1", "", "p.next is null"},
		{"gone > 1", "", "gone is <optimized out>"},
		{"nosuch > 1", "", "nosuch was not recorded"},
		{"p.y > 1", "", "p.y was not recorded"},
		{"n / zero", "", "it divides by zero"},
		{"s < n", "", `"abc" < 7 has no order`},
		{"p.v[9]", "", "p.v has no element 9"},
	} {
		syntax, err := Parse(c.source, "")
		if err != nil {
			t.Fatalf("Parse(%s) = %v", c.source, err)
		}
		v, err := syntax.Recorded(o.Path)
		var u *Untold
		switch {
		case c.untold != "":
			if !errors.As(err, &u) || u.Reason != c.untold {
				t.Errorf("%s = %v, %v, want %s", c.source, v, err, c.untold)
			}
		case err != nil || v.Short(40) != c.want:
			t.Errorf("%s = %v, %v, want %s", c.source, v.Short(40), err, c.want)
		}
	}
	cast, err := Parse("(long)n", "")
	if err != nil {
		t.Fatal(err)
	}
	var bad *Error
	if _, err := cast.Recorded(o.Path); !errors.As(err, &bad) {
		t.Errorf("a cast of what was recorded gives %v", err)
	}
}
