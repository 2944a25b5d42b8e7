package store

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

// randomColumns makes columns that the writer would never make: any kind, nesting and value that
// the format can hold.
func randomColumns(rnd *rand.Rand, n int, sparse bool) *columns {
	c := newColumns(1+rnd.Int64N(1<<40), 0)
	if sparse {
		c.ids = []event.ID{}
	}
	id := c.first
	threads, funcs := 1+rnd.IntN(400), 1+rnd.IntN(500)
	for i := range n {
		r := Row{
			ID: id, TS: int64(rnd.Uint64() >> rnd.IntN(64)), Ret: int64(rnd.Uint64() >> rnd.IntN(64)),
			Thread: event.ThreadID(rnd.IntN(threads)),
			Kind:   event.Kind(1 + rnd.IntN(int(event.NumKinds)-1)), Flags: event.Flags(rnd.Uint32()),
			Func:   event.FuncID(rnd.IntN(funcs)),
			Parent: rnd.Int64N(id), Depth: int32(rnd.Uint32()),
		}
		if rnd.IntN(9) == 0 {
			r.Thread = event.NoThread
		}
		if r.Kind == event.FunctionExit {
			r.Enter, r.Duration = rnd.Int64N(id), int64(rnd.Uint64()>>(1+rnd.IntN(63)))
		}
		if r.Kind != event.FunctionExit || r.Flags&event.HasRet == 0 {
			r.Ret = 0
		}
		if !r.Kind.IsCall() {
			r.Func = 0
		} else if !sparse {
			r.Payload = make([]byte, rnd.IntN(100))
			for k := range r.Payload {
				r.Payload[k] = byte(rnd.Uint32() >> (8 * (i % 4)))
			}
		}
		c.add(&r)
		id++
		if sparse {
			id += rnd.Int64N(1 << rnd.IntN(20))
		}
	}
	if sparse {
		c.first = c.ids[0]
	}
	return c
}

func TestBlockRoundTrip(t *testing.T) {
	enc := newScratch()
	var d decoder
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rnd.IntN([]int{3, 300, blockEvents}[seed%3])
		c := randomColumns(rnd, n, seed%4 == 1)
		from := rnd.IntN(n)
		to := from + 1 + rnd.IntN(n-from)
		h, hot, cold := encodeBlock(c, from, to, seed%2 == 0, enc)
		back, err := decodeHeader(appendHeader(nil, h))
		must(t, err)
		if !bytes.Equal(appendHeader(nil, back), appendHeader(nil, h)) {
			t.Fatalf("seed %d: header = %+v, want %+v", seed, back, h)
		}
		must(t, d.all(back, hot, cold))
		var got, want Row
		for i := range to - from {
			d.c.hotRow(i, &got)
			d.c.coldRow(i, &got)
			c.hotRow(from+i, &want)
			c.coldRow(from+i, &want)
			if !sameRow(&got, &want, true) {
				t.Fatalf("seed %d, event %d = %+v, want %+v", seed, i, got, want)
			}
		}
		for every := 1; every <= to-from; every *= 3 { // some events only
			must(t, d.begin(back, hot))
			must(t, d.want(0))
			d.sel = d.sel[:0]
			for i := rnd.IntN(every); i < to-from; i += 1 + rnd.IntN(2*every) {
				d.sel = append(d.sel, int32(i))
			}
			must(t, d.wantAt(d.sel))
			for _, i := range d.sel {
				if got := d.c.thread[i]; got != c.thread[from+int(i)] {
					t.Fatalf("seed %d, one of %d, event %d is of thread %d, want %d", seed, every, i, got, c.thread[from+int(i)])
				}
			}
			must(t, d.want(needThread))
			must(t, d.cold(cold, d.sel))
			for _, i := range d.sel {
				d.c.hotRow(int(i), &got)
				d.c.coldRow(int(i), &got)
				c.hotRow(from+int(i), &want)
				c.coldRow(from+int(i), &want)
				if !sameRow(&got, &want, true) {
					t.Fatalf("seed %d, one of %d, event %d = %+v, want %+v", seed, every, i, got, want)
				}
			}
		}
	}
}

// sampleBlock returns an encoded block of ordinary events.
func sampleBlock(n int, sparse, compress bool) (head, hot, cold []byte) {
	c := randomColumns(rand.New(rand.NewPCG(5, uint64(n))), n, sparse)
	h, hot, cold := encodeBlock(c, 0, n, compress, newScratch())
	return appendHeader(nil, h), hot, cold
}

// decodeArgs reads the payloads of every other function's calls.
func decodeArgs(h *header, hot, cold []byte) {
	var d decoder
	if d.begin(h, hot) != nil || d.want(needFunc) != nil {
		return
	}
	f := Filter{Funcs: new(Bits)}
	for i := 0; i < len(h.funcs); i += 2 {
		f.Funcs.Set(h.funcs[i] & 0xffff)
	}
	if d.sel = f.selectFrom(&d.c, nil); len(d.sel) == 0 || d.args(cold) != nil {
		return
	}
	var r Row
	for _, i := range d.sel {
		d.c.argRow(int(i), &r)
	}
}

// decodeAny decodes whatever it is given and touches every row.
func decodeAny(head, hot, cold []byte) error {
	h, err := decodeHeader(head)
	if err != nil {
		return err
	}
	decodeArgs(h, hot, cold)
	var d decoder
	if err := d.all(h, hot, cold); err != nil {
		return err
	}
	var r Row
	for i := range d.c.n {
		d.c.hotRow(i, &r)
		d.c.coldRow(i, &r)
	}
	low, high := int64(0), int64(math.MaxInt64)
	f := Filter{FromID: 1, FromTS: 1, MinDur: 1, RetMin: &low, RetMax: &high, Funcs: new(Bits), Threads: new(Bits)}
	f.Funcs.Set(1)
	f.Threads.Set(1)
	f.mayMatch(h)
	f.headerCount(h)
	f.selectFrom(&d.c, nil)
	return nil
}

func FuzzBlock(f *testing.F) {
	for _, n := range []int{1, 5, 60, 700} {
		head, hot, cold := sampleBlock(n, n == 5, n > 60)
		f.Add(head, hot, cold)
	}
	f.Fuzz(func(t *testing.T, head, hot, cold []byte) { _ = decodeAny(head, hot, cold) })
}

func FuzzHistogram(f *testing.F) {
	var h histogram
	h.add(5)
	h.add(1 << 40)
	f.Add(h.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHistogram(b); err == nil {
			h.quantile(0.5, 10)
			h.add(77)
		}
	})
}

// TestDamagedBlock flips, cuts and extends what an encoder wrote: an error or other values are
// both right, a panic is not.
func TestDamagedBlock(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var parts [3][]byte
		parts[0], parts[1], parts[2] = sampleBlock(1+int(seed%90), seed%5 == 0, seed%2 == 0)
		p := &parts[rnd.IntN(3)]
		switch rnd.IntN(3) {
		case 0:
			*p = (*p)[:rnd.IntN(len(*p)+1)]
		case 1:
			*p = append(*p, byte(rnd.Uint32()))
		default:
			for range 1 + rnd.IntN(4) {
				if len(*p) > 0 {
					(*p)[rnd.IntN(len(*p))] ^= 1 << rnd.IntN(8)
				}
			}
		}
		_ = decodeAny(parts[0], parts[1], parts[2])
	}
}

func TestQuantile(t *testing.T) {
	var f FuncStat
	for d := range int64(100_000) {
		f.exit(0, d*7, 0)
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		want := q * 700_000
		if got := float64(f.Quantile(q)); math.Abs(got-want) > want*0.07 {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if f.Quantile(1) > f.MaxNs || f.Quantile(0) < f.MinNs {
		t.Errorf("Quantile out of [%d, %d]", f.MinNs, f.MaxNs)
	}
	for _, d := range []int64{0, 1, 15, 16, 17, 255, 1 << 40, math.MaxInt64} {
		if b := bucketOf(d); b >= histBuckets || math.Abs(float64(bucketMid(b)-d)) > float64(d)*0.0626+1 {
			t.Errorf("bucketOf(%d) = %d, middle %d", d, b, bucketMid(b))
		}
	}
}
