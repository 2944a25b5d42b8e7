package hunt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Options of a hunt. Zeros mean the defaults.
type Options struct {
	Runs    int            // at most, default 2000
	Within  time.Duration  // default one minute
	HoldMs  int            // how long a thread is held, default 4, then five times as long
	Timeout time.Duration  // of one run; default ten times what the plain ones took, 2 s at least
	Fails   *regexp.Regexp // a run whose output this matches has failed, too
	Repeats int            // how often a plan that made it fail is repeated, default 20
	Tell    func(format string, args ...any)
}

const (
	plainRuns = 5 // before anything is held
	// seenMost is how often an instruction is counted in a run that looks who comes where, or what happens meanwhile.
	seenMost = 48
	// maxThreads bounds the threads that are held one after the other at one instruction.
	maxThreads = 8
	// maxTogether is how many are held in one run where one alone did nothing.
	maxTogether = 4
	// seed of the sets that are held together: the same hunt tries the same.
	seed = 1
)

// Result is what a hunt found.
type Result struct {
	Found     bool     `json:"found"`
	Runs      int      `json:"runs"`
	Took      string   `json:"took"`
	Sites     int      `json:"sites"`   // instructions that threads came to
	Threads   int      `json:"threads"` // that came to any
	Places    int      `json:"places"`  // threads at instructions
	Tried     int      `json:"tried"`   // of Places: where a thread was held
	Plain     string   `json:"plain"`   // how it ends by itself
	Failure   string   `json:"failure,omitempty"`
	Rate      string   `json:"rate,omitempty"` // with the plan, "19 of 20"
	PlainRate string   `json:"plainRate,omitempty"`
	Plan      *Plan    `json:"plan,omitempty"`
	Meanwhile []string `json:"meanwhile,omitempty"` // what the others did while the thread was held
	Output    string   `json:"output,omitempty"`    // the end of a failed run's
	Note      string   `json:"note,omitempty"`
}

// hunter is one hunt.
type hunter struct {
	ctx   context.Context
	p     *Program
	o     Options
	mod   *symbol.Module
	entry uint64
	mine  project
	limit time.Duration
	until time.Time

	sites []*site
	stubs map[uint64]string // functions of libraries by the address of what jumps to them
	plain Ending
	runs  int
	r     Result
}

// Hunt looks for a hold that makes the program fail.
func Hunt(ctx context.Context, p *Program, o Options) (*Result, error) {
	h, err := newHunter(ctx, p, o)
	if err != nil {
		return nil, err
	}
	defer h.mod.Close()
	began := time.Now()
	h.until = began.Add(h.o.Within)
	err = h.hunt()
	h.r.Runs, h.r.Took = h.runs, time.Since(began).Round(10*time.Millisecond).String()
	if err != nil {
		return nil, err
	}
	return &h.r, nil
}

// Again repeats a plan.
func Again(ctx context.Context, p *Program, plan *Plan, o Options) (*Result, error) {
	h, err := newHunter(ctx, p, o)
	if err != nil {
		return nil, err
	}
	defer h.mod.Close()
	if plan.BuildID != h.mod.BuildID {
		return nil, fmt.Errorf("%s was built anew since the plan was made: its instructions are elsewhere. Hunt again",
			p.Path)
	}
	for i := range plan.Holds {
		at := slices.IndexFunc(h.sites, func(s *site) bool { return s.addr == plan.Holds[i].Address })
		if at < 0 {
			return nil, fmt.Errorf("nothing can be held at 0x%x of %s: is root the folder that it was found with?",
				plan.Holds[i].Address, p.Path)
		}
		plan.Holds[i].site = h.sites[at]
	}
	began := time.Now()
	if err := h.plainly(); err != nil {
		return nil, err
	}
	f, err := h.confirm(plan.Holds, false)
	if err != nil {
		return nil, err
	}
	if f.often > 0 {
		err = h.tell(&f)
	} else {
		h.r.Note = "the plan does not make it fail"
	}
	h.r.Runs, h.r.Took = h.runs, time.Since(began).Round(10*time.Millisecond).String()
	return &h.r, err
}

func newHunter(ctx context.Context, p *Program, o Options) (*hunter, error) {
	if o.Runs <= 0 {
		o.Runs = 2000
	}
	if o.Within <= 0 {
		o.Within = time.Minute
	}
	if o.HoldMs <= 0 {
		o.HoldMs = 4
	}
	if o.Repeats <= 0 {
		o.Repeats = 20
	}
	if o.Tell == nil {
		o.Tell = func(string, ...any) {}
	}
	mod, err := symbol.Open(p.Path, symbol.Options{})
	if err != nil {
		return nil, err
	}
	h := &hunter{ctx: ctx, p: p, o: o, mod: mod, entry: uint64(mod.Entry), mine: projectOf(mod, p.Root),
		stubs: stubsOf(p.Path)}
	fail := func(format string, args ...any) (*hunter, error) {
		return nil, errors.Join(fmt.Errorf(format, args...), mod.Close())
	}
	switch {
	case mod.Go:
		return fail("%s is a Go program, whose goroutines are no threads: it cannot be hunted in yet", p.Path)
	case !mod.HasDWARF:
		return fail("%s has no debug information: build it with -g", p.Path)
	}
	var cut int
	if h.sites, cut = candidates(mod, h.mine); len(h.sites) == 0 {
		return fail("%s has no function of the project %s with code that could be held", p.Path, p.Root)
	}
	if cut > 0 {
		h.r.Note = fmt.Sprintf("of %d instructions of the project the %d that are furthest from shared data were "+
			"not looked at",
			len(h.sites)+cut, cut)
	}
	return h, nil
}

// failed reports whether a run ended otherwise than plain ones do.
func (h *hunter) failed(e *Ending) bool {
	return !e.same(&h.plain) || h.o.Fails != nil && h.o.Fails.MatchString(e.Tail)
}

// work is what is done in a run: who comes to looks is noted, each instruction's first visits, or threads are held, and
// who comes to meanwhile while one is.
type work struct {
	looks     []*site
	most      int // visits of each of looks
	holds     []Hold
	meanwhile []*site
	sample    *sampler // or it is looked who meets whom
}

// visit is a thread that came to an instruction.
type visit struct {
	site   *site
	thread int
	addr   uint64 // of the memory that it reads or writes, 0 for none or not known
	held   bool
}

func (h *hunter) run(w work) (Ending, []visit, error) {
	h.runs++
	return run(h.ctx, h.p, h.entry, w, h.limit)
}

// plainly learns how the program ends by itself, and how long it takes.
func (h *hunter) plainly() error {
	h.limit = max(h.o.Timeout, 10*time.Minute)
	var ends []Ending
	var longest time.Duration
	for range plainRuns {
		e, _, err := h.run(work{})
		if err != nil {
			return err
		}
		if longest = max(longest, e.Took); h.o.Timeout > 0 && e.Took > h.o.Timeout {
			return fmt.Errorf("it takes %v by itself, more than the timeout", e.Took.Round(time.Millisecond))
		}
		ends = append(ends, e)
		h.limit = max(10*longest, 2*time.Second)
	}
	most := 0
	for i := range ends {
		n := 0
		for k := range ends {
			if ends[k].same(&ends[i]) {
				n++
			}
		}
		if n > most || n == most && ends[i].Code == 0 && ends[i].Signal == "" {
			most, h.plain = n, ends[i]
		}
	}
	if h.o.Timeout > 0 {
		h.limit = h.o.Timeout
	}
	h.r.Plain = h.plain.String()
	if !slices.ContainsFunc(ends, func(e Ending) bool { return !h.failed(&e) }) { // what it writes matches Fails
		return errors.New("it fails in each run by itself: a hunt is for failures that are rare")
	}
	return nil
}

// pair is a thread that comes to an instruction.
type pair struct {
	site   *site
	thread int
	hits   int
}

// visitors are the pairs of the program, those at shared data first.
func (h *hunter) visitors() ([]pair, error) {
	counts := map[*site]map[int]int{}
	threads := map[int]bool{}
	// A look slows threads, and so changes where they come to: what looks less slows less.
	for _, most := range []int{seenMost, 1, 1} {
		_, visits, err := h.run(work{looks: h.sites, most: most})
		if err != nil {
			return nil, err
		}
		now := map[pair]int{}
		for _, v := range visits {
			now[pair{site: v.site, thread: v.thread}]++
			threads[v.thread] = true
		}
		for p, n := range now {
			if counts[p.site] == nil {
				counts[p.site] = map[int]int{}
			}
			counts[p.site][p.thread] = max(counts[p.site][p.thread], n)
		}
	}
	h.r.Sites, h.r.Threads = len(counts), len(threads)
	var pairs []pair
	for _, s := range h.sites {
		for _, thread := range sortedThreads(counts[s]) {
			pairs = append(pairs, pair{s, thread, counts[s][thread]})
		}
	}
	return pairs, nil
}

func sortedThreads(m map[int]int) (out []int) {
	for t := range m {
		out = append(out, t)
	}
	slices.Sort(out)
	return out[:min(len(out), maxThreads)]
}

func (h *hunter) hunt() error {
	if err := h.plainly(); err != nil {
		return err
	}
	pairs, err := h.visitors()
	if err != nil {
		return err
	}
	if h.r.Threads < 2 {
		h.r.Note = "one thread alone comes to the project's code: nothing it does depends on another"
		return nil
	}
	h.r.Places = len(pairs)
	h.o.Tell("it ends with %v in %v; %d instructions, %d threads", &h.plain, h.plain.Took.Round(time.Millisecond),
		h.r.Sites, h.r.Threads)
	best, until := found{}, h.o.Runs
	for _, try := range h.plans(pairs) {
		for holds := range try {
			if h.over() || h.runs >= until {
				return h.tell(&best)
			}
			if h.r.Tried < len(pairs) { // the first sequence has each
				h.r.Tried++
			}
			f, err := h.try(holds)
			if err != nil {
				return err
			}
			if f.rate() > best.rate() {
				if best.often == 0 {
					until = min(h.runs+max(2*h.runs, betterRuns), h.o.Runs)
				}
				best = f
			}
			if best.rate() >= goodRate {
				return h.tell(&best)
			}
		}
	}
	return h.tell(&best)
}

// goodRate is how often what was found must make it fail, so that nothing better is looked for.
const goodRate = 0.8

// betterRuns is how long at least is looked for what makes it fail more often, once something does.
const betterRuns = 100

// found is a plan that makes the program fail.
type found struct {
	holds   []Hold
	example *Ending
	often   int
	plain   int
	of      int // runs, with and without it
}

func (h *hunter) over() bool {
	return h.runs >= h.o.Runs || time.Now().After(h.until) || h.ctx.Err() != nil
}

// plans are what is tried, one sequence after the other: each pair at its first hit, then at each, then held
// longer, then at its second and its last hit, then sets of several. What a thread comes to several times it may come
// to more or less often in the next run: at each is then the only way to be there the last time.
func (h *hunter) plans(pairs []pair) []func(func([]Hold) bool) {
	single := func(hit func(p *pair) int, ms int) func(func([]Hold) bool) {
		return func(yield func([]Hold) bool) {
			for i := range pairs {
				if n := hit(&pairs[i]); n >= 0 && !yield([]Hold{h.holdAt(&pairs[i], n, ms)}) {
					return
				}
			}
		}
	}
	at := func(n int) func(p *pair) int {
		return func(p *pair) int {
			if p.hits < n {
				return -1
			}
			return n
		}
	}
	last := func(p *pair) int {
		if p.hits < 3 {
			return -1
		}
		return p.hits
	}
	each := func(*pair) int { return 0 }
	sets := func(yield func([]Hold) bool) {
		random := rand.New(rand.NewPCG(seed, seed))
		for {
			var holds []Hold
			for range 2 + random.IntN(maxTogether-1) {
				p := &pairs[random.IntN(len(pairs))]
				holds = append(holds, h.holdAt(p, 1+random.IntN(p.hits), h.o.HoldMs*(1+4*random.IntN(2))))
			}
			if !yield(holds) {
				return
			}
		}
	}
	return []func(func([]Hold) bool){single(at(1), h.o.HoldMs), single(each, h.o.HoldMs), single(at(1), 5*h.o.HoldMs),
		single(at(2), h.o.HoldMs), single(last, h.o.HoldMs), sets}
}

func (h *hunter) holdAt(p *pair, hit, ms int) Hold {
	p.site.find(h.mod, h.mine)
	return Hold{Address: p.site.addr, Function: p.site.name, File: p.site.file, Line: p.site.line,
		Instruction: p.site.text(h.mod, h.stubs), Thread: p.thread, Hit: hit, Ms: ms, site: p.site}
}

func (f *found) rate() float64 { return float64(f.often) / float64(max(f.of, 1)) }

// try runs once with holds, and where that fails, again and again.
func (h *hunter) try(holds []Hold) (f found, err error) {
	e, visits, err := h.run(work{holds: holds})
	if err != nil || !h.failed(&e) {
		return f, err
	}
	f, err = h.confirm(delayed(holds, visits), e.Hang)
	if f.often > 0 {
		h.o.Tell("run %d: %v, in %d of %d runs with a thread held in %s", h.runs, &e, f.often, f.of, holds[0].Function)
	}
	return f, err
}

// delayed are the holds of a run that failed. Where the thread that was to be held did not come, another was there for
// the moment that a trap takes, which was enough: it is the one to hold.
func delayed(holds []Hold, visits []visit) []Hold {
	if len(holds) != 1 || len(visits) == 0 || slices.ContainsFunc(visits, func(v visit) bool { return v.held }) {
		return holds
	}
	h := holds[0]
	h.Thread, h.Hit = visits[0].thread, 1
	return []Hold{h}
}

// confirm repeats a plan, and the program without it. Nothing is found where it does not fail more often with it.
// Each hang takes as long as one may, and is repeated less.
func (h *hunter) confirm(holds []Hold, hang bool) (f found, err error) {
	f.holds, f.of = holds, h.o.Repeats
	if hang {
		f.of = max(f.of/4, 3)
	}
	count := func(n *int, w work) error {
		for range f.of {
			e, _, err := h.run(w)
			if err != nil {
				return err
			}
			if h.failed(&e) {
				*n++
				f.example = &e
			}
		}
		return nil
	}
	if err := count(&f.plain, work{}); err != nil {
		return found{}, err
	}
	if err := count(&f.often, work{holds: holds}); err != nil {
		return found{}, err
	}
	if f.often < f.plain+2 {
		return found{}, nil
	}
	return f, nil
}
