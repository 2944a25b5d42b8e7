package query

import (
	"strconv"
	"strings"
)

// duration shows nanoseconds with three digits: 850ns, 1.23ms, 12.3s.
func duration(ns int64) string {
	v, unit := float64(ns), "ns"
	switch {
	case ns < 1000 && ns > -1000:
		return strconv.FormatInt(ns, 10) + unit
	case ns < 999_500:
		v, unit = v/1e3, "µs"
	case ns < 999_500_000:
		v, unit = v/1e6, "ms"
	default:
		v, unit = v/1e9, "s"
	}
	digits := 2
	if v >= 9.995 {
		digits = 1
	}
	if v >= 99.95 {
		digits = 0
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + unit
}

// plural is "1 call", "2 calls".
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}
