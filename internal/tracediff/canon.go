package tracediff

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// canon knows what of one side's values differs from run to run: its processes' and threads' ids, the times within it,
// its addresses. An address counts by its place among those of the same event, since all of these are alive at that
// moment; between events an allocator gives the same address to other objects, in another order each time.
type canon struct {
	ids   map[int64]bool
	times []window
	addrs []uint64 // of the present event, in the order in which they occur
	cut   bool     // a value of the present event was cut when it was recorded or rendered
}

// window is the time of the recording in one unit.
type window struct {
	least, most int64
	unit        int
}

// slack is how far a time may lie outside the recording: a program starts before its first event.
const slack = 2 * time.Second

func newCanon(st *store.Store, sn *store.Snapshot) *canon {
	c := &canon{ids: map[int64]bool{}}
	for _, t := range sn.Threads() {
		c.ids[int64(t.PID)], c.ids[int64(t.TID)] = true, true
	}
	delete(c.ids, 0)
	m := st.Meta()
	if m.StartedAt > 0 {
		from, to := m.StartedAt-int64(slack), max(st.Result().EndedAt, m.StartedAt+sn.LastTS())+int64(slack)
		for unit, per := range []int64{1, 1000, 1_000_000, 1_000_000_000} {
			c.times = append(c.times, window{from / per, to / per, unit})
		}
	}
	if m.StartMono > int64(time.Hour) { // on a machine that just started it is too near to other numbers
		c.times = append(c.times, window{m.StartMono - int64(slack), m.StartMono + sn.LastTS() + int64(slack), len(c.times)})
	}
	return c
}

// begin forgets the addresses of the event before.
func (c *canon) begin() { c.addrs, c.cut = c.addrs[:0], false }

// ordinal is the place of an address among those of the event.
func (c *canon) ordinal(a uint64) uint64 {
	for i, have := range c.addrs {
		if have == a {
			return uint64(i)
		}
	}
	c.addrs = append(c.addrs, a)
	return uint64(len(c.addrs) - 1)
}

// What a number or an address stands for.
const (
	tokenNone = iota
	tokenAddress
	tokenID
	tokenTime
)

// sureID is the least process id that no count is likely to be; smaller ones count as ids where their name says so.
const sureID = 1000

// token tells numbers that differ from run to run: what they are, and which of these.
func (c *canon) token(v value.Value, name string) (what int, n uint64) {
	if a, ok := v.Address(); ok {
		return tokenAddress, c.ordinal(a)
	}
	if v.Kind() != value.Int {
		return tokenNone, 0
	}
	i, ok := v.Int64()
	if !ok {
		return tokenNone, 0
	}
	return c.number(i, name)
}

func (c *canon) number(i int64, name string) (what int, n uint64) {
	switch {
	case c.ids[i] && (i >= sureID || idName(name)):
		return tokenID, 0
	case addressLike(i):
		return tokenAddress, c.ordinal(uint64(i))
	}
	for _, w := range c.times {
		if i >= w.least && i <= w.most {
			return tokenTime, uint64(w.unit)
		}
	}
	return tokenNone, 0
}

// addressLike reports whether an integer looks like an address of a position-independent program, its heap, its
// libraries or its stacks, as Linux places them: pthread_t is one.
func addressLike(i int64) bool {
	switch i >> 40 {
	case 0x55, 0x56, 0x7e, 0x7f:
		return true
	}
	return false
}

func idName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pid") || strings.Contains(name, "tid") || strings.Contains(name, "thread")
}

// volatile finds what in text may differ from run to run: hexadecimal addresses, temporary names, the folders of test
// runs, times of day, and numbers that may be ids or addresses.
var volatile = regexp.MustCompile(
	`0x[0-9a-fA-F]{6,16}\b|(?:/var)?/tmp/[^\s/:"']+|/dev/shm/[^\s/:"']+|\btest-\d{4}-\d\d-\d\d-\d\dh\d\d-[0-9a-f]{8}` +
		`|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?|\b\d{3,19}\b`)

// text is text without what differs from run to run.
func (c *canon) text(s string) string {
	if !mayVary(s) {
		return s
	}
	return volatile.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case strings.HasPrefix(m, "0x"):
			return "0x#"
		case m[0] == '/':
			return m[:strings.LastIndexByte(m, '/')+1] + "#"
		case strings.HasPrefix(m, "test-"):
			return "test-#"
		case len(m) > 10 && m[4] == '-':
			at, err := time.ParseInLocation("2006-01-02 15:04:05", strings.Replace(m[:19], "T", " ", 1), time.UTC)
			if err == nil && len(c.times) > 0 && at.UnixNano() > c.times[0].least-int64(24*time.Hour) &&
				at.UnixNano() < c.times[0].most+int64(24*time.Hour) {
				return "#time" // of any time zone
			}
			return m
		}
		if n, err := strconv.ParseInt(m, 10, 64); err == nil && m[0] != '0' {
			if addressLike(n) {
				return "#address"
			}
			if what, _ := c.number(n, ""); what != tokenNone {
				return "#" + strconv.Itoa(what)
			}
		}
		return m
	})
}

// mayVary is a quick look for what volatile finds.
func mayVary(s string) bool {
	digits := 0
	for i := range len(s) {
		switch ch := s[i]; {
		case ch >= '0' && ch <= '9':
			if digits++; digits == 3 {
				return true
			}
		case ch == 'x' && digits > 0:
			return true
		default:
			digits = 0
		}
	}
	return strings.Contains(s, "/tmp/") || strings.Contains(s, "/dev/shm/")
}

// view is how the values of one function are looked at.
type view struct {
	unordered bool            // it has collections without an order: arrays are sets
	masked    map[string]bool // paths that are not compared, without indexes; nil: none
}

// hash adds a value to h. Two values with the same hash are the same by meaning; others may be, too, which same
// decides.
func (c *canon) hash(h uint64, v value.Value, name, path string, w *view) uint64 {
	if w.masked != nil && w.masked[path] {
		return h
	}
	if what, n := c.token(v, name); what != tokenNone {
		return mix(mix(h, uint64(what)<<32|1), n)
	}
	switch v.Kind() {
	case value.Int:
		if i, ok := v.Int64(); ok {
			return mix(h, uint64(i))
		}
		return mixText(h, string(v.AppendJSON(nil)))
	case value.Text, value.Marker:
		s := v.Text()
		c.cut = c.cut || strings.HasSuffix(s, " bytes)") && strings.Contains(s, "…(+")
		return mixText(mix(h, 2), c.text(s))
	case value.Array:
		return c.hashArray(h, v, path, w)
	case value.Obj:
		var sum uint64
		for _, m := range v.Object() {
			sum += c.hash(mixText(3, m.Name), m.Value, m.Name, child(w, path, m.Name), w)
		}
		return mix(h, sum)
	}
	return mixText(mix(h, 4), string(v.AppendJSON(nil)))
}

func (c *canon) hashArray(h uint64, v value.Value, path string, w *view) uint64 {
	elems, more := v.Elems()
	if !w.masked[path+"[].length"] {
		h = mix(h, uint64(len(elems)+more))
	}
	c.cut = c.cut || more > 0
	if w.unordered && more > 0 { // which of them are shown is left to chance
		return h
	}
	inner := child(w, path, "[]")
	var sum uint64
	for _, e := range elems {
		if w.unordered {
			sum += c.hash(5, e, "", inner, w)
		} else {
			h = c.hash(h, e, "", inner, w)
		}
	}
	return mix(h, sum)
}

// child is the path of a part. Paths are only wanted where some are masked.
func child(w *view, path, name string) string {
	switch {
	case w.masked == nil:
		return ""
	case path == "" || name == "[]":
		return path + name
	}
	return path + "." + name
}
