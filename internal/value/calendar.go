package value

import (
	"fmt"
	"strings"
	"time"
)

// Names of the fields of a ClassCalendar: what each number says. Those that are not there are not shown.
const (
	YearAndFlags  = "year, day of the year, flags"     // from bit 13 on, 4 to 12, 0 to 3
	YearAndLeap   = "year, leap year, day of the year" // from bit 10 on, 9, 0 to 8
	YearAndDay    = "year, day of the year"            // from bit 9 on, 0 to 8
	SecondOfDay   = "second of the day"
	HourOfDay     = "hour"
	MinuteOfHour  = "minute"
	SecondOfTime  = "second"
	NanoOfSecond  = "nanosecond" // a billion and more of a leap second
	ZoneUTC       = "UTC"        // no number
	ZoneEast      = "seconds east, to be added"
	OffsetHours   = "hours east" // of a time that has them in it
	OffsetMinutes = "minutes east"
	OffsetSeconds = "seconds east"
	GoWall        = "wall" // of Go's time.Time, with the one behind it
	GoExt         = "ext"
)

// calendar shows a date, a time of a day, an offset from UTC, or what of them there is, as RFC 3339 does. Numbers that
// are none of a calendar's are shown as they are.
func (r *renderer) calendar(t *Type, v view) Value {
	if len(t.Fields) == 2 && t.Fields[0].Name == GoWall {
		return r.goTime(v)
	}
	n := map[string]int64{}
	var raw Object
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Type < 0 {
			n[f.Name] = 0
			continue
		}
		m := r.member(f, v.at(f.Off), 1)
		if m.kind == Marker {
			return m
		}
		x, ok := m.Int64()
		if !ok {
			return Unreadable
		}
		n[f.Name] = x
		raw = append(raw, Member{f.Name, m})
	}
	if s, ok := calendarText(n); ok {
		return NewText(s)
	}
	return NewObject(raw)
}

func calendarText(n map[string]int64) (s string, ok bool) {
	year, day, dated := yearAndDay(n)
	hour, timed := n[HourOfDay]
	sec, nano := hour*3600+n[MinuteOfHour]*60+n[SecondOfTime], n[NanoOfSecond]
	valid := 0 <= hour && hour < 24 && below(n[MinuteOfHour], 60) && below(n[SecondOfTime], 60)
	if s, ok := n[SecondOfDay]; ok {
		sec, timed, valid = s, true, below(s, 86400)
	}
	leap := int64(0)
	if nano >= 1e9 {
		leap, nano = 1, nano-1e9
	}
	east, zoned := n[ZoneEast]
	if !valid || !below(nano, 1e9) || dated && (day < 1 || day > 366) || east <= -86400 || east >= 86400 {
		return "", false
	}
	var b strings.Builder
	if dated {
		at := time.Date(int(year), 1, 1, 0, 0, int(sec+east), 0, time.UTC).AddDate(0, 0, int(day-1))
		writeDate(&b, at)
		sec = int64(at.Hour()*3600 + at.Minute()*60 + at.Second())
		if timed {
			b.WriteByte('T')
		}
	}
	if timed {
		fmt.Fprintf(&b, "%02d:%02d:%02d", sec/3600, sec/60%60, sec%60+leap)
		if nano > 0 {
			b.WriteString("." + strings.TrimRight(fmt.Sprintf("%09d", nano), "0"))
		}
	}
	_, utc := n[ZoneUTC]
	if h, ok := n[OffsetHours]; ok {
		if h < -25 || h > 25 || !below(abs(n[OffsetMinutes]), 60) || !below(abs(n[OffsetSeconds]), 60) {
			return "", false
		}
		east, zoned = h*3600+n[OffsetMinutes]*60+n[OffsetSeconds], true
		utc = east == 0 && timed
	}
	if utc {
		b.WriteByte('Z')
	} else if zoned {
		writeOffset(&b, east)
	}
	return b.String(), b.Len() > 0
}

func below(n, limit int64) bool { return 0 <= n && n < limit }

func abs(n int64) int64 { return max(n, -n) }

func yearAndDay(n map[string]int64) (year, day int64, ok bool) {
	if d, ok := n[YearAndFlags]; ok {
		return d >> 13, d >> 4 & 0x1ff, true
	}
	if d, ok := n[YearAndLeap]; ok {
		return d >> 10, d & 0x1ff, true
	}
	d, ok := n[YearAndDay]
	return d >> 9, d & 0x1ff, ok
}

// writeDate writes a year of more than four digits, or before the year 0, with its sign.
func writeDate(b *strings.Builder, at time.Time) {
	form := "%04d"
	if at.Year() < 0 || at.Year() > 9999 {
		form = "%+05d"
	}
	fmt.Fprintf(b, form+"-%02d-%02d", at.Year(), at.Month(), at.Day())
}

func writeOffset(b *strings.Builder, east int64) {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	b.WriteByte(sign)
	fmt.Fprintf(b, "%02d:%02d", east/3600, east/60%60)
	if s := east % 60; s > 0 {
		fmt.Fprintf(b, ":%02d", s)
	}
}

// uuid shows 16 bytes as a UUID is written.
func (r *renderer) uuid(v view) Value {
	b, state := r.bytes(v, 16)
	if state != chunkOK {
		return markerOf(state)
	}
	s := fmt.Sprintf("%x", b)
	return NewText(s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:])
}

// Go's time.Time counts seconds from the first of January of year 1; with a reading of the monotonic clock those of 33
// bits of wall are from 1885.
const (
	goMonotonic = 1 << 63
	goNanos     = 1<<30 - 1
	daysTo1885  = 1884*365 + 1884/4 - 1884/100 + 1884/400
	daysTo1970  = 1969*365 + 1969/4 - 1969/100 + 1969/400
)

// goTime shows a time.Time in UTC: which zone it is of is behind a pointer.
func (r *renderer) goTime(v view) Value {
	b, state := r.bytes(v, 16)
	if state != chunkOK || len(b) < 16 {
		return markerOf(state)
	}
	wall, ext := word(b, 0), int64(word(b, 1))
	if wall&goMonotonic != 0 {
		ext = int64(wall<<1>>31) + daysTo1885*86400
	}
	at := time.Unix(ext-daysTo1970*86400, int64(wall&goNanos)).UTC()
	if y := at.Year(); y < -999_999 || y > 999_999 {
		return NewInt(ext)
	}
	return NewText(at.Format(time.RFC3339Nano))
}
