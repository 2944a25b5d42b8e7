package capture

import (
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// rustDuration is Duration: seconds and nanoseconds.
var rustDuration = &formatter{
	name:  "rust Duration",
	match: rustType("Duration"),
	form:  func(f *form) bool { return rustTime(f, value.ClassDuration, "secs", "nanos") },
}

// rustInstant is Instant: the time that the system's steady clock had run for.
var rustInstant = &formatter{
	name:  "rust Instant",
	match: func(name string) bool { return name == "std::time::Instant" },
	form:  func(f *form) bool { return rustTime(f, value.ClassDuration, "tv_sec", "tv_nsec") },
}

// rustSystemTime is SystemTime: seconds and nanoseconds since 1970.
var rustSystemTime = &formatter{
	name:  "rust SystemTime",
	match: func(name string) bool { return name == "std::time::SystemTime" },
	form:  func(f *form) bool { return rustTime(f, value.ClassTime, "tv_sec", "tv_nsec") },
}

func rustTime(f *form, class value.Class, seconds, nanos string) bool {
	sec, st, ok := rustMember(f.T, seconds)
	if !ok || st.Kind != symbol.KindBase || sizeOf(st) != 8 {
		return false
	}
	nsec, nt, ok := rustMember(f.T, nanos)
	if !ok {
		return false
	}
	if nt.Kind != symbol.KindBase { // the type that says that there are less than a billion
		inner, t, ok := rustFind(nt, func(_ string,
			m *symbol.Type) bool {
			return m.Kind == symbol.KindBase && sizeOf(m) == 4
		})
		if !ok {
			return false
		}
		nsec, nt = nsec+inner, t
	}
	f.V.Class = class
	f.V.Fields = []value.TypeField{{Type: f.Elem(st), Off: uint32(sec)}, {Type: f.Elem(nt), Off: uint32(nsec)}}
	f.P.Return()
	return true
}
