package value

import (
	"encoding/binary"
	"testing"
)

// TestCalendar shows dates and times from the numbers that chrono and time keep.
func TestCalendar(t *testing.T) {
	for _, c := range []struct {
		n    map[string]int64
		want string // "" where they are none
	}{
		{map[string]int64{YearAndFlags: 16581574, SecondOfDay: 86398, NanoOfSecond: 1500000, ZoneUTC: 0},
			"2024-02-29T23:59:58.0015Z"},
		{map[string]int64{YearAndFlags: 16578253, SecondOfDay: 70323, NanoOfSecond: 0, ZoneEast: 19800},
			"2023-12-31T01:02:03+05:30"},
		{map[string]int64{YearAndFlags: 16572461, SecondOfDay: 1800, NanoOfSecond: 0, ZoneEast: -3600},
			"2023-01-01T23:30:00-01:00"},
		{map[string]int64{YearAndFlags: -359243}, "-0044-03-15"},
		{map[string]int64{YearAndFlags: 101132782}, "+12345-06-07"},
		{map[string]int64{YearAndLeap: 2073148}, "2024-02-29"},
		{map[string]int64{YearAndDay: 2024<<9 | 60}, "2024-02-29"},
		{map[string]int64{SecondOfDay: 86399, NanoOfSecond: 1_500_000_000}, "23:59:60.5"},
		{map[string]int64{HourOfDay: 7, MinuteOfHour: 8, SecondOfTime: 9, NanoOfSecond: 10_000}, "07:08:09.00001"},
		{map[string]int64{HourOfDay: 0, MinuteOfHour: 0, SecondOfTime: 0, OffsetHours: 0, OffsetMinutes: 0, OffsetSeconds: 0},
			"00:00:00Z"},
		{map[string]int64{OffsetHours: -1, OffsetMinutes: -30, OffsetSeconds: -5}, "-01:30:05"},
		{map[string]int64{OffsetHours: 0, OffsetMinutes: 0, OffsetSeconds: 0}, "+00:00"},
		{map[string]int64{YearAndFlags: 0}, ""},
		{map[string]int64{HourOfDay: 24}, ""},
		{map[string]int64{SecondOfDay: -1}, ""},
		{map[string]int64{SecondOfDay: 5, NanoOfSecond: 2_000_000_000}, ""},
		{map[string]int64{YearAndFlags: 16581574, ZoneEast: 1 << 40}, ""},
		{map[string]int64{OffsetHours: 100, OffsetMinutes: 0, OffsetSeconds: 0}, ""},
		{nil, ""},
	} {
		if got, ok := calendarText(c.n); got != c.want || ok != (c.want != "") {
			t.Errorf("%v shows as %q, %v, want %q", c.n, got, ok, c.want)
		}
	}
}

// TestSignedSpans shows spans below zero, of which some crates keep both parts below it and some the seconds alone.
func TestSignedSpans(t *testing.T) {
	for _, c := range []struct {
		sec, nanos int64
		want       string
	}{{-2, 500_000_000, "-1.5s"}, {-2, -500_000_000, "-2.5s"}, {0, -1, "-0.000000001s"}, {-1, 0, "-1s"},
		{-1, 1, "-0.999999999s"}, {3, 0, "3s"}, {90, 250_000_000, "90.25s"}} {
		if got := secondsAndNanos(false, c.sec, c.nanos).text; got != c.want {
			t.Errorf("%d s and %d ns show as %q, want %q", c.sec, c.nanos, got, c.want)
		}
	}
}

// TestHeldNumbers shows what a ClassDynamic holds in its own word, and errors of a system.
func TestHeldNumbers(t *testing.T) {
	l := &Layout{Types: []Type{
		{Class: ClassDynamic, Walk: 1, Elem: -1, Size: 8,
			Variants: []Variant{{Type: 1, Values: []uint64{1}}, {Type: -1, Values: []uint64{1}}, {Name: "T", Type: -1},
				{Type: -1}}},
		{Class: ClassErrno, Size: 4, Elem: -1},
	}}
	r := &renderer{l: l}
	for _, c := range []struct {
		n, word uint64
		want    string
	}{{1, 2, `"ENOENT (os error 2)"`}, {1, 41, `"os error 41"`}, {1, 1 << 31, `"os error -2147483648"`},
		{1, 0, `"os error 0"`}, {2, 0, `0`},
		{3, 64, `{"type":"T","value":"<T at 0x40>"}`}, {4, 0, `null`}} {
		b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.n), c.word)
		if got := string(r.dynamic(&l.Types[0], b, view{}, 1).AppendJSON(nil)); got != c.want {
			t.Errorf("variant %d with %d shows as %s, want %s", c.n, c.word, got, c.want)
		}
	}
}
