package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// relay has tools answered at the other end of a connection, which it returns as well.
func relay(t *testing.T, tools []Tool) (*Relay, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Answer(context.Background(), theirs, tools, slog.New(slog.DiscardHandler)) }()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	r, err := NewRelay(ctx, ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Answer = %v", err)
			}
		case <-time.After(waitLimit):
			t.Error("Answer goes on after the daemon left")
		}
	})
	return r, ours
}

func TestRelay(t *testing.T) {
	r, _ := relay(t, newTools(gate{}))
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprintf("{\"is\":\"result\",\"n\":%d}\\n", i), 1+i*i*500)
			arguments := fmt.Sprintf(`{"n":12345678901234567890,"s":%q}`, text)
			want := fmt.Sprintf(`{"got":%s,"tag":"<&>"}`, arguments)
			if got, err := r.Call(ctx, "echo", "c", []byte(arguments), nil); err != nil || string(got) != want {
				t.Errorf("call %d = %.200s, %v\nwant %.200s", i, got, err, want)
			}
		})
	}
	wg.Wait()
	got, err := r.Call(ctx, "who", "\"an\n editor\"", nil, nil)
	if err != nil || string(got) != `{"client":"\"an\n editor\""}` {
		t.Errorf("who = %s, %v", got, err)
	}
	for tool, want := range map[string]string{
		"faults": `SESSION_NOT_FOUND: no session "x". Call debug_session list.`, "plain": "INTERNAL_ERROR: disk on fire",
		"panics": "INTERNAL_ERROR: panics panicked: oh", "none": "INTERNAL_ERROR: this worker has no tool none",
	} {
		_, err := r.Call(ctx, tool, "", nil, nil)
		if f := (*fault.Error)(nil); !errors.As(err, &f) || !strings.HasPrefix(f.Error(), want) {
			t.Errorf("%s = %v, want %s", tool, err, want)
		}
	}
}

func TestRelayCancels(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	r, _ := relay(t, newTools(g))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-g.entered; cancel() }()
	if _, err := r.Call(ctx, "slow", "", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("call = %v, want canceled", err)
	}
	await(t, g.cancelled, "cancellation")
	if got, err := r.Call(context.Background(), "who", "next", nil, nil); err != nil ||
		string(got) != `{"client":"next"}` {
		t.Errorf("the next call = %s, %v", got, err)
	}
}

func TestRelayTells(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	r, _ := relay(t, newTools(g))
	ctx, cancel := context.WithCancel(context.Background())
	said := ""
	_, err := r.Call(ctx, "slow", "", nil, func(text string) { said = text; cancel() })
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(said, "elapsed ") {
		t.Errorf("call = %v, told %q", err, said)
	}
	await(t, g.cancelled, "cancellation")
}

// A process that ends leaves no call waiting, and one that is gone takes none.
func TestRelayGone(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	r, conn := relay(t, newTools(g))
	go func() { <-g.entered; conn.Close() }()
	for range 2 {
		if _, err := r.Call(context.Background(), "slow", "", nil, nil); !errors.Is(err, ErrGone) {
			t.Errorf("call = %v, want ErrGone", err)
		}
	}
	await(t, g.cancelled, "cancellation")
	if len(r.calls) != 0 {
		t.Errorf("%d calls are kept", len(r.calls))
	}
	a, b := net.Pipe()
	b.Close()
	if _, err := NewRelay(context.Background(), a); !errors.Is(err, ErrGone) {
		t.Errorf("greet nobody: %v", err)
	}
	a, b = net.Pipe()
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewRelay(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("greet one that does not answer: %v", err)
	}
}

// What comes over the connection is bytes of another process.
func FuzzRelayRead(f *testing.F) {
	for _, s := range []string{
		`{"is":"result","n":1,"size":2}` + "\n{}", `{"size":-1}` + "\n", `{"size":99999999999}` + "\n", "{}\n{}\n",
		`{"size":5}` + "\nab",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newRelayConn(sink{bytes.NewReader(b)})
		for read := 0; ; {
			h, body, err := c.read()
			if err != nil {
				return
			}
			if read += len(body); len(body) != h.Size || read > len(b) {
				t.Fatalf("a body of %d bytes, said %d, of %d", len(body), h.Size, len(b))
			}
		}
	})
}

// A text in a reply is what it was, however JSON writes it.
func FuzzQuoted(f *testing.F) {
	for _, s := range []string{`{"a":"<\"\\>"}`, "\x00\n\x1f\x7f\u2028é", "\xff\xfe", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(quoted([]byte(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	})
}

// All placeholders in a reply are replaced, and nothing else is.
func TestHeld(t *testing.T) {
	var h held
	a, b := h.put([]byte(`"1"`)), h.put([]byte(`{"b":2}`))
	msg := fmt.Appendf(nil, `{"id":%q,"x":"%s","y":"%s","z":"%s-9"}`, strings.Repeat("i", 5000), a, b, h.name)
	got := bytes.Join(h.take(msg), nil)
	want := fmt.Sprintf(`{"id":%q,"x":"1","y":{"b":2},"z":"%s-9"}`, strings.Repeat("i", 5000), h.name)
	if string(got) != want || len(h.bytes) != 0 {
		t.Errorf("take = %s, %d left", got, len(h.bytes))
	}
	if rest := h.take([]byte("{}")); len(rest) != 1 || string(rest[0]) != "{}" {
		t.Errorf("take of nothing = %s", rest)
	}
}
