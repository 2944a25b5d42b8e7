package agentlink

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/value"
)

// Function is what an agent tells of a function.
type Function struct {
	Name     string   `json:"name"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Module   string   `json:"module"`
	Language string   `json:"language"`
	Params   []string `json:"params"`
	Kind     string   `json:"kind"`
	Depth    int      `json:"depth"`
}

// maxLanes and maxFunctions bound what is believed of one process.
const (
	maxLanes     = 1 << 20
	maxFunctions = 1 << 20
)

// feed turns the records of one process's image into events of a session. Not safe for concurrent use.
type feed struct {
	sink      collector.Sink
	log       *slog.Logger
	pid       int
	nonce     string
	startMono int64
	depth     func() int // of values, where a function does not say
	functions map[uint32]function
	known     map[string]event.FuncID // functions of all feeds: see rounds
	names     map[string]bool         // theirs
	lanes     map[uint32]*lane
	refused   int64 // records that make no sense
	streams   map[int]*stream
	ended     bool          // the process is gone; nothing more comes
	pending   []record      // that were read and are not events yet
	payloads  []byte        // theirs
	events    []event.Event // of one flush
	secrets   *secret.Names // nil: all values are passed on
	waits     int           // flushes for which the first of pending lacked what it refers to
}

// function is one of the process's, by the agent's number.
type function struct {
	id       event.FuncID
	name     string
	secret   bool // what it gives is one, by its name
	doubtful bool // and only if it is a text
}

// maxWaits is for how many rounds a record waits for another stream to tell of its function or lane.
const maxWaits = 5

// lane is a stack of calls: a thread's own, or one of a call that can be left and come back.
type lane struct {
	thread event.ThreadID
	tid    int32
	name   string           // of its thread
	of     *lane            // its thread's own; nil: this is
	beside map[uint32]*lane // of a thread's own: the others of its thread, by the agent's numbers
	open   []uint32         // functions, by the agent's numbers, the outermost first
}

func newFeed(sink collector.Sink, log *slog.Logger, pid int, nonce string, depth func() int) *feed {
	return &feed{sink: sink, log: log, pid: pid, nonce: nonce, startMono: sink.StartMono(), depth: depth,
		functions: map[uint32]function{}, known: map[string]event.FuncID{}, names: map[string]bool{},
		lanes:   map[uint32]*lane{},
		streams: map[int]*stream{}}
}

// take keeps a record until its time has come.
func (f *feed) take(r *record) {
	kept := *r
	from := len(f.payloads)
	f.payloads = append(f.payloads, r.payload...)
	kept.payload = f.payloads[from:len(f.payloads):len(f.payloads)]
	f.pending = append(f.pending, kept)
}

// ready reports whether the function and the lanes that a record refers to were told of. They were before it, and
// perhaps in a stream that was read earlier.
func (f *feed) ready(r *record) bool {
	has := func(n uint32) bool { return n == 0 || f.lanes[n] != nil }
	switch r.kind {
	case kindEnter, kindExit, kindYield:
		_, ok := f.functions[r.fn]
		return ok && f.lanes[r.lane] != nil && has(r.under)
	case kindLane:
		return has(laneOf(r).Of)
	case kindLog, kindCrash, kindSwitch:
		return has(r.lane)
	}
	return true
}

// laneMessage is a lane record's payload.
type laneMessage struct {
	TID  int    `json:"tid"`
	Of   uint32 `json:"of"`
	Name string `json:"name"`
	bad  bool
}

func laneOf(r *record) (l laneMessage) {
	l.bad = json.Unmarshal(r.payload, &l) != nil
	return l
}

func (f *feed) apply(r *record) {
	switch r.kind {
	case kindEnter, kindExit, kindYield, kindCrash:
		f.redact(r)
	}
	switch r.kind {
	case kindFunction:
		f.function(r)
	case kindLane:
		f.lane(r)
	case kindEnter:
		f.enter(r)
	case kindExit:
		f.exit(r)
	case kindYield, kindLog:
		f.other(r)
	case kindCrash:
		f.crash(r)
	case kindSwitch:
		if l := f.lanes[r.lane]; l != nil && l.of != nil {
			f.add(&record{ts: r.ts}, event.Event{Kind: event.OnLane, Thread: l.thread, Under: l.of.thread + 1})
		} else if l != nil {
			f.add(&record{ts: r.ts}, event.Event{Kind: event.OnLane, Thread: l.thread, Under: l.thread + 1})
		}
	case kindLost:
		f.lost(r)
	}
}

// redact takes secrets out of a record: what the agents write is in memory (memoryFolder), what is made of it goes to
// disk.
func (f *feed) redact(r *record) {
	if f.secrets == nil || len(r.payload) == 0 {
		return
	}
	n := 0
	if gives := r.kind == kindExit || r.kind == kindYield; gives && r.flags&flagThrown == 0 {
		if fn := f.functions[r.fn]; fn.secret {
			if r.payload = value.RedactedTree(r.payload, fn.doubtful); value.IsRedacted(r.payload) {
				n++
			}
		}
	}
	payload, more := value.RedactTree(r.payload, f.secrets)
	r.payload = payload
	if s, ok := f.sink.(collector.SecretSink); ok && n+more > 0 {
		s.Redacted(int64(n + more))
	}
}

func (f *feed) function(r *record) {
	var fn Function
	if json.Unmarshal(r.payload, &fn) != nil || fn.Name == "" || len(f.functions) >= maxFunctions {
		f.refused++
		return
	}
	if _, ok := f.functions[r.fn]; ok {
		return // told again by a child that was forked
	}
	depth := cmp.Or(fn.Depth, f.depth())
	key := string(r.payload) + strconv.Itoa(depth)
	id, ok := f.known[key]
	if !ok {
		id = f.sink.Function(event.Function{
			Name: fn.Name, File: fn.File, Line: max(fn.Line, 0), Module: fn.Module, Language: fn.Language,
			Layout: value.NewTree(fn.Params, depth).Marshal(),
		})
		f.known[key], f.names[fn.Name] = id, true
	}
	of := function{id: id, name: fn.Name}
	if f.secrets != nil && f.secrets.Result(fn.Name) {
		of.secret, of.doubtful = true, f.secrets.Doubtful(fn.Name)
	}
	f.functions[r.fn] = of
}

func (f *feed) lane(r *record) {
	l := laneOf(r)
	if l.bad || len(f.lanes) >= maxLanes {
		f.refused++
		return
	}
	if l.Of != 0 {
		parent := f.lanes[l.Of]
		if parent == nil {
			f.refused++
			return
		}
		if parent.of != nil {
			parent = parent.of
		}
		one := parent.beside[r.lane]
		if one == nil { // else it is the thread's again
			t := event.Thread{PID: int32(f.pid), TID: parent.tid, Name: event.LaneName(parent.name, len(parent.beside)+1)}
			one = &lane{thread: f.sink.Thread(t), tid: parent.tid, name: parent.name, of: parent}
			if parent.beside == nil {
				parent.beside = map[uint32]*lane{}
			}
			parent.beside[r.lane] = one
		}
		f.lanes[r.lane] = one
		return
	}
	if old := f.lanes[r.lane]; old != nil {
		old.name = l.Name
	} else {
		f.lanes[r.lane] = &lane{tid: int32(l.TID), name: l.Name}
	}
	f.lanes[r.lane].thread = namedThread(f.sink, event.Thread{PID: int32(f.pid), TID: int32(l.TID), Name: l.Name})
}

// namedThread registers a thread by the name that the interpreter has for it, which is not the kernel's.
func namedThread(sink collector.Sink, t event.Thread) event.ThreadID {
	if namer, ok := sink.(collector.ThreadNamer); ok {
		return namer.NamedThread(t)
	}
	return sink.Thread(t)
}

func (f *feed) add(r *record, e event.Event) {
	e.TS = max(r.ts-f.startMono, 0)
	if e.Payload == nil {
		e.Payload = r.payload
	}
	if l := f.lanes[r.lane]; l != nil && l.of == nil && e.Thread == l.thread {
		e.Under = l.thread + 1
	}
	f.events = append(f.events, e)
}

func (f *feed) enter(r *record) {
	fn, known := f.functions[r.fn]
	l := f.lanes[r.lane]
	if !known || l == nil {
		f.refused++
		return
	}
	e := event.Event{Kind: event.FunctionEnter, Func: fn.id, Thread: l.thread}
	if under := f.lanes[r.under]; under != nil && r.under != r.lane {
		e.Under = under.thread + 1
	} else if l.of != nil && len(l.open) == 0 {
		e.Under = l.of.thread + 1
	}
	l.open = append(l.open, r.fn)
	f.add(r, e)
}

// exit ends a lane's innermost call of the function; those that it has above lost their ends.
func (f *feed) exit(r *record) {
	fn, known := f.functions[r.fn]
	l := f.lanes[r.lane]
	if !known || l == nil {
		f.refused++
		return
	}
	at := len(l.open) - 1
	for at >= 0 && l.open[at] != r.fn {
		at--
	}
	if at < 0 {
		f.refused++
		return
	}
	for i := len(l.open) - 1; i > at; i-- {
		f.add(&record{ts: r.ts}, event.Event{Kind: event.FunctionExit, Func: f.functions[l.open[i]].id, Thread: l.thread,
			Flags: event.Lost})
	}
	l.open = l.open[:at]
	e := event.Event{Kind: event.FunctionExit, Func: fn.id, Thread: l.thread, Ret: int64(r.aux)}
	switch {
	case r.flags&flagThrown != 0, r.flags&flagClosed != 0:
		e.Flags |= event.Unwound
	case r.flags&flagNoValue != 0:
		e.Flags |= event.Lost
	}
	f.add(r, e)
}

// other is a record of a message: what a generator gave, or a logpoint.
func (f *feed) other(r *record) {
	l := f.lanes[r.lane]
	if l == nil {
		f.refused++
		return
	}
	if r.kind == kindLog {
		kind := event.Logpoint
		var log struct{ Error string }
		if json.Unmarshal(r.payload, &log) == nil && log.Error != "" {
			kind = event.ConditionError
		}
		f.add(r, event.Event{Kind: kind, Thread: l.thread})
		return
	}
	gave, ok := value.NewTree(nil, f.depth()).Exit(r.payload, 0, true)
	if !ok {
		return
	}
	payload := append([]byte(`{"function":`), value.NewText(f.functions[r.fn].name).AppendJSON(nil)...)
	payload = append(gave.AppendJSON(append(payload, `,"value":`...)), '}')
	f.add(r, event.Event{Kind: event.Yield, Thread: l.thread, Payload: payload})
}

func (f *feed) lost(r *record) {
	var lost struct {
		Calls map[string][3]int64 `json:"calls"` // enters, exits, yields
	}
	if json.Unmarshal(r.payload, &lost) != nil {
		f.refused++
		return
	}
	for number, n := range lost.Calls {
		id, err := strconv.ParseUint(number, 10, 32)
		fn, known := f.functions[uint32(id)]
		if err != nil || !known || min(n[0], n[1], n[2]) < 0 {
			f.refused++
			continue
		}
		f.sink.Lost(fn.id, n[0], n[1])
		f.sink.Dropped(n[2])
	}
	payload, err := json.Marshal(map[string]any{"count": total(lost.Calls), "what": "calls"})
	if err == nil {
		e := event.Event{Kind: event.Dropped, Thread: event.NoThread, Payload: payload}
		if l := f.lanes[r.lane]; l != nil {
			e.Thread = l.thread
		}
		f.add(r, e)
	}
}

func total(calls map[string][3]int64) (n int64) {
	for _, c := range calls {
		n += c[0] + c[1] + c[2]
	}
	return n
}

// flush passes on all that was read.
func (f *feed) flush() { f.flushUntil(math.MaxInt64) }

// flushUntil makes events of what happened until then on the session's clock, in the order of its time, and passes them
// on; the rest waits for records that are not there yet.
func (f *feed) flushUntil(until int64) {
	if len(f.pending) == 0 {
		return
	}
	byTime := func(a, b record) int { return cmp.Compare(a.ts, b.ts) }
	if !slices.IsSortedFunc(f.pending, byTime) {
		sorting.By(f.pending, byTime)
	}
	n := 0
	for n < len(f.pending) && f.pending[n].ts-f.startMono <= until {
		r := &f.pending[n]
		if !f.ready(r) && f.waits < maxWaits {
			f.waits++
			break
		}
		f.waits = 0
		f.apply(r)
		n++
	}
	if n == 0 {
		return
	}
	f.deliver()
	rest := copy(f.pending, f.pending[n:])
	clear(f.pending[rest:])
	f.pending = f.pending[:rest]
	if rest > 0 || cap(f.payloads) > 4*readChunk {
		f.payloads = nil // those that wait are in it
	}
	f.payloads = f.payloads[:0]
}

// first is the time of the first record, the latest there is where there is none yet.
func (f *feed) first() int64 {
	t := int64(math.MaxInt64)
	for _, s := range f.streams {
		if s.read > 0 {
			t = min(t, s.first)
		}
	}
	return t
}

// count is how many records were read.
func (f *feed) count() (n int64) {
	for _, s := range f.streams {
		n += s.read
	}
	return n
}

// close ends what is open: the process is gone, or what it was is since at, on the monotonic clock.
func (f *feed) close(at int64) {
	for f.flush(); len(f.pending) > 0; f.flush() { // what is lacking will not come
	}
	now := min(f.sink.Now()+f.startMono, at)
	for _, l := range f.lanes {
		for i := len(l.open) - 1; i >= 0; i-- {
			f.add(&record{ts: now}, event.Event{Kind: event.FunctionExit, Func: f.functions[l.open[i]].id, Thread: l.thread,
				Flags: event.Unwound | event.AtEnd})
		}
		l.open = nil
	}
	f.deliver()
	f.ended = true
	if f.refused > 0 {
		f.log.Warn("records of an agent made no sense", "pid", f.pid, "records", f.refused)
	}
}

func (f *feed) String() string { return itoa(f.pid) + "-" + f.nonce }

func itoa(n int) string { return strconv.Itoa(n) }
