package value

import (
	"math"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	f32 := newFloat32(0.1)
	ext := newX87([]byte{0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40})
	for _, c := range []struct {
		v     Value
		lit   string
		equal bool
		cmp   int
		order bool
	}{
		{NewInt(5), "5", true, 0, true},
		{NewInt(-5), "5", false, -1, true},
		{NewInt(5), "5.0", true, 0, true},
		{NewInt(math.MaxInt64), "9223372036854775808", false, -1, true},
		{NewUint(math.MaxUint64), "18446744073709551615", true, 0, true},
		{NewUint(math.MaxUint64), "1.8446744073709552e19", false, -1, true},
		{newInt128(1<<63, 0, true), "-170141183460469231731687303715884105728", true, 0, true},
		{newInt128(1<<63, 0, false), "170141183460469231731687303715884105728", true, 0, true},
		{f32, "0.1", true, 0, true},
		{NewFloat(0.1), "0.1", true, 0, true},
		{NewFloat(0.1), "0.2", false, -1, true},
		{NewFloat(math.NaN()), "1", false, 0, false},
		{NewFloat(math.NaN()), `"NaN"`, true, 0, false},
		{NewFloat(math.Inf(1)), "1e308", false, 1, true},
		{NewFloat(math.Inf(1)), `"Infinity"`, true, 0, false},
		{ext, "3.1415926535897932385", true, 0, true},
		{NewText("abc"), `"abc"`, true, 0, true},
		{NewText("abc"), `"abd"`, false, -1, true},
		{NewText("5"), "5", false, 0, false},
		{newName("Red", 0, 2, false), `"Red"`, true, 0, true},
		{newName("Red", 0, 2, false), "2", true, 0, true},
		{newAddress(16), `"0x10"`, true, 0, true},
		{newAddress(16), "15", false, 1, true},
		{newAddress(0), "null", true, 0, false},
		{NewInt(0), "null", false, 0, false},
		{NewBool(true), "true", true, 0, false},
		{NewBool(true), "1", false, 0, false},
		{OptimizedOut, `"<optimized out>"`, true, 0, false},
		{OptimizedOut, "0", false, 0, false},
		{NewArray([]Value{NewInt(1), NewInt(2)}, 0), "[1,2]", true, 0, false},
		{NewArray([]Value{NewInt(1)}, 3), "[1]", false, 0, false},
		{NewObject(Object{{"a", NewInt(1)}}), `{"a":1}`, true, 0, false},
		{NewInt(3), "1e-999999999", false, 1, true},
	} {
		lit, err := ParseJSON([]byte(c.lit))
		if err != nil {
			t.Errorf("ParseJSON(%s): %v", c.lit, err)
			continue
		}
		if got := c.v.Equal(lit); got != c.equal {
			t.Errorf("%v equal %s = %v, want %v", c.v, c.lit, got, c.equal)
		}
		if got, ok := c.v.Compare(lit); ok != c.order || got != c.cmp {
			t.Errorf("compare %v with %s = %d, %v; want %d, %v", c.v, c.lit, got, ok, c.cmp, c.order)
		}
	}
	for _, bad := range []string{"", "{", "1 2", "[1,]", "nope"} {
		if v, err := ParseJSON([]byte(bad)); err == nil {
			t.Errorf("ParseJSON(%q) = %v", bad, v)
		}
	}
}

// Keeps out: literals whose exact value costs minutes, because they are long or have a large exponent.
func TestHostileNumbers(t *testing.T) {
	wide := Value{kind: Float, width: 80, f: 1.5, text: "1.5"}
	million := strings.Repeat("9", 1_000_000)
	for lit, above := range map[string]bool{
		"1e-999999999": true, "1e-99999": true, "0." + million + "e-99999999": true, "-1e99999": true, "-1e999999999": true,
		"-" + million: true,
		"1e99999":     false, "1e999999999": false, million: false, million + "." + million: false,
	} {
		l, err := ParseJSON([]byte(lit))
		if err != nil {
			t.Errorf("ParseJSON(%.20s): %v", lit, err)
			continue
		}
		for _, v := range []Value{NewInt(3), NewUint(math.MaxUint64), NewFloat(1.5), newFloat32(1.5), wide,
			newName("Red", 0, 2, false)} {
			if c, ok := v.Compare(l); !ok || c > 0 != above || c == 0 || v.Equal(l) {
				t.Errorf("compare %v with %.20s… = %d, %v; above %v", v, lit, c, ok, above)
			}
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", `"x"`, `{"a":[1,null,true]}`, "1e999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		v, err := ParseJSON(b)
		if err != nil {
			return
		}
		_ = v.String()
		v.Compare(NewInt(3))
		if back, err := ParseJSON(v.AppendJSON(nil)); err != nil {
			t.Fatalf("%s does not read back: %v", v.AppendJSON(nil), err)
		} else if v.Kind() == Text && !back.Equal(v) {
			t.Fatalf("%v reads back as %v", v, back)
		}
	})
}
