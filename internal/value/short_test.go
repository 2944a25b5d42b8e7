package value

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// One large argument must not push the others out of a call's line: the argument in question was the one left out.
func TestShortShowsEveryArgument(t *testing.T) {
	big := Object{}
	for i := range 12 {
		big = append(big, Member{fmt.Sprintf("member_number_%d", i), NewText(strings.Repeat("x", 40))})
	}
	o := Object{{"c", NewObject(big)}, {"kind", newName("REQ_GET", 0, 1, false)},
		{"text", NewText(strings.Repeat("y", 500))}, {"n", NewInt(-12345678901)}, {"p", newAddress(0x7fffdeadbeef)}}
	got := o.Short(120)
	for _, want := range []string{"c={", "member_number_0", "kind=REQ_GET", `text="yyyy`, "n=-12345678901",
		"p=0x7fffdeadbeef", "…+"} {
		if !strings.Contains(got, want) {
			t.Errorf("Short = %s, without %s", got, want)
		}
	}
	if len(got) > 140 {
		t.Errorf("Short has %d bytes: %s", len(got), got)
	}
	var many Object
	for i := range 30 {
		many = append(many, Member{fmt.Sprintf("a%d", i), NewInt(int64(i))})
	}
	if got := many.Short(40); !strings.Contains(got, "a29=29") {
		t.Errorf("Short = %s, without the last of 30", got)
	}
}

// randomValue makes any value of at most depth levels.
func randomValue(r *rand.Rand, depth int) Value {
	switch k := r.IntN(8); {
	case k == 0:
		return NewInt(r.Int64() >> r.IntN(63))
	case k == 1:
		return NewText(strings.Repeat("aü\n\"", r.IntN(400)))
	case k == 2:
		return Value{}
	case k == 3 || depth == 0:
		return newAddress(r.Uint64())
	case k < 6:
		var e []Value
		for range r.IntN(40) {
			e = append(e, randomValue(r, depth-1))
		}
		return NewArray(e, r.IntN(3)*100)
	default:
		var o Object
		for i := range r.IntN(30) {
			o = append(o, Member{fmt.Sprintf("m%d", i), randomValue(r, depth-1)})
		}
		return NewObject(o)
	}
}

// TestFitAnyValue: JSON stays valid and near its limit, says that something was cut, and what fits is not touched.
func TestFitAnyValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		v := randomValue(r, 3)
		limit := 40 + r.IntN(4000)
		whole := v.AppendJSON(nil)
		got, cut := v.Fit(limit)
		b := got.AppendJSON(nil)
		if !json.Valid(b) {
			t.Fatalf("not JSON: %s", b)
		}
		if !cut && string(b) != string(whole) {
			t.Fatalf("changed without a word: %s, was %s", b, whole)
		}
		if cut && !strings.Contains(string(b), "…") {
			t.Fatalf("cut from %d to %d bytes, and does not say so: %s", len(whole), len(b), b)
		}
		if len(b) > 2*limit+200 {
			t.Fatalf("%d bytes for a limit of %d (whole %d): %s", len(b), limit, len(whole), b)
		}
		if s := v.Short(limit); len(s) > limit*2+200 {
			t.Fatalf("Short has %d bytes for a limit of %d: %s", len(s), limit, s)
		}
	}
}

// A text that was cut before keeps the count of what is missing in all.
func TestFitAddsToWhatWasCut(t *testing.T) {
	v, cut := NewText(strings.Repeat("a", 100) + "…(+900 bytes)").Fit(60)
	if got := v.Text(); !cut || got != strings.Repeat("a", 42)+"…(+958 bytes)" {
		t.Errorf("Fit = %q, %v", got, cut)
	}
}
