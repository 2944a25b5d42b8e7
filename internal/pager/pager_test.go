package pager

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maker makes random answers in which each leaf is there once.
type maker struct {
	r      *rand.Rand
	next   int
	leaves map[string]bool // as JSON; texts that may be cut, too
}

func (m *maker) id() int { m.next++; return 1_000_000 + m.next }

func (m *maker) leaf(v any) any {
	b, _ := json.Marshal(v)
	m.leaves[string(b)] = true
	return v
}

func (m *maker) text() string {
	var b strings.Builder
	for range m.r.IntN(400) {
		b.WriteString([]string{"word ", "line\n", `"quoted" `, "\\", "übergröße ", "日本 ", "\x01", "\t"}[m.r.IntN(8)])
	}
	return fmt.Sprintf("t%d %s", m.id(), b.String())
}

func (m *maker) value(depth int) any {
	switch k := m.r.IntN(10); {
	case k < 2 && depth > 0:
		var all []any
		for range m.r.IntN([]int{4, 10, 60}[m.r.IntN(3)]) {
			all = append(all, m.value(depth-1))
		}
		return append(all, m.leaf(m.id()))
	case k < 5 && depth > 0:
		o := map[string]any{}
		for range m.r.IntN(12) {
			name := fmt.Sprintf("k%d", m.id())
			if m.r.IntN(40) == 0 {
				name = strings.Repeat("long", m.r.IntN(600)) + name
			}
			o[name] = m.value(depth - 1)
		}
		if m.r.IntN(3) == 0 {
			o["error"] = m.leaf(fmt.Sprintf("e%d", m.id()))
		}
		return o
	case k == 5:
		return m.leaf(m.text())
	case k == 6:
		return m.leaf(json.Number(fmt.Sprintf("%d%s", m.id(), strings.Repeat("7", m.r.IntN(900)))))
	}
	return m.leaf(fmt.Sprintf("s%d", m.id()))
}

// seen is what pages have shown.
type seen struct {
	t      *testing.T
	leaves map[string]int
	heads  []string            // texts that were cut, with their marks
	chunks map[string][]string // by place
	raw    map[string]string
}

var mark = regexp.MustCompile(`…\(\+(\d+) bytes\)$`)

func (s *seen) walk(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			s.walk(e)
		}
	case []any:
		for _, e := range v {
			s.walk(e)
		}
	default:
		if text, ok := v.(string); ok && mark.MatchString(text) {
			s.heads = append(s.heads, text)
			return
		}
		b, _ := json.Marshal(v)
		s.leaves[string(b)]++
	}
}

func decode(t *testing.T, b []byte) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("a page is no JSON: %v: %.300s", err, b)
	}
	return v
}

// page notes what is on a page, and returns whether it says that there are more.
func (s *seen) page(b []byte, first bool) bool {
	p := decode(s.t, b)
	cursor, more := p["cursor"]
	if _, said := p["leftOut"]; said != more || more && cursor == "" {
		s.t.Fatalf("leftOut without cursor or the reverse: %s", b)
	}
	delete(p, "cursor")
	delete(p, "leftOut")
	if first {
		s.walk(p)
		return more
	}
	for _, e := range p["rest"].([]any) {
		entry := e.(map[string]any)
		in := entry["in"].(string)
		if text, ok := entry["text"].(string); ok {
			s.chunks[in] = append(s.chunks[in], text)
		}
		if text, ok := entry["json"].(string); ok {
			s.raw[in] += text
			if v, ok := whole(s.raw[in]); ok {
				s.walk(v)
				delete(s.raw, in)
			}
		}
		s.walk(entry["items"])
		delete(s.leaves, "null")
		s.walk(entry["members"])
		delete(s.leaves, "null")
	}
	return more
}

// whole parses an element or a member that came in pieces.
func whole(text string) (v any, ok bool) {
	for _, s := range []string{text, "{" + text + "}"} {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if d.Decode(&v) == nil && !d.More() && (s != text || !strings.HasPrefix(text, `"`) || !strings.Contains(text, `":`)) {
			// the beginning of a number is one, too
			return v, !regexp.MustCompile(`\d$`).MatchString(text) || wanted[regexp.MustCompile(`\d+$`).FindString(text)]
		}
	}
	return nil, false
}

// close puts cut texts together.
func (s *seen) close() {
	for _, h := range s.heads {
		n, _ := strconv.Atoi(mark.FindStringSubmatch(h)[1])
		h = mark.ReplaceAllString(h, "")
		found := false
		for in, chunks := range s.chunks {
			rest := strings.Join(chunks, "")
			b, _ := json.Marshal(h + rest)
			if len(rest) == n && s.leaves[string(b)] == 0 && wanted[string(b)] {
				s.leaves[string(b)]++
				delete(s.chunks, in)
				found = true
				break
			}
		}
		if !found {
			s.t.Errorf("nothing goes on behind %q, %d bytes", h, n)
		}
	}
	if len(s.raw)+len(s.chunks) > 0 {
		s.t.Errorf("pieces of nothing: %d, %d", len(s.raw), len(s.chunks))
	}
}

var wanted map[string]bool

// TestPages: over random answers and limits no page is too long, and all together show each leaf once.
func TestPages(t *testing.T) {
	for seed := range uint64(120) {
		m := &maker{r: rand.New(rand.NewPCG(seed, 1)), leaves: map[string]bool{}}
		answer := map[string]any{"totalCount": m.leaf(m.id()), "hint": m.leaf(m.text())}
		for range 1 + m.r.IntN(8) {
			answer[fmt.Sprintf("k%d", m.id())] = m.value(3)
		}
		b, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		wanted = m.leaves
		s := &seen{t: t, leaves: map[string]int{}, chunks: map[string][]string{}, raw: map[string]string{}}
		shelf, limit := &Shelf{}, Least+m.r.IntN(9000)
		var last *Rest
		keep := func(r *Rest) string { last = r; return shelf.Put(r) }
		page := First(b, limit, keep)
		for n := 0; ; n++ {
			if len(page) > limit {
				t.Fatalf("seed %d: page %d has %d bytes, the limit is %d: %s", seed, n, len(page), limit, page)
			}
			if !s.page(page, n == 0) {
				break
			}
			if n > len(b) {
				t.Fatalf("seed %d: %d pages of %d bytes", seed, n, len(b))
			}
			page = last.Next(limit, keep)
		}
		s.close()
		for leaf := range m.leaves {
			if s.leaves[leaf] != 1 {
				t.Errorf("seed %d, limit %d: %.80s comes %d times", seed, limit, leaf, s.leaves[leaf])
			}
		}
		if len(s.leaves) != len(m.leaves) {
			t.Errorf("seed %d: %d leaves are shown of %d", seed, len(s.leaves), len(m.leaves))
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestOddFirst: what went wrong is on the first page, with the first and the last, and the rest is counted.
func TestOddFirst(t *testing.T) {
	var rows []any
	for i := range 300 {
		row := map[string]any{"name": fmt.Sprintf("test%03d", i), "status": "passed"}
		if i == 150 {
			row["status"] = "failed"
		}
		rows = append(rows, row)
	}
	b, err := json.Marshal(map[string]any{"tests": rows, "total": 300})
	if err != nil {
		t.Fatal(err)
	}
	shelf := &Shelf{}
	p := decode(t, First(b, 1200, shelf.Put))
	shown := p["tests"].([]any)
	text := fmt.Sprint(shown)
	for _, want := range []string{"test150", "test000", "test299", "test001"} {
		if !strings.Contains(text, want) {
			t.Errorf("the first page has no %s: %s", want, text)
		}
	}
	left := fmt.Sprintf("tests: %d of 300", 300-len(shown))
	if said := p["leftOut"].(string); !strings.HasPrefix(said, left) {
		t.Errorf("left out is %q, want %q", said, left)
	}
	if shelf.Get(p["cursor"].(string)) == nil || shelf.Get("x-1") != nil {
		t.Error("a cursor leads nowhere, or anything leads somewhere")
	}
}
