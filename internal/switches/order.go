package switches

// Order brings the records of several CPUs into one order, so that each thread's are complete: a thread's switch on to
// one CPU is written after its switch away from another, but buffers are not read in one moment.
type Order struct {
	later []Record
	all   []Record // scratch, as spare
	spare []Record
	last  map[int32]int64
}

// Take is given what was in all buffers when they were first looked at, and what had come when they were looked at
// again afterwards. All of the first is returned, by time, with those of the second that a thread did before: they were
// written before what led on from them could be seen. The rest is kept for the next time. What is returned is valid
// until then.
func (o *Order) Take(first, second []Record) []Record {
	o.all = append(append(o.all[:0], o.later...), first...)
	if o.last == nil {
		o.last = map[int32]int64{}
	}
	clear(o.last)
	for i := range o.all {
		if r := &o.all[i]; r.What < GapFrom {
			o.last[r.TID] = max(o.last[r.TID], r.At)
		}
	}
	o.later = o.later[:0]
	for _, r := range second {
		if at, ok := o.last[r.TID]; ok && r.At <= at && r.What < GapFrom {
			o.all = append(o.all, r)
		} else {
			o.later = append(o.later, r)
		}
	}
	o.sort()
	return o.all
}

// sort puts the records in the order of their times: each buffer's are already, so what ascends is merged.
func (o *Order) sort() {
	for {
		runs, out := 0, o.spare[:0]
		for rest := o.all; len(rest) > 0; runs++ {
			n := ascending(rest)
			a := rest[:n]
			rest = rest[n:]
			n = ascending(rest)
			b := rest[:n]
			rest = rest[n:]
			for len(a) > 0 && len(b) > 0 {
				if a[0].At <= b[0].At {
					out, a = append(out, a[0]), a[1:]
				} else {
					out, b = append(out, b[0]), b[1:]
				}
			}
			out = append(append(out, a...), b...)
		}
		o.all, o.spare = out, o.all
		if runs <= 1 {
			return
		}
	}
}

// ascending is how many records from the first on are in order.
func ascending(r []Record) int {
	for n := 1; n < len(r); n++ {
		if r[n].At < r[n-1].At {
			return n
		}
	}
	return len(r)
}
