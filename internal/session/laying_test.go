package session

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// writer makes a write's record and its bytes.
func writeOf(thread event.ThreadID, ts int64, data string) collector.Write {
	n := min(len(data), 32)
	return collector.Write{TS: ts, Thread: thread, Stream: event.Stdout, N: int64(len(data)), Head: []byte(data[:n]),
		Tail: []byte(data[len(data)-n:])}
}

// laid collects what a laying gives out.
type laid struct {
	*laying
	events []event.Event
	out    bytes.Buffer
}

func newLaid() *laid { return &laid{laying: &laying{kind: event.Stdout}} }

func (l *laid) until(ts int64) {
	l.lay(ts, func(e event.Event) {
		l.events = append(l.events, e)
		l.out.Write(e.Payload)
	})
}

// TestLayingKeepsBytes has threads write at once what looks alike, some of them unseen, with records that come late, in
// another order, or not at all: each byte comes out once and in its order, at no time before that of the byte before
// it.
func TestLayingKeepsBytes(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		l, want := newLaid(), bytes.Buffer{}
		l.terminal = seed%5 == 4
		threads, lost, unseen, late := 1+r.IntN(5), []int{0, 0, 3, 20}[r.IntN(4)], r.IntN(3) == 0, r.IntN(3) == 0
		var records []collector.Write
		for i := range int64(600) {
			ts := i * 1000
			thread := event.ThreadID(1 + r.IntN(threads))
			line := fmt.Sprintf("line %d of %d\n", r.IntN(4), thread)
			switch r.IntN(6) {
			case 0:
				line = "x"
			case 1:
				line = string(bytes.Repeat([]byte(line), r.IntN(900)+1))
			}
			shown := line
			if l.terminal {
				shown = string(bytes.ReplaceAll([]byte(line), []byte("\n"), []byte("\r\n")))
			}
			want.WriteString(shown)
			for rest := []byte(shown); len(rest) > 0; { // as reads cut it
				n := min(1+r.IntN(len(rest)+20), len(rest))
				l.add(ts, rest[:n])
				rest = rest[n:]
				l.until(-1)
			}
			if (thread != 1 || !unseen) && (lost == 0 || r.IntN(lost) > 0) {
				records = append(records, writeOf(thread, ts+int64(r.IntN(3000)), line))
			}
			if !late && len(records) > r.IntN(40) || len(records) > 400 {
				slices.SortStableFunc(records, func(a, b collector.Write) int { return int(a.TS - b.TS) })
				for _, w := range records {
					l.expect(w)
				}
				records = nil
				l.until(-1)
			}
			l.until(ts - 50_000)
		}
		l.until(math.MaxInt64)
		if !bytes.Equal(l.out.Bytes(), want.Bytes()) {
			t.Fatalf("seed %d: %d bytes came out of %d, or others", seed, l.out.Len(), want.Len())
		}
		if !slices.IsSortedFunc(l.events, func(a, b event.Event) int { return int(a.TS - b.TS) }) {
			t.Errorf("seed %d: out of order in time", seed)
		}
		var left int64
		for _, q := range l.writes.queues {
			for i := range q.writes {
				left += q.writes[i].left
			}
		}
		if left != l.writes.left {
			t.Errorf("seed %d: %d bytes are said to lack, %d do", seed, l.writes.left, left)
		}
	}
}

// TestLayingOfOneWriter: whatever one thread writes, each byte is its own and has the time of its write.
func TestLayingOfOneWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	l := newLaid()
	times := map[int64]string{}
	for i := range int64(20_000) {
		line := fmt.Sprintf("line %d\n", r.IntN(3))[r.IntN(5):]
		times[i*100] = line
		l.add(i*100+50, []byte(line))
		l.expect(writeOf(1, i*100, line))
		if r.IntN(10) == 0 {
			l.until(-1)
		}
	}
	l.until(-1)
	for _, e := range l.events {
		if e.Thread != 1 || times[e.TS] != string(e.Payload) {
			t.Fatalf("at %d stands %q of thread %d, which wrote %q", e.TS, e.Payload, e.Thread, times[e.TS])
		}
	}
	if len(l.events) != len(times) {
		t.Errorf("%d of %d writes", len(l.events), len(times))
	}
}

// TestLayingOfManyWriters has threads write by turns, whose records come one thread after another: each line has its
// writer. Keeps out: a thread's writes given up since another's bytes came first.
func TestLayingOfManyWriters(t *testing.T) {
	for _, threads := range []int{2, 4, 40} {
		l := newLaid()
		records := make([][]collector.Write, threads)
		for i := range int64(300) {
			for thread := range threads {
				ts := (i*int64(threads) + int64(thread)) * 1000
				line := fmt.Sprintf("thread %d says %d\n", thread+1, i)
				l.add(ts+50, []byte(line))
				// each had to wait for a CPU
				records[thread] = append(records[thread], writeOf(event.ThreadID(thread+1), ts+2_000_000, line))
			}
		}
		for _, of := range records {
			for _, w := range of {
				l.expect(w)
			}
		}
		l.until(math.MaxInt64)
		wrong := 0
		for _, e := range l.events {
			if !bytes.HasPrefix(e.Payload, fmt.Appendf(nil, "thread %d says", e.Thread)) ||
				bytes.Count(e.Payload, []byte("\n")) != 1 {
				wrong++
			}
		}
		if wrong > 0 || len(l.events) != 300*threads {
			t.Errorf("%d threads: %d of %d events are not one line of its writer's", threads, wrong, len(l.events))
		}
	}
}

// TestLayingWithLateRecords gives lines that look alike out before their records come, ten times 100,000 of them. Keeps
// out: records that piled up and were looked through for every line, which took minutes, and then no line had its
// writer any more.
func TestLayingWithLateRecords(t *testing.T) {
	l := newLaid()
	now := int64(0)
	for range 10 {
		var records []collector.Write
		for range 100_000 {
			now += 1000
			line := fmt.Sprintf("this is line %d of the program's output, more or less\n", now/1000)
			l.add(now+50, []byte(line))
			records = append(records, writeOf(1, now, line))
		}
		l.until(now + 100)
		for i, w := range records {
			if i%1000 != 7 { // some had no room
				l.expect(w)
			}
		}
		l.until(-1)
	}
	l.events = nil
	for range 1000 {
		now += 1000
		line := fmt.Sprintf("this is line %d of the program's output, more or less\n", now/1000)
		l.add(now+50, []byte(line))
		l.expect(writeOf(1, now, line))
		l.until(-1)
	}
	if len(l.events) != 1000 || slices.ContainsFunc(l.events, func(e event.Event) bool { return e.Thread != 1 }) {
		t.Errorf("%d of 1000 lines have their writer", len(l.events))
	}
}
