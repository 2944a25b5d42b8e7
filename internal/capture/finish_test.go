package capture

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// halfThread is a function with one watch, $thread / 2.0 + ($threadName == "main" ? 1.0 : 0.0), of which the agent
// reads $thread.
func halfThread(tb testing.TB) *Function {
	tb.Helper()
	e, err := expr.New(`$thread / 2.0 + ($threadName == "main" ? 1.0 : 0.0)`, symbol.LangC,
		&scope{sig: &symbol.Signature{}})
	if err != nil {
		tb.Fatal(err)
	}
	b := newBuilder(&symbol.Signature{}, Options{Depth: 1, Walks: NewWalks(nil, nil)})
	b.enter.begin(1)
	pieces, err := b.finished(&b.enter, e, false)
	if err != nil || len(pieces) != 1 || pieces[0].Chunk != 2 {
		tb.Fatalf("%v, %v", pieces, err)
	}
	return &Function{Finish: b.finish}
}

func named(name string, ok bool) func() (string, bool) {
	return func() (string, bool) { return name, ok }
}

// TestFinishRecord fills in results, and says that there is none where the operand or the thread's name is not there,
// or the record was cut.
func TestFinishRecord(t *testing.T) {
	f := halfThread(t)
	payload := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	const ok, bad = 8, 2 << 32
	for _, tc := range []struct {
		in         []byte
		name       func() (string, bool)
		head, word uint64
	}{
		{payload(99, ok, 7, 0, 0), named("main", true), ok, math.Float64bits(4.5)},
		{payload(99, ok, 7, 0, 0), named("other", true), ok, math.Float64bits(3.5)},
		{payload(99, ok, 7, 0, 0), named("", false), bad, 0},
		{payload(99, bad, 7, ok, 1), named("main", true), bad, 0},
		{payload(99, 0, 7, ok, 1), named("main", true), bad, 0},
	} {
		got := append([]byte(nil), tc.in...)
		f.FinishRecord(got, true, tc.name)
		if string(got) != string(tc.in) {
			t.Errorf("the exit's payload was changed")
		}
		f.FinishRecord(got, false, tc.name)
		if want := append(append([]byte(nil), tc.in[:24]...), payload(tc.head, tc.word)...); string(got) != string(want) {
			t.Errorf("FinishRecord(%x) = %x, want %x", tc.in, got, want)
		}
	}
}

// FuzzFinishRecord gives payloads that no agent writes.
func FuzzFinishRecord(f *testing.F) {
	fn := halfThread(f)
	f.Add([]byte{}, "main")
	f.Add(make([]byte, 39), "main")
	f.Add(make([]byte, 48), "")
	f.Fuzz(func(t *testing.T, payload []byte, name string) {
		n := len(payload)
		want := string(payload)
		fn.FinishRecord(payload, false, named(name, name != ""))
		if n < 40 && string(payload) != want || n >= 40 &&
			(string(payload[:24]) != want[:24] || string(payload[40:]) != want[40:]) {
			t.Errorf("more than the result was changed: %x, before %x", payload, want)
		}
	})
}

// TestWatchesHaveRoom adds watches until no more fit a call.
func TestWatchesHaveRoom(t *testing.T) {
	sc := &scope{sig: &symbol.Signature{}}
	b := newBuilder(sc.sig, Options{Depth: 1, Walks: NewWalks(nil, nil)})
	b.enter.begin(1)
	n := 0
	for ; b.watch(&b.enter, &b.lay.EnterWatches, Watch{Label: "w", Expr: "$thread / 2.0 + $pid"}, sc) == nil; n++ {
		if n > maxEvals {
			t.Fatal("there is no end")
		}
	}
	err := b.watch(&b.enter, &b.lay.EnterWatches, Watch{Label: "w", Expr: "$thread / 2.0 + $pid"}, sc)
	if n != maxEvals/3 || len(b.finish) != n || len(b.lay.EnterWatches) != n || err == nil {
		t.Errorf("%d watches fit, %d fields, then %v", n, len(b.lay.EnterWatches), err)
	}
	if b.enter.size > maxEvalBytes || len(b.enter.ops) > maxEvals {
		t.Errorf("%d operations, %d bytes", len(b.enter.ops), b.enter.size)
	}
}
