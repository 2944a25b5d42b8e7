package pager

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/sorting"
)

const (
	leastText    = 40 // bytes of a text that is worth a place of its own
	leastElement = 80 // of an element that is cut
	shares       = 3  // one element of an array has no more than this part of it, unless there are fewer
)

// piece is what was cut out of one place.
type piece struct {
	in       string // the place: a path, as in results[3].locals
	of       int    // elements or members that it has in all
	elements []json.RawMessage
	at       []int // where they stood
	members  []member
	text     string // the end of a text
	raw      bool   // text is JSON that nothing smaller can be made of
}

// bytes is the size of what is in a piece.
func (p *piece) bytes() int {
	n := len(p.text)
	for _, e := range p.elements {
		n += len(e)
	}
	for i := range p.members {
		n += p.members[i].size()
	}
	return n
}

// cutter collects what it cuts.
type cutter struct{ pieces []piece }

// least is what a value needs at least to stand in its place.
func least(raw json.RawMessage) int {
	switch kind(raw) {
	case '{', '[':
		return min(len(raw), 2)
	case '"':
		return min(len(raw), leastText)
	}
	return len(raw)
}

// cut makes a value fit into room, which is not less than its least.
func (c *cutter) cut(in string, raw json.RawMessage, room int) json.RawMessage {
	if len(raw) <= room {
		return raw
	}
	switch kind(raw) {
	case '{':
		if all, err := members(raw); err == nil {
			return c.object(in, all, room)
		}
	case '[':
		if all, err := elements(raw); err == nil {
			return c.array(in, all, room)
		}
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return c.text(in, s, room)
		}
	}
	return raw
}

// object keeps as many members as have room, the small ones whole.
func (c *cutter) object(in string, all []member, room int) json.RawMessage {
	left, fit := room-2, 0 // the braces
	for i := range all {
		if left -= len(quoted(all[i].name)) + 2 + least(all[i].raw); left < 0 {
			break
		}
		fit++
	}
	left = room - 2
	order := make([]int, fit)
	for i := range order {
		order[i] = i
		left -= len(quoted(all[i].name)) + 2
	}
	sorting.By(order, func(x, y int) int { return len(all[x].raw) - len(all[y].raw) })
	need := 0 // at least, by those that have nothing yet
	for i := range fit {
		need += least(all[i].raw)
	}
	shown, cut := slices.Clone(all[:fit]), make([]cutter, fit)
	for k, i := range order {
		need -= least(all[i].raw)
		part := max(min(left/(fit-k), left-need), least(all[i].raw))
		shown[i].raw = cut[i].cut(under(in, all[i].name), all[i].raw, part)
		left -= len(shown[i].raw)
	}
	for i := range cut { // in the order of the answer
		c.pieces = append(c.pieces, cut[i].pieces...)
	}
	if fit < len(all) {
		c.pieces = append(c.pieces, piece{in: in, of: len(all), members: all[fit:]})
	}
	return joinMembers(shown)
}

// array keeps the elements that say that something is wrong, the first, the last, and more in their order as long as
// there is room.
func (c *cutter) array(in string, all []json.RawMessage, room int) json.RawMessage {
	left := room - 2 // the brackets
	most := max(left/min(len(all), shares), leastElement)
	shown, cut := make([]json.RawMessage, len(all)), make([]cutter, len(all))
	take := func(i int) bool {
		if shown[i] != nil {
			return true
		}
		part := min(left-1, most)
		if part < len(all[i]) && part < max(least(all[i]), leastElement) {
			return false
		}
		shown[i] = cut[i].cut(fmt.Sprintf("%s[%d]", in, i), all[i], part)
		left -= len(shown[i]) + 1
		return true
	}
	for i := range all {
		if odd(all[i]) && !take(i) {
			break
		}
	}
	if take(0) {
		take(len(all) - 1)
	}
	for i := range all {
		if !take(i) {
			break
		}
	}
	var kept []json.RawMessage
	rest := piece{in: in, of: len(all)}
	for i := range all {
		if shown[i] == nil {
			rest.elements, rest.at = append(rest.elements, all[i]), append(rest.at, i)
			continue
		}
		kept = append(kept, shown[i])
		c.pieces = append(c.pieces, cut[i].pieces...)
	}
	if len(rest.at) > 0 {
		c.pieces = append(c.pieces, rest)
	}
	return joinElements(kept)
}

// text keeps the beginning, whole lines where there are some, and says how many bytes follow.
func (c *cutter) text(in, s string, room int) json.RawMessage {
	mark := func(n int) string { return fmt.Sprintf("…(+%d bytes)", n) }
	n := fitting(s, room-len(mark(len(s)))-2)
	if line := strings.LastIndexByte(s[:n], '\n') + 1; line > n/2 {
		n = line
	}
	c.pieces = append(c.pieces, piece{in: in, text: s[n:]})
	return quoted(s[:n] + mark(len(s)-n))
}

// fitting is how many bytes of a text have at most room bytes as JSON, without the quotes.
func fitting(s string, room int) int {
	n, used := 0, 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if used += written(r, size); used > room {
			break
		}
		n += size
	}
	return n
}

// written is how many bytes a character of size bytes has in JSON.
func written(r rune, size int) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return 2
	case '\u2028', '\u2029':
		return 6
	case utf8.RuneError:
		if size == 1 {
			return 6
		}
	}
	if r < ' ' {
		return 6
	}
	return size
}

// under is the path of a member.
func under(in, name string) string {
	if in == "" {
		return name
	}
	return in + "." + name
}

// Words by which an element says that something is wrong with what it tells of.
var (
	oddMembers = []string{"error", "crash", "crashInfo", "failure", "signal", "stuck", "deadlock", "thrown"}
	oddStates  = []string{`"failed"`, `"crashed"`, `"error"`, `"timeout"`, `"stuck"`, `"paused"`, `"killed"`}
	stateNames = []string{"status", "state", "outcome"}
	passNames  = []string{"passed", "done", "ok", "success"}
)

// odd reports whether an element says that something is wrong with what it tells of.
func odd(raw json.RawMessage) bool {
	if kind(raw) != '{' {
		return false
	}
	all, err := members(raw)
	return err == nil && slices.ContainsFunc(all, func(m member) bool {
		v := string(m.raw)
		switch {
		case slices.Contains(oddMembers, m.name):
			return v != "null" && v != `""` && v != "false" && v != "0"
		case slices.Contains(stateNames, m.name):
			return slices.Contains(oddStates, v)
		}
		return v == "false" && slices.Contains(passNames, m.name)
	})
}
