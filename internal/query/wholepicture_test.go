package query

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// drawFrom draws from a whole alone.
func (m *model) drawFrom(t *testing.T, w *whole, buckets int) (PictureRequest, *Picture) {
	t.Helper()
	sn, err := m.st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	req := PictureRequest{To: m.ts, Buckets: buckets, Levels: MaxLevels}
	p := newPainter(req, sn)
	p.from(w)
	return req, p.picture(sn)
}

// wholeOf walks over what there is, or what is newer than a whole.
func (m *model) wholeOf(t *testing.T, had *whole, most int) *whole {
	t.Helper()
	if err := m.st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sn, err := m.st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	w, err := newWhole(t.Context(), sn, had, most)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rowsOf counts the calls of each lane and depth.
func rowsOf(t *testing.T, p *Picture) map[[2]uint32]uint32 {
	t.Helper()
	rows := map[[2]uint32]uint32{}
	for _, s := range unpack(t, p) {
		rows[[2]uint32{s.lane, uint32(s.depth)}] += max(1, s.count)
	}
	return rows
}

// TestWholeGrows: a whole that becomes the next by what has come since is as right as one of all events, also where
// there are so many cells that its buckets become wider, and when it comes back from a file.
func TestWholeGrows(t *testing.T) {
	m := newModel(t, 29, store.Options{})
	rng := rand.New(rand.NewPCG(5, 6))
	var grown, rough *whole
	wide, added, coarse := 0, 0, 0
	for range 16 {
		m.grow(1 + rng.IntN(20_000))
		m.store(t)
		grown, rough = m.wholeOf(t, grown, maxWhole), m.wholeOf(t, rough, 30_000)
		back, err := unmarshalWhole(grown.marshal(), len(modelThreads), int(numFuncs))
		if err != nil {
			t.Fatal(err)
		}
		if rough.width > grown.width {
			coarse++
		}
		if len(rough.cells) > 30_000 {
			t.Fatalf("%d cells, of at most 30,000", len(rough.cells))
		}
		for _, w := range []*whole{grown, rough, back, m.wholeOf(t, nil, maxWhole)} {
			if w.width == 0 {
				t.Fatalf("no whole of %d events", len(m.events))
			}
			req, p := m.drawFrom(t, w, 1+rng.IntN(leastBuckets-1))
			a, b := m.compare(t, m.calls(), req, p)
			wide, added = wide+a, added+b
		}
	}
	if wide < 1000 || added < 1000 || coarse < 3 {
		t.Errorf("%d calls by themselves, %d added up, %d wider: the test shows too little", wide, added, coarse)
	}
	if w := m.wholeOf(t, nil, 100); w.width != 0 {
		t.Errorf("a whole of 100 cells has %d", len(w.cells))
	}
}

// TestWholeOfDropped: what the session's limit has dropped is in no picture.
func TestWholeOfDropped(t *testing.T) {
	m := newModel(t, 31, store.Options{MaxEvents: 20_000})
	var grown *whole
	dropped := 0
	for range 12 {
		m.grow(9000)
		m.store(t)
		was := grown
		grown = m.wholeOf(t, grown, maxWhole)
		if was != nil && was.first != grown.first {
			dropped++
		}
		_, got := m.drawFrom(t, grown, 300)
		_, want := m.drawFrom(t, m.wholeOf(t, nil, maxWhole), 300)
		if got, want := rowsOf(t, got), rowsOf(t, want); !maps.Equal(got, want) {
			t.Fatalf("rows %v, want %v", got, want)
		}
	}
	if dropped < 3 {
		t.Errorf("calls were dropped %d times: the test shows too little", dropped)
	}
}

// TestWholeIsKept: who opens a session's file has its picture without a walk over the events.
func TestWholeIsKept(t *testing.T) {
	m := newModel(t, 37, store.Options{})
	path := m.st.Path()
	m.grow(5000)
	m.store(t)
	if err := m.st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := prepare(t.Context(), m.st, 10_000); err != nil {
		t.Fatal(err)
	}
	if err := m.st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := m.st.Picture(t.Context()); err != nil || data != nil {
		t.Fatalf("of a short session %d bytes are kept, %v", len(data), err)
	}
	if err := prepare(t.Context(), m.st, 1000); err != nil {
		t.Fatal(err)
	}
	if err := m.st.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	w := readWhole(t.Context(), st, sn)
	if w == nil {
		t.Fatal("the file has no picture")
	}
	t.Logf("%d events, %d cells, %d bytes", len(m.events), len(w.cells), len(w.marshal()))
	m.st = st // closing has ended open calls: those alone are new
	req, p := m.drawFrom(t, m.wholeOf(t, w, maxWhole), 500)
	_, want := m.drawFrom(t, m.wholeOf(t, nil, maxWhole), 500)
	if got, want := rowsOf(t, p), rowsOf(t, want); !maps.Equal(got, want) {
		t.Errorf("picture %+v has rows %v, want %v", req, got, want)
	}
}

// FuzzWhole: a picture in a stranger's file is read, or it is none.
func FuzzWhole(f *testing.F) {
	w := &whole{lastID: 9, first: 1, width: 2, deepest: []int{1, 0}, hidden: []int64{0, 0},
		cells: []cell{{from: 3, to: 9, id: 4, count: 1, fn: 1}}, marks: []kindMark{{Mark{1, -1, "stdout", 2, 1}, event.Stdout}}}
	f.Add(w.marshal())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		w, err := unmarshalWhole(data, 2, 3)
		if err != nil {
			return
		}
		p := &painter{req: PictureRequest{To: 10, Levels: 8}, width: 1, last: map[markKey]int{},
			lanes: []*paintLane{{rows: make([]cell, 8)}, {rows: make([]cell, 8)}}}
		p.from(w)
		pack(p.cells)
		if _, err := unmarshalWhole(w.marshal(), 2, 3); err != nil {
			t.Errorf("what was read is not written: %v", err)
		}
	})
}
