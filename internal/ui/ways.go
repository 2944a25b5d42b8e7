package ui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// check tells whether what was wanted is there.
type check = func(ctx context.Context) bool

// plan is the ways to do what is meant, the best first, and how to see that it is done.
func (a *act) plan(ctx context.Context) ([]way, check, error) {
	if a.n != nil && a.n.Is(Disabled) && a.in.Action != "hover" && a.in.Action != "key" {
		return nil, nil, fault.New(fault.UIQueryFailed, "Something else has to be done first; debug_ui with waitFor waits.",
			"%s is disabled", Line(a.n, false))
	}
	switch a.in.Action {
	case "click":
		return a.planClick(ctx)
	case "double_click":
		return []way{a.pointer("double click", ButtonLeft, 2)}, a.differs, a.keepPicture(ctx, a.place())
	case "right_click":
		return []way{a.pointer("right click", ButtonRight, 1)}, a.differs, a.keepPicture(ctx, a.place())
	case "hover":
		return []way{{"pointer", byPointer, func(ctx context.Context) error { return a.moveThere(ctx) }}},
			func(context.Context) bool { return true }, nil
	case "set_value":
		return a.planValue(ctx)
	case "type":
		return a.planType(ctx)
	case "select":
		return a.planSelect(ctx)
	case "scroll":
		return a.planScroll(ctx)
	case "drag":
		return a.planDrag(ctx)
	case "key":
		return a.planKey(ctx)
	}
	return nil, nil, fault.New(fault.ValidationError, "See the tool's schema.", "there is no action %q", a.in.Action)
}

// place is where the element is.
func (a *act) place() Rect {
	if a.n == nil {
		return Rect{}
	}
	return a.n.Rect
}

// turnsMost bounds how far a list is scrolled for an item: 10,000 rows of it, by three at a time.
const turnsMost = 3000

// bring scrolls what the element is in by the wheel, until it shows there.
func (a *act) bring(ctx context.Context) error {
	in := a.n.Parent
	if in == nil || in.Rect.Empty() || a.now.Rect.Empty() {
		return nil
	}
	last, turns := a.now.Rect, 5
	for done := 0; done < turnsMost; done += turns {
		_, y := a.now.Rect.Center()
		wheel := WheelDown
		switch {
		case y < in.Rect.Y:
			wheel = WheelUp
		case y < in.Rect.Y+in.Rect.H:
			return nil
		}
		if err := a.p.d.Activate(ctx, a.n); err != nil {
			return err
		}
		x, mid := in.Rect.Center()
		if err := a.p.d.Move(x, mid); err != nil {
			return err
		}
		for range turns {
			if err := errors.Join(a.p.d.Button(wheel, true), a.p.d.Button(wheel, false)); err != nil {
				return err
			}
		}
		moved := func(ctx context.Context) bool { return a.again(ctx) && a.now.Rect != last }
		if !a.soon(ctx, moved) {
			return errors.New("it is outside of what it is in, and the wheel does not bring it")
		}
		// As many turns as are left to go, by how far these went.
		step := max(1, abs(a.now.Rect.Y-last.Y)/turns)
		_, y = a.now.Rect.Center()
		turns = min(max(1, abs(y-mid)/step), 400)
		last = a.now.Rect
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%d turns of the wheel did not bring it", turnsMost)
}

func abs(v int) int { return max(v, -v) }

// there makes the element's place known: it is scrolled to where it does not show.
func (a *act) there(ctx context.Context) error {
	if a.n == nil {
		return nil
	}
	if !a.again(ctx) {
		return fmt.Errorf("element %s has gone", a.n.ID)
	}
	if !a.now.Is(Visible) || a.now.Rect.Empty() {
		if err := a.p.d.Reveal(ctx, a.n); err == nil {
			a.again(ctx)
		}
	}
	if err := a.bring(ctx); err != nil {
		return err
	}
	if a.now.Rect.Empty() {
		return errors.New("it has no place on the screen")
	}
	a.at.X, a.at.Y = a.now.Rect.Center()
	return nil
}

func (a *act) moveThere(ctx context.Context) error {
	if err := a.there(ctx); err != nil {
		return err
	}
	if a.n != nil {
		if err := a.p.d.Activate(ctx, a.n); err != nil {
			return err
		}
	}
	return a.p.d.Move(a.at.X, a.at.Y)
}

// between is the time between two clicks, or steps of a drag: programs take more at once for one.
const between = 12 * time.Millisecond

// pointer clicks where the element is.
func (a *act) pointer(name string, button, times int) way {
	return way{name, byPointer, func(ctx context.Context) error {
		if err := a.moveThere(ctx); err != nil {
			return err
		}
		rest(ctx, between) //nolint:errcheck // a program that shows where the pointer is does so first
		return a.press(ctx, button, times)
	}}
}

func (a *act) press(ctx context.Context, button, times int) error {
	for range times {
		if err := errors.Join(a.p.d.Button(button, true), a.p.d.Button(button, false)); err != nil {
			return err
		}
		if err := rest(ctx, between); err != nil {
			return err
		}
	}
	return nil
}

// pressing are the actions that do what a click does, by the names that toolkits give them.
var pressing = []string{"click", "press", "activate", "toggle", "jump", "open", "select", "dodefault", "push", "check",
	"uncheck", "showmenu"}

// byPointerFirst are roles of which the action of accessibility is another than what a click does.
func byPointerFirst(r Role) bool {
	return r == RoleCell || r == RoleListItem || r == RoleTreeItem || r == "table row" || r.HoldsText() ||
		r == RoleLabel || boxes[r]
}

// action is the element's own action that does what a click does.
func (a *act) action(ctx context.Context) (way, bool) {
	if a.n == nil || !a.n.Has(CanAct) {
		return way{}, false
	}
	names, err := a.p.d.Actions(ctx, a.n)
	if err != nil {
		return way{}, false
	}
	best, rank := -1, len(pressing)
	for i, name := range names {
		if k := slices.Index(pressing, strings.ToLower(strings.TrimSpace(name))); k >= 0 && k < rank {
			best, rank = i, k
		}
	}
	if best < 0 && len(names) == 1 && names[0] == "" { // GTK 4 gives no names
		best = 0
	}
	if best < 0 {
		return way{}, false
	}
	return way{"accessible action " + names[best], byAccessibility, func(ctx context.Context) error {
		return a.p.d.Act(ctx, a.n, best)
	}}, true
}

// toggles are states that a click changes.
const toggles = Checked | Selected | Expanded | Pressed | Indeterminate

func (a *act) planClick(ctx context.Context) ([]way, check, error) {
	var ways []way
	press, ok := a.action(ctx)
	if ok {
		ways = append(ways, press)
	}
	if a.n != nil && a.n.Role == RoleTab && a.n.Parent != nil && a.n.Parent.Has(CanSelect) {
		ways = append([]way{a.choose(a.n)}, ways...)
	}
	click := a.pointer("click", ButtonLeft, 1)
	if a.n != nil && byPointerFirst(a.n.Role) {
		ways = append([]way{click}, ways...)
	} else {
		ways = append(ways, click)
	}
	if a.n == nil {
		return ways, a.differs, nil
	}
	was := a.n.States
	switch {
	case a.n.Role == RoleTab && was&Selected != 0 || a.n.isRole("rad") && was&Checked != 0:
		return ways, func(context.Context) bool { return true }, nil // it was chosen already
	case a.n.Is(Checkable) || a.n.isRole("chk") || a.n.isRole("tgl") || a.n.isRole("rad") || a.n.isRole("sw"):
		return ways, func(ctx context.Context) bool {
			return a.again(ctx) && (a.now.States^was)&(toggles) != 0 || a.goneNow
		}, nil
	case a.n.Role.HoldsText():
		return ways, func(ctx context.Context) bool { return a.again(ctx) && a.now.Is(Focused) || a.goneNow }, nil
	case ok && !byPointerFirst(a.n.Role) && a.n.Role != RoleMenu && a.n.Role != RoleComboBox && a.n.Role != RoleTab:
		// The program says that it has pressed the button: whatever it does may be nothing to see.
		return ways, func(ctx context.Context) bool {
			if a.out.Method == byAccessibility {
				return true
			}
			return a.again(ctx) && (a.now.States^was)&(toggles|Focused) != 0 || a.goneNow || a.differs(ctx)
		}, nil
	}
	return ways, func(ctx context.Context) bool {
		return a.again(ctx) && (a.now.States^was)&(toggles|Focused) != 0 || a.goneNow || a.differs(ctx)
	}, nil
}

// choose selects an element by what it is in.
func (a *act) choose(n *Node) way {
	return way{"select in " + n.Parent.ID, byAccessibility, func(ctx context.Context) error {
		return a.p.d.Select(ctx, n.Parent, n.Index)
	}}
}

func (a *act) planValue(ctx context.Context) ([]way, check, error) {
	n, v := a.n, a.in.Value
	if n == nil {
		return nil, nil, fault.New(fault.ValidationError, "Give id or title.", "set_value of what?")
	}
	on, isBool := truth(v)
	switch {
	case n.Value != nil && n.Role != RoleProgress:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(f) {
			return nil, nil, fault.New(fault.ValidationError, "Give a number.", "value %q of %s", v, Line(n, false))
		}
		if n.Value.Max > n.Value.Min && (f < n.Value.Min || f > n.Value.Max) {
			return nil, nil, fault.New(fault.ValidationError, "Give one within them.", "value %s is not between %s and %s", v,
				number(n.Value.Min), number(n.Value.Max))
		}
		return a.planNumber(f), a.reads(f), nil
	case isBool && (n.Is(Checkable) || n.isRole("chk") || n.isRole("tgl") || n.isRole("sw") || n.isRole("rad") ||
		n.isRole("mchk")):
		ways, _, err := a.planClick(ctx)
		is := func(n *Node) bool { return n.States&(Checked|Pressed) != 0 == on }
		if is(n) {
			ways = []way{{"it is so already", byAccessibility, func(context.Context) error { return nil }}}
		}
		return ways, func(ctx context.Context) bool { return a.again(ctx) && is(a.now) }, err
	case n.Role == RoleComboBox:
		a.in.Item = v
		return a.planSelect(ctx)
	case n.Has(CanEdit) || n.Is(Editable) || n.Role.HoldsText():
		a.in.Text = v
		ways := []way{{"accessible text", byAccessibility, func(ctx context.Context) error {
			return a.p.d.SetText(ctx, n, v)
		}},
			{"type over", byKeyboard, func(ctx context.Context) error {
				return errors.Join(a.focus(ctx), a.p.d.Chord(ctx, "a", []string{"ctrl"}), a.p.d.Type(ctx, v))
			}}}
		if !n.Has(CanEdit) {
			ways = ways[1:]
		}
		return ways, a.holds(func(s string) bool { return s == v },
			func(length int) bool { return length == len([]rune(v)) }), nil
	}
	return nil, nil, fault.New(fault.UIQueryFailed, "debug_ui_action click, drag or key may do it.",
		"%s has no value that can be set", Line(n, false))
}

// truth reads what a box is to be.
func truth(s string) (on, ok bool) {
	switch strings.ToLower(s) {
	case "true", "on", "checked", "yes", "1":
		return true, true
	case "false", "off", "unchecked", "no", "0":
		return false, true
	}
	return false, false
}

// planNumber sets a number: by accessibility, by typing it, by dragging.
func (a *act) planNumber(f float64) []way {
	n := a.n
	ways := []way{{"accessible value", byAccessibility, func(ctx context.Context) error {
		return a.p.d.SetValue(ctx, n, f)
	}}}
	if n.Role == RoleSpin {
		return append(ways, way{"type over", byKeyboard, func(ctx context.Context) error {
			return errors.Join(a.focus(ctx), a.p.d.Chord(ctx, "a", []string{"ctrl"}),
				a.p.d.Type(ctx, strconv.FormatFloat(f, 'f', -1, 64)), a.p.d.Chord(ctx, "Return", nil))
		}})
	}
	if n.Value.Max > n.Value.Min {
		ways = append(ways, way{"drag along", byPointer, func(ctx context.Context) error { return a.dragAlong(ctx, f) }})
	}
	return ways
}

// dragAlong takes a slider's handle from where its number says that it is to where the other one is.
func (a *act) dragAlong(ctx context.Context, f float64) error {
	if err := a.there(ctx); err != nil {
		return err
	}
	v, r := a.now.Value, a.now.Rect
	if v == nil {
		return errors.New("it has no number")
	}
	place := func(f float64) Point {
		part := (f - v.Min) / (v.Max - v.Min)
		if r.H > r.W {
			return Point{r.X + r.W/2, r.Y + int((1-part)*float64(r.H-1))}
		}
		return Point{r.X + int(part*float64(r.W-1)), r.Y + r.H/2}
	}
	return a.drag(ctx, place(v.Now), place(f))
}

// nearEnough is how far a number may be from what was wanted, as a part of its range: handles stand at points.
const nearEnough = 0.01

func (a *act) reads(f float64) check {
	return func(ctx context.Context) bool {
		if !a.again(ctx) || a.now.Value == nil {
			return false
		}
		return math.Abs(a.now.Value.Now-f) <= nearEnough*math.Abs(a.now.Value.Max-a.now.Value.Min)+1e-9
	}
}

// holds sees whether an element's content is as wanted; of a password, its length alone is known.
func (a *act) holds(want func(string) bool, length func(int) bool) check {
	return func(ctx context.Context) bool {
		if !a.again(ctx) {
			return false
		}
		if a.n.Role == RolePassword {
			return length(a.now.Length)
		}
		s, err := a.p.d.ReadText(ctx, a.n)
		return err == nil && want(strings.TrimSuffix(s, "\n")) || err == nil && want(s)
	}
}

// focus gives an element the keyboard, by accessibility or by a click.
func (a *act) focus(ctx context.Context) error {
	if a.n == nil {
		return nil
	}
	if err := a.p.d.Activate(ctx, a.n); err != nil {
		return err
	}
	if a.n.Parent == nil { // a window has it now
		return rest(ctx, between)
	}
	if a.again(ctx) && a.now.Is(Focused) {
		return nil
	}
	focused := func(ctx context.Context) bool { return a.again(ctx) && a.now.Is(Focused) }
	if err := a.p.d.Focus(ctx, a.n); err == nil && a.soon(ctx, focused) {
		return nil
	}
	if err := a.pointer("click", ButtonLeft, 1).do(ctx); err != nil {
		return err
	}
	if !a.soon(ctx, focused) && a.n.Is(Focusable) {
		return errors.New("it does not take the keyboard")
	}
	return nil
}

// soonMax is how long the keyboard takes to go elsewhere.
const soonMax = 250 * time.Millisecond

func (a *act) soon(ctx context.Context, c check) bool {
	for end := time.Now().Add(soonMax); ; {
		if c(ctx) {
			return true
		}
		if time.Now().After(end) || rest(ctx, checkEvery) != nil {
			return false
		}
	}
}

func (a *act) planType(ctx context.Context) ([]way, check, error) {
	if a.in.Text == "" {
		return nil, nil, fault.New(fault.ValidationError, "Give text.", "type what?")
	}
	if a.n == nil && a.in.At == nil {
		return nil, nil, fault.New(fault.UIQueryFailed, "Give id or title of what is to take it.", "nothing has the keyboard")
	}
	ways := []way{{"keys", byKeyboard, func(ctx context.Context) error {
		if a.in.At != nil {
			if err := a.pointer("click", ButtonLeft, 1).do(ctx); err != nil {
				return err
			}
		}
		if err := a.focus(ctx); err != nil {
			return err
		}
		return a.p.d.Type(ctx, a.in.Text)
	}}}
	if a.n == nil || !a.n.Has(CanText) {
		return ways, a.differs, nil
	}
	before, err := a.p.d.ReadText(ctx, a.n)
	if err != nil {
		return nil, nil, fault.New(fault.UIQueryFailed, "debug_ui shows what there is.", "%w", err)
	}
	text := a.in.Text
	return ways, a.holds(func(s string) bool {
		return strings.Count(s, text) > strings.Count(before, text) || s != before && strings.Trim(text, "\n\t") == ""
	}, func(length int) bool { return length == a.n.Length+len([]rune(text)) }), nil
}

func (a *act) planKey(ctx context.Context) ([]way, check, error) {
	key, mods := a.in.Key, slices.Clone(a.in.Modifiers)
	if parts := strings.Split(key, "+"); len(parts) > 1 && parts[len(parts)-1] != "" {
		key, mods = parts[len(parts)-1], append(mods, parts[:len(parts)-1]...)
	}
	if key == "" {
		return nil, nil, fault.New(fault.ValidationError, "For example Return, or ctrl+s.", "which key?")
	}
	return []way{{"key", byKeyboard, func(ctx context.Context) error {
		if a.in.ID != "" || a.in.Title != "" {
			if err := a.focus(ctx); err != nil {
				return err
			}
		} else if a.n != nil {
			if err := a.p.d.Activate(ctx, a.n); err != nil {
				return err
			}
		}
		return a.p.d.Chord(ctx, key, mods)
	}}}, a.moved(ctx), nil
}

// moved sees whether anything is other than before, a text's caret and what is selected of it as well.
func (a *act) moved(ctx context.Context) check {
	if a.n == nil || !a.n.Has(CanText) {
		return a.differs
	}
	at, selected, err := a.p.d.Caret(ctx, a.n)
	return func(ctx context.Context) bool {
		if err == nil {
			if at2, selected2, err := a.p.d.Caret(ctx, a.n); err == nil && (at != at2 || selected != selected2) {
				return true
			}
		}
		return a.differs(ctx)
	}
}
