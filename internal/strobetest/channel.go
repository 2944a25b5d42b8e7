package strobetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
)

// ChannelCase is a channel for RunChannel.
type ChannelCase struct {
	Name     string        // as it is added
	Target   iochan.Target // lives until the end of the test
	Messages []string      // each works, in this order, and may be sent again
	Heard    int           // events that these bring beside their own, at least
	// Early is how long before it is added what it hears may have begun, as a sound that is on its way.
	Early time.Duration
}

// heardEvent is one event of a hub.
type heardEvent struct {
	stream event.Stream
	at     int64
	what   string
}

// listening keeps what a hub tells.
type listening struct {
	mu  sync.Mutex
	all []heardEvent
}

func (l *listening) take(t testing.TB) func(event.Stream, int64, []byte) {
	return func(s event.Stream, at int64, payload []byte) {
		var o struct{ What string }
		if err := json.Unmarshal(payload, &o); err != nil || o.What == "" {
			t.Errorf("%s %s: payload %.200q is no object with what: %v", s.Channel, s.Name, payload, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, heardEvent{s, at, o.What})
	}
}

func (l *listening) count(sent bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.all {
		if (e.stream.Name == "sent") == sent {
			n++
		}
	}
	return n
}

// RunChannel checks what holds for every channel: it is added once and removed once, refuses messages as a whole with
// the field that is wrong, notes each message on the timeline before what comes of it, on the session's clock, and
// leaves nothing behind.
func RunChannel(t *testing.T, c ChannelCase) {
	t.Helper()
	CheckLeaks(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	h := iochan.NewHub(c.Target.Root())
	defer h.Close()
	var l listening
	began := iochan.Monotonic()
	k, _, err := iochan.KindOf(c.Name)
	if err != nil {
		t.Fatal(err)
	}
	if !k.Always {
		refused(t, "a message before the channel is added", send(ctx, h, c.Name, c.Messages[0]))
	}
	if err := h.Add(ctx, c.Name, nil); err != nil {
		t.Fatal(err)
	}
	refused(t, "a second add", h.Add(ctx, c.Name, nil))
	refused(t, "an unknown option", h.Add(ctx, c.Name+"x", json.RawMessage(`{"nonsense":1}`)))
	h.Bind(c.Target, l.take(t))
	for _, bad := range badMessages(k) {
		refused(t, "message "+bad, send(ctx, h, c.Name, bad))
	}
	if n := l.count(true); n != 0 {
		t.Errorf("%d messages that were refused are on the timeline", n)
	}
	for _, m := range c.Messages {
		if err := send(ctx, h, c.Name, m); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
	Eventually(t, 10*time.Second, fmt.Sprintf("%d events", c.Heard), func() bool {
		h.Flush(ctx)
		return l.count(false) >= c.Heard
	})
	if n := l.count(true); n != len(c.Messages) {
		t.Errorf("%d messages on the timeline, want %d", n, len(c.Messages))
	}
	l.mu.Lock()
	for i, e := range l.all {
		if e.at < began-c.Early.Nanoseconds() || e.at > iochan.Monotonic() {
			t.Errorf("event %d (%s) is at %d, not between the begin and now", i, e.what, e.at)
		}
		if e.stream.Channel != c.Name || e.stream.Direction != event.In && e.stream.Direction != event.Out {
			t.Errorf("event %d (%s) is of %+v", i, e.what, e.stream)
		}
	}
	l.mu.Unlock()
	if list := h.List(); len(list) != 1 || list[0].Sent != int64(len(c.Messages)) || list[0].Heard < int64(c.Heard) {
		t.Errorf("list = %+v", list)
	}
	if err := h.Remove(c.Name); err != nil {
		t.Error(err)
	}
	refused(t, "a second remove", h.Remove(c.Name))
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	refused(t, "add after the end", h.Add(ctx, c.Name, nil))
}

// badMessages are wrong each in one way.
func badMessages(k *iochan.Kind) []string {
	bad := []string{`{}`, `[]`, `{"do":""}`, `{"do":"nonsense"}`, `{"do":7}`}
	for _, m := range k.Messages {
		bad = append(bad, fmt.Sprintf(`{"do":%q,"nonsense":1}`, m.Name))
		for _, f := range m.Fields {
			if f.Required {
				bad = append(bad, fmt.Sprintf(`{"do":%q}`, m.Name))
			}
			if f.Type != "any" {
				bad = append(bad, fmt.Sprintf(`{"do":%q,%q:[1]}`, m.Name, f.Name))
			}
		}
	}
	return bad
}

func send(ctx context.Context, h *iochan.Hub, name, message string) error {
	_, err := h.Send(ctx, name, json.RawMessage(message))
	return err
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s was taken", what)
		return
	}
	if f := fault.From(err); f.Hint == "" || f.Code == fault.InternalError {
		t.Errorf("%s: %v, which says not what to do", what, err)
	}
}
