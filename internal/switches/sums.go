package switches

import (
	"cmp"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Sum is what one thread did between two times, in nanoseconds.
type Sum struct {
	Running, Runnable, Blocked, Unknown int64
	Switches, Preempted                 int64
	From, To                            int64 // that are known of it
	Longest                             Wait  // of its waits
	Waits                               []Reason
	Proc                                bool // some of it comes from looks at /proc
}

// Wait is one wait. Why is "" where nobody looked.
type Wait struct {
	At, Ns int64
	Why    string
}

// Reason is the waits of a thread that were for the same.
type Reason struct {
	Why         string
	Count       int64
	Ns, Longest int64
}

// Reader makes sums of a thread's blocks, which it takes in their order.
type Reader struct {
	From, Until int64 // the window
	sum         Sum
	last        Interval // that may go on
	then        string   // after it
	whys        map[int64]string
	reasons     map[string]*Reason
	some        bool
}

// NewReader makes one for a window; until 0: to the end.
func NewReader(from, until int64) *Reader {
	if until == 0 {
		until = 1<<63 - 1
	}
	return &Reader{From: from, Until: until, whys: map[int64]string{}, reasons: map[string]*Reason{}}
}

// Add takes a block.
func (r *Reader) Add(b *Block) error {
	all, err := b.Intervals()
	if err != nil {
		return err
	}
	for _, w := range b.Waits {
		r.whys[w.At] = w.Why
	}
	for _, i := range all {
		r.interval(i)
	}
	r.then = b.Then
	r.some = r.some || len(all) > 0
	r.sum.Switches += b.Switches
	r.sum.Preempted += b.Preempts
	r.sum.Proc = r.sum.Proc || b.By == ByProc
	return nil
}

// ByPerf and ByProc are Block.By.
const (
	ByPerf = "perf"
	ByProc = "proc"
)

func (r *Reader) interval(i Interval) {
	if r.last.To == i.From && r.last.State == i.State && !i.Begun {
		r.last.To = i.To
		return
	}
	r.settle()
	r.last = i
}

// settle counts the last interval.
func (r *Reader) settle() {
	i := r.last
	r.last = Interval{From: i.To, To: i.To}
	why := r.whys[i.From]
	delete(r.whys, i.From)
	from, to := max(i.From, r.From), min(i.To, r.Until)
	d := to - from
	if d <= 0 {
		return
	}
	s := &r.sum
	if s.To == 0 {
		s.From = from
	}
	s.To = to
	switch i.State {
	case Running:
		s.Running += d
	case Runnable:
		s.Runnable += d
	case Unknown:
		s.Unknown += d
	case Blocked:
		s.Blocked += d
		if d > s.Longest.Ns {
			s.Longest = Wait{At: i.From, Ns: d, Why: why}
		}
		if why == "" {
			return
		}
		one := r.reasons[why]
		if one == nil {
			one = &Reason{Why: why}
			r.reasons[why] = one
		}
		one.Count++
		one.Ns += d
		one.Longest = max(one.Longest, d)
	}
}

// Sum ends the reading. A thread that has not ended goes on with what it did last until end. False: nothing of it is
// in the window.
func (r *Reader) Sum(end int64) (Sum, bool) {
	if r.some && r.then != "" && end > r.last.To {
		at := r.last.To
		for s := range NumStates {
			if s.String() == r.then {
				r.interval(Interval{From: at, To: end, State: s, Begun: true})
			}
		}
	}
	r.settle()
	for _, one := range r.reasons {
		r.sum.Waits = append(r.sum.Waits, *one)
	}
	sorting.By(r.sum.Waits, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Why, b.Why)) })
	return r.sum, r.sum.To > 0
}
