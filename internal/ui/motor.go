package ui

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Intent is what a user would do.
type Intent struct {
	Action    string
	ID        string
	Title     string
	Role      string
	At        *Point // instead of an element
	Value     string
	Text      string
	Item      string
	Direction string
	Amount    int
	To        *Target
	Key       string
	Modifiers []string
	Blind     bool // nobody looks whether it worked
	Timeout   time.Duration
	// Begin is told the element in a line before anything is done; an error ends it. nil: nobody wants to know.
	Begin func(line string) error
}

// Point is a place on the screen.
type Point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is where something is dragged to.
type Target struct {
	ID string `json:"id,omitempty"`
	X  int    `json:"x,omitempty"`
	Y  int    `json:"y,omitempty"`
}

// Outcome is what came of it.
type Outcome struct {
	Done          bool
	Method        string // accessibility, pointer, keyboard or learned
	Before, After string // the element in a line; "": there is none
	Diff          *Diff  // on the whole screen
	Tried         []string
	Why           string // it is not done, or what there is to know
	Stamp         string
}

// Methods of an outcome.
const (
	byAccessibility = "accessibility"
	byPointer       = "pointer"
	byKeyboard      = "keyboard"
	byLearned       = "learned"
)

// Bounds of an action.
const (
	DefaultAction = 5 * time.Second
	attemptMax    = 700 * time.Millisecond // until what was tried shows; then the next way is tried
	checkEvery    = 8 * time.Millisecond
	quietFor      = 50 * time.Millisecond // without events the interface has settled
	quietMax      = 400 * time.Millisecond
	lateMax       = 600 * time.Millisecond // for something to be seen of what was done
)

// way is one thing to try.
type way struct {
	name   string // by which it is learned
	method string
	do     func(ctx context.Context) error
}

// act is one action under way.
type act struct {
	p       *Panel
	in      Intent
	before  *Seen
	n       *Node // nil: a point
	at      Point
	picture *image.RGBA // of what may be all that changes
	area    Rect        // where that is
	out     *Outcome
	now     *Node // the element as it was read last
	goneNow bool
}

// Do does what a user would, and looks whether it worked.
func (p *Panel) Do(ctx context.Context, in Intent) (*Outcome, error) {
	if in.Timeout == 0 {
		in.Timeout = DefaultAction
	}
	ctx, cancel := context.WithTimeout(ctx, in.Timeout+DefaultTimeout)
	defer cancel()
	if !p.take(ctx) {
		return nil, ctx.Err()
	}
	defer p.give()
	before, err := p.look(ctx, false)
	if err != nil {
		return nil, err
	}
	if len(before.Windows) == 0 {
		return nil, fault.New(fault.UIQueryFailed, "Wait with debug_ui and waitFor.", "no process of it shows a window")
	}
	a := &act{p: p, in: in, before: before, out: &Outcome{}}
	if err := a.find(ctx); err != nil {
		return nil, err
	}
	if a.n != nil {
		a.out.Before = Line(a.n, false)
	}
	ways, check, err := a.plan(ctx)
	if err != nil {
		return nil, err
	}
	if in.Begin != nil {
		if err := in.Begin(a.out.Before); err != nil {
			return nil, err
		}
	}
	try, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	if err := a.attempt(try, ways, check); err != nil {
		return nil, err
	}
	return a.out, a.finish(ctx)
}

// find finds the element that is meant.
func (a *act) find(ctx context.Context) (err error) {
	in := &a.in
	switch {
	case in.ID != "":
		if a.n, err = a.before.Find(in.ID); err != nil { // it may be hidden
			if all, err2 := a.p.look(ctx, true); err2 == nil {
				if n, err2 := all.Find(in.ID); err2 == nil {
					a.n, err = n, nil
				}
			}
		}
	case in.Title != "":
		a.n, err = a.before.FindTitle(in.Title, in.Role)
	case in.At != nil:
		a.at = *in.At
		a.n = nil
		if !a.onWindow(a.at) {
			return fault.New(fault.UIQueryFailed, "debug_ui shows where its windows are.",
				"at %d,%d there is no window of this program", a.at.X, a.at.Y)
		}
		return a.keepPicture(ctx, a.windows())
	case in.Action == "type" || in.Action == "key":
		a.n = a.before.focused()
	default:
		return fault.New(fault.ValidationError, "Give id, title or at.", "%s of what?", in.Action)
	}
	if a.n != nil {
		a.now = a.n
		a.at.X, a.at.Y = a.n.Rect.Center()
		if len(a.before.Bare) > 0 {
			return a.keepPicture(ctx, a.windows())
		}
	}
	return err
}

// focused is the innermost element that has the keyboard.
func (t *Tree) focused() (found *Node) {
	for _, w := range t.Windows {
		w.Walk(func(n *Node) bool {
			if n.Is(Focused) && (found == nil || n.Can&(CanText|CanEdit) != 0 || found.Can&(CanText|CanEdit) == 0) {
				found = n
			}
			return true
		})
	}
	if found == nil && len(t.Windows) == 1 {
		return t.Windows[0]
	}
	return found
}

func (a *act) onWindow(p Point) bool {
	for _, w := range a.before.Windows {
		if w.Rect.Intersects(Rect{p.X, p.Y, 1, 1}) {
			return true
		}
	}
	return false
}

// windows is where the program's windows are.
func (a *act) windows() (all Rect) {
	for _, w := range a.before.Windows {
		all = all.union(w.Rect)
	}
	return all
}

// keepPicture remembers what something looks like: where accessibility shows nothing, a change there is all that there
// is to see.
func (a *act) keepPicture(ctx context.Context, area Rect) (err error) {
	if a.picture != nil || area.Empty() {
		return nil
	}
	a.area = area
	a.picture, err = a.p.d.Screen(ctx, area)
	if errors.Is(err, unsupported) {
		return err
	}
	if err != nil {
		return fault.New(fault.UIQueryFailed, "debug_ui shows what there is.", "take a picture: %w", err)
	}
	return nil
}

// attempt tries one way after the other until one works. What was learned comes first. An error is that of a platform
// by which none of them can be done.
func (a *act) attempt(ctx context.Context, ways []way, check func(context.Context) bool) (unable error) {
	learned := ""
	if a.n != nil {
		learned = a.p.skills.of(a.in.Action, a.n)
	}
	for i := range ways {
		if ways[i].name == learned && i > 0 {
			w := ways[i]
			copy(ways[1:i+1], ways[:i])
			ways[0] = w
			ways[0].method = byLearned
			break
		}
	}
	for i, w := range ways {
		if ctx.Err() != nil {
			a.out.Tried = append(a.out.Tried, fmt.Sprintf("%s was not tried: time was up", w.name))
			return nil
		}
		err := w.do(ctx)
		a.out.Method = w.method
		if a.in.Blind && err == nil {
			a.out.Done, a.out.Why = true, "not verified, as asked"
			return nil
		}
		if err == nil && a.wait(ctx, check) {
			a.out.Done = true
			if a.n != nil && i > 0 {
				a.p.skills.learn(a.in.Action, a.n, w.name) //nolint:errcheck // it is found out again
			}
			return nil
		}
		if !errors.Is(err, unsupported) {
			unable = nil
		} else if i == 0 {
			unable = err
		}
		tried := w.name
		if err != nil {
			tried += ": " + err.Error()
		} else {
			tried += ": nothing came of it"
		}
		a.out.Tried = append(a.out.Tried, tried)
		if w.method == byLearned {
			a.p.skills.learn(a.in.Action, a.n, "") //nolint:errcheck // it is found out again
		}
	}
	return unable
}

// unsupported is what a platform says that cannot do what was wanted.
var unsupported = &fault.Error{Code: fault.Unsupported}

// wait looks until the check holds, for as long as an attempt has.
func (a *act) wait(ctx context.Context, check func(context.Context) bool) bool {
	for end := time.Now().Add(attemptMax); ; {
		if check(ctx) {
			return true
		}
		if time.Now().After(end) || rest(ctx, checkEvery) != nil {
			return false
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits until programs say of no more changes.
func (a *act) settle(ctx context.Context) {
	for end := time.Now().Add(quietMax); time.Now().Before(end); {
		if time.Since(time.Unix(0, a.p.when.Load())) >= quietFor {
			return
		}
		if rest(ctx, checkEvery) != nil {
			return
		}
	}
}

// finish looks at what is there now.
func (a *act) finish(ctx context.Context) error {
	rest(ctx, 2*checkEvery) //nolint:errcheck // events of what was done are on their way
	a.settle(ctx)
	after, err := a.p.look(ctx, false)
	// GTK 4 shows a button pressed for a quarter of a second before it does anything.
	for end := time.Now().Add(lateMax); a.out.Done && a.in.Action != "hover" && err == nil &&
		after.Shot.Since(a.before.Shot).Len() == 0 && time.Now().Before(end); {
		came := a.p.events.Load()
		for a.p.events.Load() == came && time.Now().Before(end) && rest(ctx, checkEvery) == nil {
			continue
		}
		a.settle(ctx)
		after, err = a.p.look(ctx, false)
	}
	if err != nil {
		if a.out.Done { // as that which ends the program does
			a.out.Diff, a.out.Why = &Diff{}, "the program shows nothing any more"
			return nil
		}
		return err
	}
	a.out.Diff, a.out.Stamp = after.Shot.Since(a.before.Shot), after.Stamp
	if a.n != nil {
		if now, err := after.Find(a.n.ID); err == nil {
			a.out.After = Line(now, false)
		} else if now, err := a.p.d.Again(ctx, a.n); err == nil {
			a.out.After = Line(now, false)
		} else {
			a.out.After = a.n.ID + " has gone"
		}
	}
	if a.out.Done && a.out.Diff.Len() == 0 && a.in.Action != "hover" && a.out.Before == a.out.After && a.out.Why == "" {
		a.out.Why = "the program took it, and nothing on the screen is other than before"
	}
	if !a.out.Done && a.out.Why == "" {
		a.out.Why = "What was wanted cannot be seen: " + strings.Join(a.out.Tried, "; ")
	}
	return nil
}

// again reads the element anew; false where it has gone.
func (a *act) again(ctx context.Context) bool {
	if a.n == nil {
		return false
	}
	now, err := a.p.d.Again(ctx, a.n)
	if err != nil {
		a.goneNow = !errors.Is(err, context.DeadlineExceeded)
		return false
	}
	a.now = now
	return true
}

// caretPoints are those that a caret has which comes and goes by itself.
const caretPoints = 100

// differs reports whether anything is other on the screen than before.
func (a *act) differs(ctx context.Context) bool {
	if a.picture != nil {
		if now, err := a.p.d.Screen(ctx, a.area); err == nil && Differ(a.picture, now) > caretPoints {
			return true
		}
	}
	now, err := a.p.look(ctx, false)
	return err == nil && now.Shot.Since(a.before.Shot).Len() > 0
}
