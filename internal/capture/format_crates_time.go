package capture

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// moment is one number of a date or time: what it says, and the members that lead to it, each at any depth in the one
// before.
type moment struct {
	says string
	path []string
}

// calendar makes a formatter that shows numbers of a type as a date, a time, or both.
func calendar(name string, match func(string) bool, parts func(t *symbol.Type) []moment) *formatter {
	return &formatter{name: name, match: match, form: func(f *form) bool {
		f.V.Class = value.ClassCalendar
		for _, m := range parts(f.T) {
			if m.path == nil {
				f.V.Fields = append(f.V.Fields, value.TypeField{Name: m.says, Type: -1})
				continue
			}
			off, t, ok := numberIn(f.T, m.path)
			if !ok {
				return false
			}
			f.V.Fields = append(f.V.Fields, value.TypeField{Name: m.says, Type: f.Elem(t), Off: uint32(off)})
		}
		f.P.Return()
		return len(f.V.Fields) > 0
	}}
}

// numberIn finds the number that a path leads to, whatever wraps it.
func numberIn(t *symbol.Type, path []string) (off int64, found *symbol.Type, ok bool) {
	for _, name := range path {
		o, m, ok := rustMember(t, name)
		if !ok {
			return 0, nil, false
		}
		off, t = off+o, m
	}
	if t.Kind == symbol.KindBase {
		return off, t, true
	}
	o, t, ok := rustFind(t, func(_ string, m *symbol.Type) bool { return m.Kind == symbol.KindBase && sizeOf(m) > 0 })
	return off + o, t, ok
}

// under puts members before the paths of what is in them.
func under(member string, parts []moment) []moment {
	out := make([]moment, len(parts))
	for i, p := range parts {
		out[i] = moment{p.says, append([]string{member}, p.path...)}
	}
	return out
}

func only(parts []moment) func(*symbol.Type) []moment {
	return func(*symbol.Type) []moment { return parts }
}

// chrono's: {yof}, {secs, frac}, {date, time}, {datetime, offset}; the time is UTC, and the offset a type of its own.
var (
	chronoDates   = []moment{{value.YearAndFlags, []string{"yof"}}}
	chronoTimes   = []moment{{value.SecondOfDay, []string{"secs"}}, {value.NanoOfSecond, []string{"frac"}}}
	chronoOffsets = []moment{{value.ZoneEast, []string{"local_minus_utc"}}}

	chronoDate   = calendar("chrono NaiveDate", crateType("chrono", "NaiveDate"), only(chronoDates))
	chronoTime   = calendar("chrono NaiveTime", crateType("chrono", "NaiveTime"), only(chronoTimes))
	chronoOffset = calendar("chrono FixedOffset", crateType("chrono", "FixedOffset"), only(chronoOffsets))
	chronoNaive  = calendar("chrono NaiveDateTime", crateType("chrono", "NaiveDateTime"), func(*symbol.Type) []moment {
		return append(under("date", chronoDates), under("time", chronoTimes)...)
	})
	chronoDateTime = calendar("chrono DateTime", crateType("chrono", "DateTime"), func(t *symbol.Type) []moment {
		parts := append(under("date", chronoDates), under("time", chronoTimes)...)
		if _, _, ok := rustMember(t, "local_minus_utc"); ok {
			return append(parts, chronoOffsets...)
		}
		return append(parts, moment{says: value.ZoneUTC}) // that of another zone is shown in UTC
	})
	chronoDelta = &formatter{
		name: "chrono TimeDelta",
		match: func(name string) bool {
			return name == "chrono::time_delta::TimeDelta" || name == "chrono::duration::Duration"
		},
		form: func(f *form) bool { return rustTime(f, value.ClassDuration, "secs", "nanos") },
	}
)

// time's: {value}, {nanosecond, second, minute, hour, padding}, {hours, minutes, seconds}, {date, time},
// {local_date_time, offset}.
var (
	timeTimes = []moment{
		{value.HourOfDay, []string{"hour"}}, {value.MinuteOfHour, []string{"minute"}},
		{value.SecondOfTime, []string{"second"}},
		{value.NanoOfSecond, []string{"nanosecond"}},
	}
	timeOffsets = []moment{
		{value.OffsetHours, []string{"hours"}}, {value.OffsetMinutes, []string{"minutes"}},
		{value.OffsetSeconds, []string{"seconds"}},
	}

	timeDate   = calendar("time Date", crateType("time", "Date"), timeDates)
	timeTime   = calendar("time Time", crateType("time", "Time"), only(timeTimes))
	timeOffset = calendar("time UtcOffset", crateType("time", "UtcOffset"), only(timeOffsets))
	timePlain  = calendar("time PrimitiveDateTime", crateType("time", "PrimitiveDateTime", "PlainDateTime"), timePlains)
	timeStamp  = calendar("time OffsetDateTime", crateType("time", "OffsetDateTime"), func(t *symbol.Type) []moment {
		return append(timePlains(t), under("offset", timeOffsets)...)
	})
	timeUTC = calendar("time UtcDateTime", crateType("time", "UtcDateTime"), func(t *symbol.Type) []moment {
		return append(timePlains(t), moment{says: value.ZoneUTC})
	})
	timeSpan = &formatter{
		name: "time Duration",
		match: func(name string) bool {
			return name == "time::signed_duration::SignedDuration" || name == "time::duration::Duration"
		},
		form: func(f *form) bool { return rustTime(f, value.ClassDuration, "seconds", "nanoseconds") },
	}
)

func timePlains(t *symbol.Type) []moment {
	return append(under("date", timeDates(t)), under("time", timeTimes)...)
}

func timeDates(t *symbol.Type) []moment {
	says := value.YearAndLeap
	if oldTime(t) {
		says = value.YearAndDay
	}
	return []moment{{says, []string{"value"}}}
}

// oldTime reports the crate time before 0.3.38, whose dates have no bit for leap years. Only the path of its source
// says so.
func oldTime(t *symbol.Type) bool {
	for _, file := range t.SourceFiles("src/date.rs") {
		_, version, ok := strings.Cut(file, "/time-0.")
		if !ok {
			continue
		}
		version, _, _ = strings.Cut(version, "/")
		minor, patch, _ := strings.Cut(version, ".")
		n, err := strconv.Atoi(patch)
		return err == nil && (minor != "3" || n < 38)
	}
	return false
}
