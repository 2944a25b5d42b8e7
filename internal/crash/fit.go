package crash

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/value"
)

const (
	frameLeast   = 160 // bytes of a frame's values that it keeps at least
	sharedLeast  = 64  // bytes of a value that is worth a reference
	foldedFrames = 4   // frames in a row that are worth a fold
	maxPeriod    = 4   // functions that call each other in a circle
)

// Fit shortens a crash event, one member after the other in their order: frames of a recursion fold, a value that an
// earlier frame has is named instead of shown again, and what is still too large is cut, the outer frames first.
type Fit struct {
	limit  int
	shared sharing
}

// NewFit shortens to about limit bytes.
func NewFit(limit int) *Fit { return &Fit{limit, sharing{}} }

// Member shortens one member and reports whether anything changed.
func (f *Fit) Member(name string, v value.Value) (value.Value, bool) {
	switch name {
	case "locals":
		v, cut := v.Fit(f.limit / 4)
		f.shared.note(v.Object(), "locals")
		return v, cut
	case "backtrace":
		v, folded := foldFrames(v)
		v, referred := f.shared.frames(v)
		v, cut := fitFrames(v, f.limit*5/8)
		return v, cut || folded || referred
	case "threads", "report":
		return v.Fit(f.limit / 4)
	}
	if len(v.AppendJSON(nil)) > f.limit/8 {
		return v.Fit(f.limit / 8)
	}
	return v, false
}

// sharing knows where a value was shown first.
type sharing map[string]string

// note remembers an object's members.
func (s sharing) note(o value.Object, where string) {
	for _, m := range o {
		if text := string(m.Value.AppendJSON(nil)); len(text) >= sharedLeast && s[text] == "" {
			s[text] = m.Name + " in " + where
		}
	}
}

// frames replaces values that were shown before.
func (s sharing) frames(v value.Value) (value.Value, bool) {
	elems, more := v.Elems()
	out, changed := make([]value.Value, len(elems)), false
	for i, e := range elems {
		frame := append(value.Object{}, e.Object()...)
		where := "frame ?"
		if n, ok := frame.Get("frame"); ok {
			where = "frame " + n.Short(20)
		}
		for j, m := range frame {
			if m.Name != "arguments" && m.Name != "locals" {
				continue
			}
			vars := append(value.Object{}, m.Value.Object()...)
			for k, x := range vars {
				text := string(x.Value.AppendJSON(nil))
				if len(text) < sharedLeast {
					continue
				}
				if first := s[text]; first != "" {
					vars[k].Value, changed = value.NewText("<same as "+first+">"), true
				} else {
					s[text] = x.Name + " in " + where
				}
			}
			frame[j].Value = value.NewObject(vars)
		}
		out[i] = value.NewObject(frame)
	}
	return value.NewArray(out, more), changed
}

// foldFrames replaces the middle of a recursion by a word on it.
func foldFrames(v value.Value) (value.Value, bool) {
	elems, more := v.Elems()
	place := make([]string, len(elems))
	for i, e := range elems {
		o := e.Object()
		for _, name := range []string{"function", "line", "sourceFile", "file"} {
			if m, ok := o.Get(name); ok {
				place[i] += m.Short(400) + "\x00"
			}
		}
	}
	var out []value.Value
	folded := false
	for i := 0; i < len(elems); {
		period, times := recursion(place[i:])
		if period*(times-2) < foldedFrames {
			out = append(out, elems[i])
			i++
			continue
		}
		end := i + period*times
		out = append(out, elems[i:i+period]...)
		out = append(out, foldOf(elems[i+period:end-period], period, i))
		i, folded = end-period, true
		out = append(out, elems[i:end]...)
		i = end
	}
	return value.NewArray(out, more), folded
}

// recursion returns how many functions the stack begins with that repeat, and how often.
func recursion(place []string) (period, times int) {
	period, times = 1, 1
	for p := 1; p <= maxPeriod && 2*p <= len(place); p++ {
		n := p
		for n < len(place) && place[n] == place[n-p] && place[n] != "" {
			n++
		}
		if n/p*p > period*times && n/p >= 3 {
			period, times = p, n/p
		}
	}
	return period, times
}

// foldOf stands for frames of a recursion: how many there are, and between what their numbers vary.
func foldOf(frames []value.Value, period, like int) value.Value {
	outer, _ := frames[len(frames)-1].Object().Get("frame")
	last := outer.Short(20)
	what := fmt.Sprintf("%d frames like frame %d", len(frames), like)
	if period > 1 {
		what = fmt.Sprintf("%d frames, %d times those from frame %d on", len(frames), len(frames)/period, like)
	}
	n, _ := frames[0].Object().Get("frame")
	o := value.Object{{Name: "frame", Value: n}, {Name: "folded", Value: value.NewText(what + ", up to frame " + last)}}
	if period > 1 {
		return value.NewObject(o)
	}
	var ranges []argRange
	for i := range frames {
		args, _ := frames[i].Object().Get("arguments")
		for k, m := range args.Object() {
			if len(ranges) <= k {
				ranges = append(ranges, argRange{name: m.Name, all: true})
			}
			if ranges[k].name == m.Name && m.Value.Kind() == value.Int {
				ranges[k].add(m.Value)
			}
		}
	}
	var vary value.Object
	for i := range ranges {
		if r := &ranges[i]; r.n > 0 && r.all {
			vary = append(vary, value.Member{Name: r.name, Value: value.NewText(fmt.Sprintf("%d..%d", r.lo, r.hi))})
		}
	}
	if len(vary) > 0 {
		o = append(o, value.Member{Name: "arguments", Value: value.NewObject(vary)})
	}
	return value.NewObject(o)
}

// argRange is between what an argument varies.
type argRange struct {
	name   string
	n      int
	all    bool // each fits 64 bits
	lo, hi int64
}

func (r *argRange) add(v value.Value) {
	i, ok := v.Int64()
	if r.n++; r.n == 1 {
		r.lo, r.hi = i, i
	}
	r.lo, r.hi, r.all = min(r.lo, i), max(r.hi, i), r.all && ok
}

// fitFrames cuts the values of frames, those of the inner ones last.
func fitFrames(v value.Value, limit int) (value.Value, bool) {
	elems, more := v.Elems()
	out, cut := make([]value.Value, len(elems)), false
	for i, e := range elems {
		frame := append(value.Object{}, e.Object()...)
		for j, m := range frame {
			if m.Name != "arguments" && m.Name != "locals" {
				continue
			}
			fitted, c := m.Value.Fit(max(limit/4, frameLeast))
			frame[j].Value, cut = fitted, cut || c
			limit -= len(fitted.AppendJSON(nil))
		}
		out[i] = value.NewObject(frame)
	}
	return value.NewArray(out, more), cut
}
