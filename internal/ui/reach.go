package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// dragSteps is in how many moves a drag goes: programs begin one only after some.
const dragSteps = 12

func (a *act) drag(ctx context.Context, from, to Point) error {
	if err := a.p.d.Move(from.X, from.Y); err != nil {
		return err
	}
	rest(ctx, between) //nolint:errcheck // the next step says so
	err := a.p.d.Button(ButtonLeft, true)
	for i := 1; i <= dragSteps && err == nil; i++ {
		if err = rest(ctx, between); err == nil {
			err = a.p.d.Move(from.X+(to.X-from.X)*i/dragSteps, from.Y+(to.Y-from.Y)*i/dragSteps)
		}
	}
	// Whatever happened, no button stays pressed.
	return errors.Join(err, rest(context.WithoutCancel(ctx), between), a.p.d.Button(ButtonLeft, false))
}

func (a *act) planDrag(ctx context.Context) ([]way, check, error) {
	if a.in.To == nil {
		return nil, nil, fault.New(fault.ValidationError, "Give to, with an id or x and y.", "drag to where?")
	}
	to := Point{a.in.To.X, a.in.To.Y}
	if a.in.To.ID != "" {
		n, err := a.before.Find(a.in.To.ID)
		if err != nil {
			return nil, nil, err
		}
		if n.Rect.Empty() {
			return nil, nil, fault.New(fault.UIQueryFailed, "Scroll to it first.", "%s has no place on the screen", n.ID)
		}
		to.X, to.Y = n.Rect.Center()
	}
	return []way{{"drag", byPointer, func(ctx context.Context) error {
		if err := a.moveThere(ctx); err != nil {
			return err
		}
		return a.drag(ctx, a.at, to)
	}}}, a.differs, a.keepPicture(ctx, a.place())
}

var wheels = map[string]int{"up": WheelUp, "down": WheelDown, "left": WheelLeft, "right": WheelRight}

// Turns of the wheel.
const (
	defaultTurns = 3
	maxTurns     = 200 // until an item shows
)

func (a *act) planScroll(ctx context.Context) ([]way, check, error) {
	direction := a.in.Direction
	if direction == "" {
		direction = "down"
	}
	wheel, ok := wheels[direction]
	if !ok {
		return nil, nil, fault.New(fault.ValidationError, "up, down, left or right.", "there is no direction %q", direction)
	}
	if a.in.Item != "" {
		return a.planScrollTo(wheel)
	}
	turns := a.in.Amount
	if turns == 0 {
		turns = defaultTurns
	}
	if err := a.keepPicture(ctx, a.place()); err != nil {
		return nil, nil, err
	}
	ways := []way{{"wheel", byPointer, func(ctx context.Context) error {
		if err := a.moveThere(ctx); err != nil {
			return err
		}
		return a.press(ctx, wheel, turns)
	}}}
	return ways, a.differs, nil
}

// planScrollTo turns the wheel until an item of that name shows.
func (a *act) planScrollTo(wheel int) ([]way, check, error) {
	shows := func(ctx context.Context) bool {
		now, err := a.p.look(ctx, false)
		if err != nil {
			return false
		}
		n, err := now.FindTitle(a.in.Item, "")
		if err != nil || n.Rect.Empty() {
			return false
		}
		x, y := n.Rect.Center()
		return a.now == nil || a.now.Rect.Empty() || a.now.Rect.Intersects(Rect{x, y, 1, 1})
	}
	ways := []way{}
	if a.n != nil {
		ways = append(ways, way{"accessible scroll", byAccessibility, func(ctx context.Context) error {
			item, err := a.itemIn(ctx, a.n, a.in.Item, 0)
			if err != nil {
				return err
			}
			return a.p.d.Reveal(ctx, item)
		}})
	}
	return append(ways, way{"wheel", byPointer, func(ctx context.Context) error {
		if err := a.moveThere(ctx); err != nil {
			return err
		}
		for range maxTurns / defaultTurns {
			if shows(ctx) {
				return nil
			}
			if err := a.press(ctx, wheel, defaultTurns); err != nil {
				return err
			}
		}
		return fmt.Errorf("%d turns did not bring it", maxTurns)
	}}), shows, nil
}

// Items are looked for so deep, and among so many on each level.
const (
	itemDepth = 5
	itemMost  = 2000
)

// itemIn finds what has a name below an element, also where it does not show.
func (a *act) itemIn(ctx context.Context, in *Node, name string, depth int) (*Node, error) {
	all, err := a.p.d.Children(ctx, in, itemMost)
	if err != nil {
		return nil, err
	}
	want := strings.ToLower(plain(name))
	var names []string
	for _, n := range all {
		if strings.ToLower(plain(n.Name)) == want {
			return a.p.d.Again(ctx, n)
		}
		names = append(names, n.Name)
	}
	if depth < itemDepth && len(all) <= 200 {
		for _, n := range all {
			if n.Role == RoleMenuItem || n.Role == RoleCell || n.Role == RoleListItem {
				continue
			}
			found, err := a.itemIn(ctx, n, name, depth+1)
			if err == nil {
				return found, nil
			}
			var e *noItem
			if errors.As(err, &e) {
				names = append(names, e.names...)
			}
		}
	}
	return nil, &noItem{name, in.ID, names}
}

// noItem is a name that nothing has.
type noItem struct {
	name, in string
	names    []string
}

func (e *noItem) Error() string {
	some := ""
	for i, n := range e.names {
		if n = short(n, 30); n != "" && i < 20 {
			some += fmt.Sprintf(" [%s]", n)
		}
	}
	return fmt.Sprintf("nothing in %s has the name %q, but%s", e.in, e.name, some)
}

func (a *act) planSelect(ctx context.Context) ([]way, check, error) {
	n := a.n
	if n == nil {
		return nil, nil, fault.New(fault.ValidationError, "Give id or title.", "select in what?")
	}
	if a.in.Item == "" { // the element itself
		if n.Parent == nil {
			return nil, nil, fault.New(fault.ValidationError, "Give item.", "select what?")
		}
		return a.selectOne(n)
	}
	if n.Role == "menu bar" || n.Role == RoleMenu || n.Role == "popup menu" || n.Role == RoleMenuItem ||
		n.isRole("btn") || n.isRole("tgl") {
		return a.selectMenu()
	}
	if n.Role == RoleComboBox {
		return a.selectCombo(ctx)
	}
	item, err := a.itemIn(ctx, n, a.in.Item, 0)
	if err != nil {
		return nil, nil, fault.New(fault.UIQueryFailed, "debug_ui with all and its id shows all of it.", "%w", err)
	}
	a.n = item
	a.out.Before = strings.TrimPrefix(Line(item, true), " ")
	return a.selectOne(item)
}

// selectOne selects an element in what it is in.
func (a *act) selectOne(n *Node) ([]way, check, error) {
	ways := []way{a.pointer("click", ButtonLeft, 1)}
	if n.Parent.Has(CanSelect) {
		ways = append([]way{a.choose(n)}, ways...)
	}
	return ways, func(ctx context.Context) bool {
		return a.again(ctx) && (a.now.Is(Selected) || a.now.Is(Checked)) || n.Role == RoleTab && a.differs(ctx)
	}, nil
}

// selectCombo chooses in a combo box.
func (a *act) selectCombo(ctx context.Context) ([]way, check, error) {
	n, want := a.n, strings.ToLower(plain(a.in.Item))
	item, missing := a.itemIn(ctx, n, a.in.Item, 0)
	var known *noItem
	if errors.As(missing, &known) && len(known.names) > 3 { // what it has is known: nothing is opened in vain
		return nil, nil, fault.New(fault.UIQueryFailed, "Choose one of them.", "%w", missing)
	}
	ways := []way{}
	if missing == nil && n.Has(CanSelect) {
		ways = append(ways, way{"accessible selection", byAccessibility, func(ctx context.Context) error {
			return a.p.d.Select(ctx, n, item.Index)
		}})
	}
	ways = append(ways, way{"open and click", byPointer, func(ctx context.Context) error {
		if err := a.pointer("click", ButtonLeft, 1).do(ctx); err != nil {
			return err
		}
		return a.clickShown(ctx, a.in.Item, n.ID)
	}}, way{"open and keys", byKeyboard, func(ctx context.Context) error {
		if missing != nil {
			return missing
		}
		err := errors.Join(a.pointer("click", ButtonLeft, 1).do(ctx), rest(ctx, soonMax), a.p.d.Chord(ctx, "Home", nil))
		for i := 0; i < item.Index && err == nil; i++ {
			err = a.p.d.Chord(ctx, "Down", nil)
		}
		return errors.Join(err, a.p.d.Chord(ctx, "Return", nil))
	}})
	return ways, func(ctx context.Context) bool {
		if !a.again(ctx) {
			return false
		}
		if strings.ToLower(plain(a.now.Name)) == want || strings.ToLower(plain(a.now.Text)) == want {
			return true
		}
		return a.showsIn(ctx, n, want)
	}, nil
}

// showsIn reports whether what is in a closed combo box says that this is chosen.
func (a *act) showsIn(ctx context.Context, n *Node, want string) bool {
	now, err := a.p.look(ctx, false)
	if err != nil {
		return false
	}
	box, err := now.Find(n.ID)
	if err != nil {
		return false
	}
	found := false
	for _, c := range box.Children {
		c.Walk(func(d *Node) bool {
			if s := strings.ToLower(plain(d.Name)); d.Role.HoldsText() && strings.ToLower(plain(d.Text)) == want ||
				s == want && (d.Role == RoleLabel || d.Role == RoleCell || d.Is(Selected)) {
				found = true
			}
			return !found
		})
	}
	return found
}

// clickShown waits until an item of a name shows, and clicks it.
func (a *act) clickShown(ctx context.Context, name, but string) error {
	var last error
	for range 20 {
		now, err := a.p.look(ctx, false)
		if err != nil {
			return err
		}
		n, err := now.findItem(name, but)
		if err == nil && !n.Rect.Empty() {
			one := &act{p: a.p, in: a.in, before: a.before, n: n, now: n, out: &Outcome{}}
			return one.pointer("click", ButtonLeft, 1).do(ctx)
		}
		if last = err; rest(ctx, 20*checkEvery/10) != nil {
			return ctx.Err()
		}
	}
	if last == nil {
		last = errors.New("it shows nowhere")
	}
	return last
}

// findItem finds what has a name and can be chosen.
func (t *Tree) findItem(name, but string) (*Node, error) {
	want := strings.ToLower(plain(name))
	var found *Node
	for _, w := range t.Windows {
		w.Walk(func(n *Node) bool {
			if n.ID != but && strings.ToLower(plain(n.Name)) == want && (n.isRole("mit") || n.isRole("itm") || n.isRole("cel") ||
				n.isRole("mnu") || n.isRole("mchk") || n.isRole("mrad") || n.Is(Selectable) || n.isRole("btn") && found == nil) {
				found = n
			}
			return true
		})
	}
	if found == nil {
		return nil, fmt.Errorf("no item [%s] shows", name)
	}
	return found, nil
}

// selectMenu goes through menus by the names of their items: File > Recent > Clear.
func (a *act) selectMenu() ([]way, check, error) {
	parts := strings.Split(a.in.Item, ">")
	path := parts[:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			path = append(path, p)
		}
	}
	if len(path) == 0 {
		return nil, nil, fault.New(fault.ValidationError, "For example File > Open.", "item %q is no path", a.in.Item)
	}
	done := false
	return []way{{"accessible menu", byAccessibility, func(ctx context.Context) error {
			n := a.n
			for _, name := range path {
				item, err := a.itemIn(ctx, n, name, 0)
				if err != nil {
					return err
				}
				n = item
			}
			if n.Is(Disabled) {
				return fmt.Errorf("[%s] is disabled", n.Name)
			}
			one := &act{p: a.p, in: a.in, before: a.before, n: n, now: n, out: &Outcome{}}
			press, ok := one.action(ctx)
			if !ok {
				return fmt.Errorf("[%s] has no action", n.Name)
			}
			done = true
			return press.do(ctx)
		}}, {"open and click", byPointer, func(ctx context.Context) error {
			if a.n.Role != "menu bar" {
				if err := a.pointer("click", ButtonLeft, 1).do(ctx); err != nil {
					return err
				}
			}
			for _, name := range path {
				if err := a.clickShown(ctx, name, a.n.ID); err != nil {
					return errors.Join(err, a.p.d.Chord(ctx, "Escape", nil))
				}
			}
			done = true
			return nil
		}}}, func(context.Context) bool {
			return done // the program says that it took it: once more would be twice
		}, nil
}
