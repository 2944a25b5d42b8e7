package hunt

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// RaceOptions of a search for races. Zeros mean the defaults.
type RaceOptions struct {
	Within time.Duration // default 10 s
	HoldMs int           // how long a thread is held, default 2
	On     string        // a variable: only what touches it
}

// Races is what a search for races found.
type Races struct {
	Races   []Race `json:"races"`
	More    int    `json:"more,omitempty"` // races beyond those that are told
	Runs    int    `json:"runs"`
	Took    string `json:"took"`
	Sites   int    `json:"sites"`   // instructions that use what others may, and ran beside another thread
	Held    int    `json:"held"`    // of Sites: where a thread was held
	Holds   int    `json:"holds"`   // times that one was
	Threads int    `json:"threads"` // at most, of one run
	Ends    string `json:"ends"`    // how the last run did
	Note    string `json:"note,omitempty"`
}

// Race is memory that two threads were at, one about to use it, the other one while that was held: nothing kept
// it away. One of the two writes.
type Race struct {
	Variable string  `json:"variable,omitempty"` // where it is one of the program's
	Size     int     `json:"size"`               // bytes
	Times    int     `json:"times"`              // that it was seen
	Held     Access  `json:"held"`
	Other    *Access `json:"other,omitempty"`   // nil: it changed, by a thread that was not seen, or the kernel
	Changed  string  `json:"changed,omitempty"` // the value before and after, once
	Atomic   bool    `json:"probablyAtomic,omitempty"`
}

// Access is one side of a race.
type Access struct {
	Thread      int    `json:"thread"` // by the order in which threads are made, 0 the first
	Does        string `json:"does"`   // read or write
	Function    string `json:"function"`
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	Code        string `json:"code,omitempty"`        // the line
	Instruction string `json:"instruction,omitempty"` // of the machine
}

const (
	// racesTold bounds what an answer has.
	racesTold = 10
	// enoughHolds at each instruction, or enoughTurns, end a search before its time.
	enoughHolds, enoughTurns = 40, 500
	// raceRuns bounds the runs of a program that ends at once.
	raceRuns = 500
	// surveys of a program whose threads have not been beside each other.
	surveys = 20
	// stackWords of a thread are looked through for who called a library.
	stackWords = 64
	// codeBytes bounds a line of source.
	codeBytes = 100
)

// sample is an instruction at which threads may be held, and what became of it.
type sample struct {
	site  *site
	hot   bool // a thread came there while another one lived
	turns int
	held  int
}

// pool is the instructions of a search. They take turns, those that run more often than the others.
type pool struct {
	all       []*sample
	hot, cold []*sample
	hold      time.Duration
	surveyed  bool
	given     int
}

func newPool(sites []*site, hold time.Duration) *pool {
	p := &pool{hold: hold}
	for _, s := range sites {
		p.all = append(p.all, &sample{site: s})
	}
	p.cold = slices.Clone(p.all)
	random := rand.New(rand.NewPCG(seed, seed))
	random.Shuffle(len(p.cold), func(i, k int) { p.cold[i], p.cold[k] = p.cold[k], p.cold[i] })
	return p
}

// next is the instruction whose turn it is, nil where there is none.
func (p *pool) next() *sample {
	p.given++
	from := &p.hot
	if len(p.hot) == 0 || p.given%8 == 0 && len(p.cold) > 0 {
		from = &p.cold
	}
	if len(*from) == 0 {
		return nil
	}
	s := (*from)[0]
	s.turns++
	*from = append((*from)[1:], s)
	if s.hot && from == &p.cold { // it has come since
		p.cold = p.cold[:len(p.cold)-1]
	}
	return s
}

// came notes that a thread came to an instruction, and reports whether that is new.
func (p *pool) came(s *sample) bool {
	if s.hot {
		return false
	}
	s.hot = true
	p.hot = append(p.hot, s)
	return true
}

// done: each that runs had its turns.
func (p *pool) done() bool {
	return p.surveyed && !slices.ContainsFunc(p.hot, func(s *sample) bool {
		return s.held < enoughHolds && s.turns < enoughTurns
	})
}

// meet is memory that a thread was held before, and what happened to it meanwhile. Addresses are of the file.
type meet struct {
	held     *sample
	thread   int
	addr     uint64
	size     int
	was, now uint64
	seen     bool
	other    int
	behind   uint64   // the instruction behind the other's
	stack    []uint64 // the words on top of its stack
}

// FindRaces runs a program, and looks for threads that are at the same memory at once.
func FindRaces(ctx context.Context, p *Program, o RaceOptions) (*Races, error) {
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	if o.HoldMs <= 0 {
		o.HoldMs = 2
	}
	h, err := newHunter(ctx, p, Options{})
	if err != nil {
		return nil, err
	}
	defer h.mod.Close()
	h.sites = slices.DeleteFunc(h.sites, func(s *site) bool { return s.mem == nil })
	wanted, err := h.on(o.On)
	if err != nil {
		return nil, err
	}
	r := &Races{Races: []Race{}, Note: h.r.Note}
	pool := newPool(h.sites, time.Duration(o.HoldMs)*time.Millisecond)
	var meets []meet
	var longest time.Duration // run
	began := time.Now()
	for until := began.Add(o.Within); r.Runs < raceRuns && !pool.done(); {
		if h.limit = time.Until(until); h.limit <= longest { // it would have to be ended
			break
		}
		s := newSampler(pool, wanted)
		e, _, err := h.run(work{sample: s})
		if err != nil {
			return nil, err
		}
		r.Runs++
		longest = max(longest, e.Took)
		r.Holds += s.holds
		r.Threads = max(r.Threads, s.threads)
		meets = append(meets, s.meets...)
		if r.Ends = e.String(); e.Hang {
			r.Ends = "it was ended when the time was over"
			break
		}
		if len(pool.hot) == 0 && r.Runs < surveys {
			pool.surveyed = false
		}
		if s.threads < 2 {
			r.Note = "one thread alone ran: nothing it does meets another"
			break
		}
	}
	r.Took = time.Since(began).Round(10 * time.Millisecond).String()
	for _, s := range pool.hot {
		if r.Sites++; s.held > 0 {
			r.Held++
		}
	}
	r.tell(h, meets)
	return r, nil
}

// on tells the addresses of a variable, nil for all.
func (h *hunter) on(name string) (func(addr uint64) bool, error) {
	if name == "" {
		return nil, nil
	}
	for _, v := range h.mod.Variables(name) {
		if v.Addr == 0 || v.TLS || v.Type == nil {
			continue
		}
		low, high := uint64(v.Addr), uint64(v.Addr)+uint64(max(v.Type.Size, 1))
		return func(addr uint64) bool { return addr >= low && addr < high }, nil
	}
	return nil, fmt.Errorf("%s has no variable %s outside its functions that threads share", h.p.Path, name)
}

// tell makes of what was seen what is told: each pair of lines once, what is probably an atomic last.
func (r *Races) tell(h *hunter, meets []meet) {
	byKey := map[string]*Race{}
	lines := sourceLines{}
	var all []*Race
	for i := range meets {
		m := &meets[i]
		one := h.race(m, lines)
		if one == nil {
			continue
		}
		key := one.key()
		if known := byKey[key]; known != nil {
			known.Times++
			if known.Changed == "" {
				known.Changed = one.Changed
			}
			continue
		}
		one.Times = 1
		byKey[key] = one
		all = append(all, one)
	}
	seen := map[string]bool{} // places with a race whose other side is known
	for _, one := range all {
		if one.Other != nil {
			seen[one.Held.place()], seen[one.Other.place()] = true, true
		}
	}
	all = slices.DeleteFunc(all, func(one *Race) bool { return one.Other == nil && seen[one.Held.place()] })
	sorting.By(all, func(a, b *Race) int {
		return cmp.Or(cmp.Compare(b2i(a.Atomic), b2i(b.Atomic)), cmp.Compare(b2i(a.Other == nil), b2i(b.Other == nil)),
			cmp.Compare(b.Times, a.Times))
	})
	for i, one := range all {
		if i == racesTold {
			r.More = len(all) - i
			break
		}
		r.Races = append(r.Races, *one)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a *Access) place() string {
	return fmt.Sprintf("%s %s:%d %s", a.Function, a.File, a.Line, a.Does)
}

// key is the same for two lines, whichever of them was held.
func (r *Race) key() string {
	places := []string{r.Held.place(), ""}
	if r.Other != nil {
		places[1] = r.Other.place()
	}
	slices.Sort(places)
	return r.Variable + "\n" + strings.Join(places, "\n")
}

// race says what a meeting was, nil where it was none.
func (h *hunter) race(m *meet, lines sourceLines) *Race {
	r := &Race{Size: m.size, Held: h.access(m.held.site, m.thread, lines)}
	name, start, ok := h.mod.DataAt(symbol.Addr(m.addr))
	if ok {
		r.Variable = name
		part, off := "", int64(m.addr-uint64(start))
		for _, v := range h.mod.Variables(name) {
			if v.Addr == start && v.Type != nil {
				part, off, r.Atomic = partAt(v.Type, off)
				break
			}
		}
		if r.Variable += part; off > 0 {
			r.Variable += fmt.Sprintf("+%d", off)
		}
	}
	if m.was != m.now {
		r.Changed = fmt.Sprintf("%d to %d", m.was, m.now)
	}
	r.Atomic = r.Atomic || h.atomic(m.held.site.addr, &m.held.site.inst, r.Held.Code)
	if !m.seen {
		return r
	}
	s := h.before(m.behind)
	if s != nil && s.inst.Len > 0 && s.inst.MemBytes == 0 {
		return nil // it does not touch memory: a register was read too late
	}
	if s == nil {
		a := Access{Thread: m.other, Does: "read or write", Function: "a library"}
		if i := slices.IndexFunc(m.stack, h.returns); i >= 0 {
			from := &site{addr: m.stack[i] - 1}
			from.function, _, _ = h.mod.Lookup(symbol.Addr(from.addr))
			from.find(h.mod, h.mine)
			a.Function, a.File, a.Line = "what "+from.name+" calls", from.file, from.line
			a.Code = lines.at(a.File, a.Line)
		}
		r.Other = &a
		return r
	}
	a := h.access(s, m.other, lines)
	r.Other = &a
	r.Atomic = r.Atomic || h.atomic(s.addr, &s.inst, a.Code)
	return r
}

// partAt is the part of a variable at an offset, as .a[3].b, what is left of the offset, and whether it lies in what is
// atomic by its type.
func partAt(t *symbol.Type, off int64) (path string, rest int64, atomic bool) {
	for range 32 {
		if t == nil {
			break
		}
		atomic = atomic || strings.Contains(strings.ToLower(t.Name), "atomic")
		switch {
		case t.Kind == symbol.KindOther: // of a value that is no pointer, _Atomic alone
			atomic = atomic || t.Elem() != nil && t.Elem().Kind != symbol.KindPointer
			fallthrough
		case t.Kind == symbol.KindTypedef || t.Kind == symbol.KindConst || t.Kind == symbol.KindVolatile:
			t = t.Elem()
			continue
		case t.Kind == symbol.KindArray && t.Elem() != nil && t.Elem().Size > 0:
			path += fmt.Sprintf("[%d]", off/t.Elem().Size)
			off %= t.Elem().Size
			t = t.Elem()
			continue
		case t.Kind == symbol.KindStruct:
			fields := t.Fields()
			i := slices.IndexFunc(fields, func(f symbol.Field) bool {
				return !f.Static && !f.Virtual && f.Type != nil && off >= f.Off && off < f.Off+max(f.Type.Size, 1)
			})
			if i >= 0 {
				if f := &fields[i]; !f.Base && f.Name != "" {
					path += "." + f.Name
				}
				off -= fields[i].Off
				t = fields[i].Type
				continue
			}
		}
		break
	}
	return path, off, atomic
}

func (h *hunter) access(s *site, thread int, lines sourceLines) Access {
	s.find(h.mod, h.mine)
	a := Access{Thread: thread, Does: "read", Function: s.name, File: s.file, Line: s.line, Code: lines.at(s.file, s.line)}
	switch {
	case s.inst.Len == 0:
		a.Does = "read or write"
		return a
	case s.writes:
		a.Does = "write"
	}
	a.Instruction = s.text(h.mod, h.stubs)
	return a
}

// returns reports whether a word of a stack leads behind a call of the project's code.
func (h *hunter) returns(word uint64) bool {
	f, off, ok := h.mod.Lookup(symbol.Addr(word))
	if !ok || off == 0 || !h.mine(f.File) {
		return false
	}
	s := h.before(word)
	return s != nil && s.inst.Op == x86asm.CALL
}

// before is the instruction that ends where another one begins, nil where that is not the program's code.
func (h *hunter) before(end uint64) *site {
	f, off, ok := h.mod.Lookup(symbol.Addr(end - 1))
	if !ok {
		return nil
	}
	code, err := h.mod.Code(f)
	if err != nil {
		return nil
	}
	for at, inst := range instructions(code) {
		if at+inst.Len == int(off)+1 {
			_, ofMemory := inst.Args[0].(x86asm.Mem)
			return &site{addr: uint64(f.Low) + uint64(at), function: f, inst: inst, writes: ofMemory && !readsOnly(inst.Op)}
		}
		if at > int(off) {
			break
		}
	}
	return &site{addr: end - 1, function: f}
}

// atomic reports whether an access looks as if it were meant to be one that several threads may do at once.
func (h *hunter) atomic(addr uint64, inst *x86asm.Inst, code string) bool {
	if inst.Op == x86asm.XCHG || locked(inst) || strings.Contains(strings.ToLower(code), "atomic") {
		return true
	}
	return slices.ContainsFunc(h.mod.InlinedAt(symbol.Addr(addr)), func(s symbol.Scope) bool {
		return strings.Contains(strings.ToLower(s.Function), "atomic") || strings.Contains(s.File, "atomic")
	})
}

// sourceLines are the files that were read.
type sourceLines map[string][]string

// maxSource bounds a file of sources.
const maxSource = 8 << 20

// at is one line, "" where that cannot be read.
func (l sourceLines) at(file string, line int) string {
	if file == "" || line < 1 {
		return ""
	}
	if _, read := l[file]; !read {
		l[file] = nil
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() && info.Size() <= maxSource {
			if b, err := os.ReadFile(file); err == nil {
				l[file] = strings.Split(string(b), "\n")
			}
		}
	}
	if line > len(l[file]) {
		return ""
	}
	s := strings.TrimSpace(l[file][line-1])
	if len(s) > codeBytes {
		s = strings.ToValidUTF8(s[:codeBytes], "") + "…"
	}
	return s
}
