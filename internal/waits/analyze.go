package waits

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Analyze fills the Wait of every thread and returns the deadlocks, by the lowest thread in each. procs are the
// threads' processes by number; threads are all of them. Not more than maxGuess locks have their owners guessed.
func Analyze(threads []*Thread, procs map[int]*Process) []Deadlock {
	a := &analysis{procs: procs, threads: threads, byTID: map[int]*Thread{}, local: map[localID]*Thread{},
		guards: map[*Thread][]Guard{}}
	for _, t := range threads {
		a.byTID[t.TID] = t
		a.local[localID{t.PID, t.Local}] = t
	}
	for _, t := range threads {
		if p := procs[t.PID]; p != nil {
			t.Wait = classify(t, p)
		}
	}
	for _, t := range threads {
		if t.Wait != nil {
			a.settle(t)
		}
	}
	for _, t := range threads {
		a.parked(t)
	}
	a.inferOwners()
	for _, t := range threads {
		a.name(t)
	}
	return a.deadlocks()
}

// localID names a thread as its process does.
type localID struct{ pid, local int }

type analysis struct {
	procs   map[int]*Process
	threads []*Thread
	byTID   map[int]*Thread
	local   map[localID]*Thread
	guards  map[*Thread][]Guard
	named   map[objectID]string
}

type objectID struct {
	pid  int
	addr uint64
}

// settle turns the number in a lock into a thread of ours, and knows a join by it.
func (a *analysis) settle(t *Thread) {
	w := t.Wait
	if w.Kind == "futex" && t.Syscall == sysFutex && t.Args[1]&futexPrivate == 0 {
		word := a.procs[t.PID].word(w.at)
		if other := a.local[localID{t.PID, int(word)}]; other != nil && other != t && word == uint32(t.Args[2]) {
			w.Kind, w.Object, w.object = "join", "", 0 // its last function was left by a jump to one that has no name
			w.own(int(word), "lock")
		}
	}
	if w.Owner == 0 && w.Kind == "futex" {
		streamOwner(w, a.procs[t.PID])
	}
	if w.Owner == 0 {
		a.byProcess(t)
		return
	}
	if owner := a.local[localID{t.PID, w.Owner}]; owner != nil {
		w.Owner = owner.TID
		return
	}
	shared := t.Syscall != sysFutex || t.Args[1]&futexPrivate == 0 // memory that other processes may have
	if shared && w.Kind != "join" && (a.byTID[w.Owner] != nil || a.procs[t.PID].Exists != nil &&
		a.procs[t.PID].Exists(w.Owner)) {
		if a.byTID[w.Owner] == nil {
			w.Owner, w.OwnerKnownBy = 0, "" // of a process that is not looked at
		}
		return
	}
	if w.Kind == "join" {
		w.Owner, w.OwnerKnownBy = 0, "" // it just ended
		return
	}
	if p := a.procs[t.PID]; p.Alive != nil && p.Alive(w.Owner) {
		return // it began after the look
	}
	w.OwnerGone = true
}

// Bounds of what is guessed: each takes a look at the local variables, or the stack, of every thread.
const (
	maxGuess        = 16
	maxGuessThreads = 256
)

func (w *Wait) isLock() bool {
	return w.Kind == "mutex" || w.Kind == "rwlock-read" || w.Kind == "rwlock-write"
}

// inferOwners finds who holds locks that do not say it: by local variables that guard the lock, else by the stack.
func (a *analysis) inferOwners() {
	objects := map[objectID][]*Thread{}
	var order []objectID
	for _, t := range a.threads {
		w := t.Wait
		if w == nil || w.Owner != 0 || w.object == 0 {
			continue
		}
		if w.Kind == "once" {
			a.onceOwner(t)
			continue
		}
		if !w.isLock() {
			continue
		}
		id := objectID{t.PID, w.object}
		if objects[id] == nil {
			order = append(order, id)
		}
		objects[id] = append(objects[id], t)
	}
	for i, id := range order {
		if i == maxGuess {
			return
		}
		owner, how := a.inferOwner(id, objects[id])
		if owner == nil {
			continue
		}
		for _, t := range objects[id] {
			t.Wait.own(owner.TID, how)
		}
	}
}

// inferOwner finds the thread that holds a lock: by a guard that leads to it, else the one thread of which most speaks
// for it.
func (a *analysis) inferOwner(id objectID, waiters []*Thread) (owner *Thread, how string) {
	p := a.procs[id.pid]
	var asked []*Thread
	for _, t := range a.threads {
		if t.PID == id.pid && len(asked) < maxGuessThreads {
			asked = append(asked, t)
		}
	}
	for _, t := range asked {
		for _, g := range a.guardsOf(t) {
			if g.Anywhere || id.addr < g.Lo || id.addr >= g.Hi {
				continue
			}
			if owner != nil && owner != t && !g.Read {
				return nil, "" // one of them is a variable that holds the lock no more
			}
			if owner == nil {
				owner, how = t, "guard"
			}
		}
	}
	if owner != nil {
		return owner, how
	}
	const guard, mention = 2, 1
	rw, best, many := waiters[0].Wait.Kind != "mutex", 0, false
	for _, t := range asked {
		if slices.Contains(waiters, t) {
			continue
		}
		score := 0
		if slices.ContainsFunc(a.guardsOf(t), func(g Guard) bool { return g.Anywhere && g.RW == rw }) {
			score += guard
		}
		if p.Stack != nil && p.Stack(t, id.addr) {
			score += mention
		}
		switch {
		case score > best:
			owner, best, many = t, score, false
		case score == best:
			many = true
		}
	}
	if best == 0 || many {
		return nil, ""
	}
	return owner, "guess"
}

func (a *analysis) guardsOf(t *Thread) []Guard {
	g, ok := a.guards[t]
	if guards := a.procs[t.PID].Guards; !ok && guards != nil {
		g = guards(t)
		a.guards[t] = g
	}
	return g
}

// onceOwner finds the thread that runs what is run once: it is in the function in which the others wait, further out on
// its stack.
func (a *analysis) onceOwner(t *Thread) {
	root := a.procs[t.PID].Root
	i := t.user(root)
	if i < 0 || t.Frames[i].Function == "" {
		return
	}
	name := t.Frames[i].Function
	var owner *Thread
	for _, o := range a.threads {
		if o == t || o.PID != t.PID {
			continue
		}
		for j := range o.Frames {
			inside := o.Frames[j].Function == name && (o.Wait == nil || o.Wait.Kind != "once" || o.Wait.object != t.Wait.object)
			if !inside {
				continue
			}
			if owner != nil && owner != o {
				return
			}
			owner = o
			break
		}
	}
	if owner == nil { // the function may have come back to itself
		for j := i + 1; j < len(t.Frames); j++ {
			if t.Frames[j].Function == name {
				owner = t
				break
			}
		}
	}
	if owner == nil {
		owner = a.inOnce(t)
	}
	if owner != nil {
		t.Wait.own(owner.TID, "stack")
	}
}

// maxNames bounds the objects that are named: each may take a look at many variables.
const maxNames = 64

// name gives the object that a thread waits for the name of its variable.
func (a *analysis) name(t *Thread) {
	w := t.Wait
	p := a.procs[t.PID]
	if w == nil || w.object == 0 || p.Name == nil {
		return
	}
	if a.named == nil {
		a.named = map[objectID]string{}
	}
	id := objectID{t.PID, w.object}
	name, ok := a.named[id]
	if !ok && len(a.named) < maxNames {
		name = p.Name(t, w.object)
		a.named[id] = name
	}
	w.Name = name
	for i, stream := range []string{"stdin", "stdout", "stderr"} {
		if strings.HasPrefix(name, fmt.Sprintf("_IO_stdfile_%d_lock", i)) { // glibc's
			w.Name = stream
		}
	}
}

// What describes a wait in a few words: "mutex m2", "pipe (stdin)", "sleep 60s".
func (w *Wait) What() string {
	words := []string{w.Kind}
	switch {
	case w.Kind == "poll" && w.FD != nil && w.File != "":
		words = append(words, "of", byFile(w.File), fmt.Sprintf("(fd %d)", *w.FD))
	case w.Kind == "file-lock" && w.File != "":
		words = append(words, path.Base(w.File))
	case w.FD != nil && (w.Kind == "pipe" || w.Kind == "socket" || w.Kind == "eventfd"):
		words = append(words, fmt.Sprintf("(fd %d)", *w.FD))
	case w.Name != "":
		words = append(words, w.Name)
	case w.Object != "":
		words = append(words, w.Object)
	}
	switch {
	case w.Detail == "":
	case len(words) > 1:
		words = append(words, "("+w.Detail+")")
	default:
		words = append(words, w.Detail)
	}
	return strings.Join(words, " ")
}
