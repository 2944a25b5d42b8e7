package value

import (
	"slices"
	"strconv"
	"strings"
)

// fitLeast is what a text, an array or an object keeps at least when Fit has to cut: enough to say what was left out.
const fitLeast = 32

// Fit returns v with texts, arrays and objects cut so that its JSON has about limit bytes, and whether anything was
// cut. The cuts say what is missing: "…(+9 bytes)", "…(+9 elements)", "…": "+9 members". What is small stays whole.
func (v Value) Fit(limit int) (Value, bool) {
	if v.jsonSize(limit) <= limit {
		return v, false
	}
	switch v.kind {
	case Text:
		if v.bare {
			return v, false
		}
		keep := max(limit-18, 8)
		if keep >= len(v.text) {
			return v, false
		}
		whole, more := splitMore(v.text)
		if keep >= len(whole) {
			return v, false
		}
		if n := len(appendQuoted(nil, whole[:keep])) - 2; n > keep { // what has to be escaped takes more
			keep = max(keep*keep/n, 8)
		}
		head := trimPartialRune(whole[:keep])
		return NewText(head + "…(+" + strconv.FormatUint(more+uint64(len(whole)-len(head)), 10) + " bytes)"), true
	case Array:
		return v.fitElems(limit)
	case Obj:
		o, cut := v.obj.Fit(limit)
		return NewObject(o), cut
	}
	return v, false
}

// Fit is Value.Fit of an object's members. All of them stay as long as their names have room.
func (o Object) Fit(limit int) (Object, bool) {
	if NewObject(o).jsonSize(limit) <= limit {
		return o, false
	}
	fit, used := len(o), 2
	for i, m := range o {
		used += len(m.Name) + 4 + min(m.Value.jsonSize(fitLeast), fitLeast)
		if used > limit-20 && i > 0 {
			fit = i
			break
		}
	}
	need, order := make([]int, fit), make([]int, fit)
	room := limit - 2
	if fit < len(o) {
		room -= 24
	}
	for i, m := range o[:fit] {
		room -= len(m.Name) + 4
		need[i], order[i] = m.Value.jsonSize(limit), i
	}
	slices.SortStableFunc(order, func(x, y int) int { return need[x] - need[y] })
	out := make(Object, fit, fit+1)
	cut := fit < len(o)
	for k, i := range order {
		part := min(need[i], max(room/(fit-k), fitLeast))
		v, c := o[i].Value.Fit(part)
		out[i], cut = Member{o[i].Name, v}, cut || c
		room -= min(part, v.jsonSize(part))
	}
	if n := len(o) - fit; n > 0 {
		out = append(out, Member{"…", NewText(moreMembers(n))})
	}
	return out, cut
}

// splitMore takes off what says how many bytes were cut from a text before.
func splitMore(s string) (whole string, more uint64) {
	i := strings.LastIndex(s, "…(+")
	if i < 0 || !strings.HasSuffix(s, " bytes)") {
		return s, 0
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(s[i+len("…(+"):len(s)-len(" bytes)")], "≥"), 10, 64)
	if err != nil {
		return s, 0
	}
	return s[:i], n
}

// fitElems keeps the first elements, each whole where it takes no more than its part of the room.
func (v Value) fitElems(limit int) (Value, bool) {
	out := NewArray(nil, v.more)
	room, cut := limit-24, false
	for i, e := range v.elems {
		if i > 0 && room < min(e.jsonSize(fitLeast), fitLeast) {
			out.more += len(v.elems) - i
			return out, true
		}
		// The first may take half of the room, so that an array of objects shows what they are.
		part := max(room/2, fitLeast)
		if i+1 == len(v.elems) {
			part = max(room, fitLeast)
		}
		w, c := e.Fit(part)
		out.elems, cut = append(out.elems, w), cut || c
		room -= w.jsonSize(limit) + 1
	}
	return out, cut
}

// jsonSize is how many bytes v takes as JSON, or more than limit where it takes more than that.
func (v Value) jsonSize(limit int) int {
	switch v.kind {
	case Array:
		n := 2
		for _, e := range v.elems {
			if n += e.jsonSize(limit-n) + 1; n > limit {
				return n
			}
		}
		if v.more > 0 {
			n += 24
		}
		return n
	case Obj:
		n := 2
		for _, m := range v.obj {
			if n += len(m.Name) + 4 + m.Value.jsonSize(limit-n); n > limit {
				return n
			}
		}
		return n
	case Text, Marker:
		if len(v.text) > limit {
			return len(v.text) + 2
		}
		return len(appendQuoted(nil, v.text))
	}
	return len(v.AppendJSON(nil))
}
