package stuck

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// A Go program's threads say little: they wait for work. Its goroutines say it. A Go program can never go on when
// nothing runs in it, and none of what could wake it is there: no timer that is due in time, no file or system call
// that is waited for, no thread of other code. What its goroutines then wait for (Go channels, locks, groups) only they
// could give each other.

// goProgram is what was seen of a process that runs a Go program.
type goProgram struct {
	pid  int
	dump *goroutine.Dump
	err  error // its goroutines could not be read
	// the same for as long as none of its threads ran; "": some thread did, while it was read
	still   string
	foreign map[int]bool            // threads that wait elsewhere than in Go's own scheduler
	now     time.Duration           // on the clock of its timers
	loops   map[int]*collector.Loop // by thread: those that ran a moment ago
	passing bool                    // never found it on the way from one state to another
}

// judged is judge, by goroutines where a process is a Go program.
func (w *Watch) judged(rep *collector.ThreadReport, pids []int, loops []collector.Loop) Verdict {
	var programs []*goProgram
	for _, pid := range pids {
		if p := goProgramOf(pid, w.Layouts, loopsOf(pid, loops)); p != nil {
			programs = append(programs, p)
		}
	}
	if len(programs) == 0 {
		return judge(rep, pids, w.Limit, outside(), timersMayWake, loops)
	}
	return judgeGo(programs, rep, pids, w.Limit, w.Root, outside(), timersMayWake, loops)
}

// judgeGo is judged, from what was seen alone. The threads of other programs in the tree are judged as ever.
func judgeGo(programs []*goProgram, rep *collector.ThreadReport, pids []int, limit time.Duration, root string,
	outside outsideFunc, timers func([]int) bool, loops []collector.Loop) Verdict {
	var others []int
	for _, pid := range pids {
		if !slices.ContainsFunc(programs, func(p *goProgram) bool { return p.pid == pid && p.err == nil }) {
			others = append(others, pid)
		}
	}
	rest := &collector.ThreadReport{NotShown: rep.NotShown, Deadlocks: rep.Deadlocks}
	for _, t := range rep.Threads {
		if t.PID == 0 {
			t.PID = pids[0]
		}
		if slices.Contains(others, t.PID) {
			rest.Threads = append(rest.Threads, t)
		}
	}
	f := Verdict{Stuck: true}
	if len(rest.Threads) > 0 || len(others) > 0 || len(rest.Deadlocks) > 0 || rest.NotShown > 0 {
		f = judge(rest, pids, limit, outside, func([]int) bool { return timers(others) }, loops)
	}
	deadlock, native := f.Stuck && strings.HasPrefix(f.Diagnosis, "deadlock: "), f.Threads
	never := f.Stuck && !deadlock
	var rounds []string
	live := false
	var key strings.Builder
	var all []said
	for _, p := range programs {
		if p.err != nil {
			f.Diagnosis += fmt.Sprintf(" (%v)", p.err)
			continue
		}
		never = p.never(rep, pids, limit, outside) && never
		f.passing = f.passing || p.passing
		for _, g := range p.dump.Goroutines {
			if l := p.loopOf(g); l != nil {
				rounds = append(rounds, fmt.Sprintf("goroutine %d: %s", g.ID, loopText(l)))
				live = live || l.Livelock
			}
		}
		fmt.Fprintf(&key, "%d %s\n", p.pid, p.still)
		all = append(all, p.say(root, len(programs) > 1, rep)...)
	}
	f.passing = f.passing && !never
	if len(all) == 0 {
		f.Stuck = deadlock || never
		return f
	}
	sorting.By(all, func(a, b said) int { return cmp.Compare(a.rank, b.rank) })
	f.Threads = append(lines(all, MaxThreads-min(len(native), 2)), native...)
	f.Threads = f.Threads[:min(len(f.Threads), MaxThreads)]
	if deadlock { // of threads
		return f
	}
	f.key += key.String()
	f.Stuck = never
	beside := f.Diagnosis
	switch {
	case never && live:
		f.Diagnosis = "livelock: the goroutines undo each other's steps, and none gets anywhere: " +
			strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case never && len(rounds) > 0:
		f.Diagnosis = "infinite loop: " + strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case never:
		f.Diagnosis = "deadlock: " + awaited(all, maxWaits) + "; no goroutine can go on"
	default:
		f.Diagnosis = awaited(all, 1)
	}
	if beside != "" {
		f.Diagnosis += "; beside it, " + beside
	}
	return f
}

// never reports whether it is certain that no goroutine goes on.
func (p *goProgram) never(rep *collector.ThreadReport, pids []int, limit time.Duration, outside outsideFunc) bool {
	d := p.dump
	p.passing = true
	if p.still == "" || d.Busy && len(p.loops) == 0 || d.NotShown > 0 {
		return false
	}
	rounds := 0
	for _, l := range p.loops {
		if !l.Endless || l.Between != "" && !l.Livelock {
			return false
		}
	}
	for _, t := range d.Timers {
		// Package testing ends a program whose time is up, which lets nobody go on.
		if p.wakesLoop(t) { // which does not go on by that
			continue
		}
		if !t.Runtime && !strings.HasPrefix(t.Function, "testing.(*M).startAlarm.") && (t.At == 0 || t.At < p.now+limit) {
			p.passing = false
			return false
		}
	}
	users := 0
	held := map[int]bool{} // threads in system calls that only these processes end
	for _, g := range d.Goroutines {
		if !g.System {
			users++
		}
		switch {
		case p.loopOf(g) != nil: // also while it is about to run, after another
			rounds++
		case g.Moved:
			return false
		case g.Status == goroutine.Syscall && slices.ContainsFunc(g.Stack,
			func(f goroutine.Frame) bool { return f.Function == "os/signal.signal_recv" }):
		case g.Status == goroutine.Syscall:
			if !heldForEver(g.Thread, rep, pids, limit, outside) {
				p.passing = false
				return false
			}
			held[g.Thread] = true
		case g.Status != goroutine.Waiting:
			return false
		case g.Wait == "IO wait" && p.filesNever(rep, pids, outside):
		case !g.System && !byGoroutines(g.Wait):
			p.passing = false
			return false
		}
	}
	for tid := range p.foreign {
		if !held[tid] {
			return false
		}
	}
	return users > 0 && rounds == len(p.loops)
}

// filesNever reports whether no file that the program's goroutines wait for can change: one of its threads waits for
// them all, and only the processes that are looked at have their other ends.
func (p *goProgram) filesNever(rep *collector.ThreadReport, pids []int, outside outsideFunc) bool {
	ends, waited := true, false
	for i := range rep.Threads {
		t := &rep.Threads[i]
		if w := t.WaitingFor; (t.PID == p.pid || t.PID == 0 && len(pids) == 1) && w != nil && w.Asked != nil &&
			w.Asked.Epoll {
			waited = true
			ends = ends && !outside(t, w, pids)
		}
	}
	return waited && ends
}

// loopOf is the loop that a goroutine runs, or nil.
func (p *goProgram) loopOf(g *goroutine.Goroutine) *collector.Loop {
	for _, l := range p.loops {
		if l.Task == uint64(g.Addr) {
			return l
		}
	}
	return nil
}

// wakesLoop reports whether a timer ends the sleep of a loop.
func (p *goProgram) wakesLoop(t goroutine.Timer) bool {
	for _, l := range p.loops {
		if l.Task != 0 && l.Task == t.Wakes {
			return true
		}
	}
	return false
}

// loopsOf are the loops of a process, by thread.
func loopsOf(pid int, all []collector.Loop) map[int]*collector.Loop {
	out := map[int]*collector.Loop{}
	for i := range all {
		if all[i].PID == pid {
			out[all[i].ThreadID] = &all[i]
		}
	}
	return out
}

// heldForEver reports whether a thread's system call ends only by the processes that are looked at.
func heldForEver(tid int, rep *collector.ThreadReport, pids []int, limit time.Duration, outside outsideFunc) bool {
	t := rowOf(tid, rep)
	if t == nil {
		return false
	}
	_, ever := wakes(t, t.WaitingFor, pids, limit, outside)
	// another kind is a lock of code that is not Go's
	return !ever && (t.WaitingFor.Kind == "child" || slices.Contains(onFiles, t.WaitingFor.Kind))
}

// rowOf is what was seen of a thread, nil for nothing.
func rowOf(tid int, rep *collector.ThreadReport) *collector.ThreadRow {
	for i := range rep.Threads {
		if t := &rep.Threads[i]; t.ThreadID == tid || slices.Contains(t.ThreadIDs, tid) {
			return t
		}
	}
	return nil
}

// byGoroutines reports whether a goroutine that waits so goes on only when another one, or a timer, lets it. The words
// are the runtime's; what is none of them may come from outside.
func byGoroutines(wait string) bool {
	for _, start := range []string{"chan receive", "chan send", "select", "sync.", "semacquire", "sleep", "synctest.",
		"coroutine"} {
		if strings.HasPrefix(wait, start) {
			return true
		}
	}
	return false
}

// said is a goroutine, or several that are alike, for a reader.
type said struct {
	rank  int // the test's own first
	ids   []uint64
	state string
	where string // the program's own function that waits, "" for none
	pid   int    // where there are several programs
	stack []string
}

// Ranks of goroutines.
const (
	ofTest   = iota // began as a test, and waits in its code
	ofUser          // has code of the project
	ofParent        // a test that waits for its subtests, or for its turn
	ofOthers        // neither
)

// say makes lines of the goroutines, alike ones together.
func (p *goProgram) say(root string, several bool, rep *collector.ThreadReport) []said {
	var out []said
	at := map[string]int{}
	for _, g := range p.dump.Goroutines {
		if g.System {
			continue
		}
		s := said{rank: ofOthers, ids: []uint64{g.ID}, state: g.State()}
		if len(g.Channels) == 1 && g.Channels[0].Cap > 0 {
			s.state += fmt.Sprintf(", %d of %d in its buffer", g.Channels[0].Len, g.Channels[0].Cap)
		}
		if row := rowOf(g.Thread, rep); g.Status == goroutine.Syscall && row != nil && row.WaitingFor != nil {
			s.state += ": " + row.WaitingFor.What()
		}
		if left := g.Until - p.now; left > 0 {
			s.state += fmt.Sprintf(", %v left", left.Round(time.Second))
		}
		if several {
			s.pid = p.pid
		}
		waitsForTests := false
		for _, f := range g.Stack {
			if ofStandard(f) {
				waitsForTests = waitsForTests || f.Function == "testing.(*T).Run" || f.Function == "testing.(*T).Parallel"
				continue
			}
			text := frameLine(f, root)
			if s.stack = append(s.stack, text); s.where == "" {
				s.where, s.rank = text, ofUser
				switch {
				case waitsForTests || g.ID == 1:
					s.rank = ofParent
				case g.Start == "testing.tRunner":
					s.rank = ofTest
				}
			}
		}
		rounds := p.loopOf(g)
		if rounds != nil && len(rounds.Backtrace) > 0 {
			s.where, s.stack, s.rank = rounds.Backtrace[0], slices.Clone(rounds.Backtrace), ofUser
			if rounds.Endless {
				s.state = "in an infinite loop"
			}
			if g.Start == "testing.tRunner" {
				s.rank = ofTest
			}
		}
		if s.where == "" {
			for _, f := range g.Stack {
				s.stack = append(s.stack, frameLine(f, root))
			}
		}
		s.stack = s.stack[:min(len(s.stack), maxStack)]
		if g.Creator != nil && !ofStandard(*g.Creator) && len(s.stack) > 0 {
			s.stack = append(s.stack, "created by "+frameLine(*g.Creator, root))
		}
		if g.Lack != "" && len(g.Stack) == 0 && rounds == nil {
			s.stack = []string{"<" + g.Lack + ">"}
		}
		key := s.state + "\n" + strings.Join(s.stack, "\n")
		if n, ok := at[key]; ok {
			out[n].ids = append(out[n].ids, g.ID)
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	return out
}

// standard are the first parts of the import paths of Go's own library.
var standard = strings.Fields(
	`archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar flag
	fmt go
	hash html image index internal io iter log maps math mime net os path plugin reflect regexp
	runtime slices sort strconv strings
	structs sync syscall
	testing text time unicode unique unsafe vendor weak panic`)

// ofStandard reports whether a function is of Go's library, or of what go test adds.
func ofStandard(f goroutine.Frame) bool {
	first, _, _ := strings.Cut(f.Function, "/")
	if first == f.Function {
		first, _, _ = strings.Cut(first, ".")
	}
	return slices.Contains(standard, first) || f.Function == "main.main" && filepath.Base(f.File) == "_testmain.go"
}

// frameLine is a frame as stacks of threads have them: shop.(*Queue).Push (queue.go:31).
func frameLine(f goroutine.Frame, root string) string {
	file := f.File
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsAbs(file) && !strings.HasPrefix(rel, "..") {
		file = rel
	} else if ofStandard(f) {
		file = filepath.Base(file)
	}
	return fmt.Sprintf("%s (%s:%d)", strings.ReplaceAll(f.Function, "[...]", ""), file, f.Line)
}

// name is a goroutine, or several, with what they wait for.
func (s said) name() string {
	text := fmt.Sprintf("goroutine %d", s.ids[0])
	if n := len(s.ids); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	if s.pid != 0 {
		text = fmt.Sprintf("process %d, %s", s.pid, text)
	}
	return fmt.Sprintf("%s [%s]", text, s.state)
}

// lines are the first goroutines. Those without code of the project are only counted, where others have some.
func lines(all []said, most int) []Line {
	var out []Line
	left := 0
	for _, s := range all {
		if len(out) == most-1 && len(all) > most || s.where == "" && all[0].where != "" {
			left += len(s.ids)
			continue
		}
		out = append(out, Line{s.name(), s.stack})
	}
	if left > 0 {
		text := fmt.Sprintf("and %d more goroutines", left)
		if left == 1 {
			text = "and 1 more goroutine"
		}
		out = append(out, Line{text, []string{}})
	}
	return out
}

// maxWaits is how many goroutines a diagnosis names.
const maxWaits = 4

// awaited names what the first goroutines wait for, where.
func awaited(all []said, most int) string {
	var parts []string
	n := 0
	for _, s := range all {
		if len(parts) > 0 && (s.rank >= ofParent || len(parts) == most) {
			if s.rank < ofParent {
				n += len(s.ids)
			}
			continue
		}
		text := s.name()
		if s.where != "" {
			text += " in " + s.where
		}
		parts = append(parts, text)
	}
	if n > 0 && most > 1 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, ", ")
}
