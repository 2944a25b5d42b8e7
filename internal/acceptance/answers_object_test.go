package acceptance

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// objectSource gives one place of a pool to three connections after another; the second is used once more when the
// third has it, and a note is kept of what was freed.
const objectSource = `#include <stdio.h>
struct conn { int id, state; struct conn *peer; char name[8]; };
static struct conn slots[2];
static int used;
struct conn *pool_get(int id) { struct conn *c = &slots[used++ % 2 ? 1 : 0]; c->id = id; c->state = 1; return c; }
void pool_put(struct conn *c) { c->state = 9; used = 0; }
int conn_send(struct conn *c, int n) { if (n == 3) c->state = 2; return n + c->id; }
int conn_touch(struct conn *c) { return c->state; }
struct queue { int n; struct conn *head; };
int queue_len(struct queue *q) { return q->n + (q->head ? q->head->id * 0 : 0); }
int main(void) {
  struct conn *old = 0;
  for (int k = 1; k <= 3; k++) {
    struct conn *c = pool_get(k * 10);
    struct queue q = {k, c};
    for (int i = 0; i < 6; i++) conn_send(c, i);
    queue_len(&q);
    pool_put(c);
    if (k == 2) conn_touch(c);
    old = c;
  }
  return printf("%d\n", old->state) == 0;
}
`

// TestObject: what became of the object at an address, over its lives, by the functions that the question names.
func TestObject(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "c", "objects", objectSource, "pool_*", "conn_*", "queue_len")
	at := regexp.MustCompile(`"\$address":"(0x[0-9a-f]+)"`).FindStringSubmatch(string(answered(t, s, "debug_query",
		args{"sessionId": id, "function": "pool_put", "limit": 1, "addresses": true, "verbose": true})))
	if at == nil {
		t.Fatal("no address in a call's values")
	}
	ask := args{"view": "object", "object": at[1], "allocators": []args{{"alloc": "pool_get", "free": "pool_put"}}}
	r := s.Query(t, id, ask)
	for _, want := range []string{
		at[1] + ": 28 calls had it, in 3 lives\n", "made by #", "freed by #",
		"! used after its end: #", "conn_touch(it as c)",
		"id=20, state=1", "state 1 → 2", "state 2 → 9", "queue_len(it as q.head)",
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("view object does not say %q:\n%s", want, r.Text)
		}
	}
	whole := s.Query(t, id, with(ask, args{"maxTokens": 20000}))
	if whole.HasMore {
		t.Fatalf("20,000 tokens are too few:\n%s", whole.Text)
	}
	uses := func(text string) string {
		return strings.Join(regexp.MustCompile(`(?m)^[ !] ?#.*$`).FindAllString(text, -1), "\n")
	}
	var all []string
	after, pages := int64(0), 0
	for more := true; more && pages < 100; pages++ {
		q := with(ask, args{"maxTokens": 250})
		if after > 0 {
			q["afterEventId"] = after
		}
		page := s.Query(t, id, q)
		all = append(all, uses(page.Text))
		more, after = page.HasMore, page.LastEventID
	}
	if got := strings.Join(all, "\n"); got != uses(whole.Text) || pages < 3 {
		t.Errorf("%d pages have other lines than one answer:\n%s\n%s", pages, got, whole.Text)
	}
	none := s.Query(t, id, args{"view": "object", "object": "0x1234"})
	if none.TotalCount != 0 || none.Hint == "" {
		t.Errorf("an address that nobody had: %+v", none)
	}
}

// with is a question with more in it.
func with(q, more args) args {
	out := maps.Clone(q)
	maps.Copy(out, more)
	return out
}
