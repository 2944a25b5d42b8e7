package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// keptShots is how many looks are kept to compare with.
const keptShots = 16

// Panel is the interface of some processes. Safe for concurrent use: one look or action at a time.
type Panel struct {
	d       Desktop
	pids    func() []int
	program string
	skills  *skills

	busy chan struct{} // a token: who looks or acts holds it

	names  *names         // with busy
	last   *Tree          // with busy
	shots  []stamped      // with busy
	stamp  int            // with busy
	events atomic.Int64   // that came
	when   atomic.Int64   // the last, in nanoseconds
	mu     sync.Mutex     // leaf
	dirty  map[string]int // keys of elements that changed since it was asked last, and how often
}

type stamped struct {
	stamp string
	shot  *Shot
}

// NewPanel is the interface of the processes that pids tells, of a program of that name. What is learned of it is kept
// in a file in dir, "" for nowhere. Close ends the desktop, too.
func NewPanel(ctx context.Context, d Desktop, program, dir string, pids func() []int) (*Panel, error) {
	p := &Panel{d: d, pids: pids, program: program, names: newNames(), busy: make(chan struct{}, 1),
		dirty: map[string]int{}, skills: loadSkills(dir, program)}
	if err := d.Changes(ctx, p.changed); err != nil {
		return nil, fmt.Errorf("ask for changes of the interface: %w", err)
	}
	return p, nil
}

// Close ends the connections.
func (p *Panel) Close() { p.d.Close() }

// Gone is closed when the desktop has ended.
func (p *Panel) Gone() <-chan struct{} { return p.d.Gone() }

// noisy bounds what is kept of changes until somebody asks.
const noisy = 4096

func (p *Panel) changed(key, _ string) {
	p.events.Add(1)
	p.when.Store(time.Now().UnixNano())
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.dirty[key]; ok || len(p.dirty) < noisy {
		p.dirty[key]++
	}
}

// Noted are the ids of elements that programs said have changed since this was asked last, the most often first, and
// how many changes that were. Elements that were not looked at have no id and are only counted.
func (p *Panel) Noted(ctx context.Context) (ids []string, changes int) {
	if !p.take(ctx) {
		return nil, 0
	}
	defer p.give()
	p.mu.Lock()
	dirty := p.dirty
	p.dirty = map[string]int{}
	p.mu.Unlock()
	count := map[string]int{}
	for key, n := range dirty {
		changes += n
		if g, ok := p.names.given[key]; ok {
			ids = append(ids, g.id)
			count[g.id] = n
		}
	}
	sorting.By(ids, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	return ids, changes
}

func (p *Panel) take(ctx context.Context) bool {
	select {
	case p.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Panel) give() { <-p.busy }

// Seen is one look, with what it is called to be compared with later.
type Seen struct {
	*Tree
	Shot  *Shot
	Stamp string
}

// Look reads the interface.
func (p *Panel) Look(ctx context.Context, all bool) (*Seen, error) {
	if !p.take(ctx) {
		return nil, ctx.Err()
	}
	defer p.give()
	return p.look(ctx, all)
}

func (p *Panel) look(ctx context.Context, all bool) (*Seen, error) {
	t, err := p.d.Look(ctx, Look{PIDs: p.pids(), All: all})
	if err != nil {
		return nil, err
	}
	p.names.name(t)
	p.last = t
	s := &Seen{Tree: t, Shot: ShotOf(t)}
	if n := len(p.shots); n > 0 && p.shots[n-1].shot.same(s.Shot) {
		s.Stamp = p.shots[n-1].stamp
		return s, nil
	}
	p.stamp++
	s.Stamp = fmt.Sprintf("s%d", p.stamp)
	p.shots = append(p.shots, stamped{s.Stamp, s.Shot})
	p.shots = p.shots[max(0, len(p.shots)-keptShots):]
	return s, nil
}

func (s *Shot) same(o *Shot) bool {
	if !slices.Equal(s.order, o.order) {
		return false
	}
	for id, l := range s.lines {
		if o.lines[id] != l {
			return false
		}
	}
	return true
}

// Since is the look of that stamp.
func (p *Panel) Since(ctx context.Context, stamp string) (*Shot, error) {
	if !p.take(ctx) {
		return nil, ctx.Err()
	}
	defer p.give()
	var have []string
	for _, s := range p.shots {
		if s.stamp == stamp {
			return s.shot, nil
		}
		have = append(have, s.stamp)
	}
	return nil, fault.New(fault.UIQueryFailed, "Ask without since.", "no look with stamp %q is kept, but %s", stamp,
		strings.Join(have, ", "))
}

// Find returns the element of an id.
func (t *Tree) Find(id string) (*Node, error) {
	var found *Node
	var ids []string
	for _, w := range t.Windows {
		w.Walk(func(n *Node) bool {
			ids = append(ids, n.ID)
			if n.ID == id {
				found = n
			}
			return found == nil
		})
	}
	if found != nil {
		return found, nil
	}
	hint := "debug_ui shows what there is."
	if like := near.Names(id, ids, 3); len(like) > 0 {
		hint = "Did you mean " + strings.Join(like, ", ") + "? debug_ui shows what there is."
	}
	return nil, fault.New(fault.UIQueryFailed, hint, "no element %q is shown now", id)
}

// FindTitle returns the element with that name and, where it is given, role: by its whole name before a part of it.
func (t *Tree) FindTitle(title string, role string) (*Node, error) {
	var exact, part []*Node
	var names []string
	want := strings.ToLower(plain(title))
	for _, w := range t.Windows {
		var above *Node
		var in func(n, above *Node)
		in = func(n, above *Node) {
			hide := folded(n, above)
			if (role == "" && !hide || role != "" && n.isRole(role)) && (n.Name != "" || n.Text != "") {
				name := strings.ToLower(plain(n.Name))
				switch {
				case name == want:
					exact = append(exact, n)
				case want != "" && strings.Contains(name, want):
					part = append(part, n)
				}
				names = append(names, n.Name)
			}
			if !hide {
				above = n
			}
			for _, c := range n.Children {
				in(c, above)
			}
		}
		in(w, above)
	}
	found := exact
	if len(found) == 0 {
		found = part
	}
	if len(found) > 1 { // what can be acted on counts more than a text that says the same
		if able := slices.DeleteFunc(slices.Clone(found), func(n *Node) bool {
			return n.Can&(CanAct|CanEdit|CanValue) == 0 ||
				n.Role == RoleLabel
		}); len(able) > 0 {
			found = able
		}
	}
	of := ""
	if role != "" {
		of = " of role " + role
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		hint := "debug_ui shows what there is."
		if like := near.Names(title, names, 3); len(like) > 0 {
			hint = fmt.Sprintf("Did you mean %q? %s", like, hint)
		}
		return nil, fault.New(fault.UIQueryFailed, hint, "no element%s with title %q is shown now", of, title)
	}
	var lines []string
	for _, n := range found[:min(len(found), 5)] {
		lines = append(lines, Line(n, false))
	}
	return nil, fault.New(fault.UIQueryFailed, "Give the id of one.", "%d elements%s have the title %q: %s", len(found),
		of, title, strings.Join(lines, "; "))
}

// plain is a name without the marks of shortcuts and of dialogs.
func plain(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "_", ""))
	return strings.TrimRight(strings.ReplaceAll(s, "&", ""), ".…:")
}

// isRole reports whether an element is of a role: by its name, or as ids begin.
func (n *Node) isRole(role string) bool { return string(n.Role) == role || n.Role.Short() == role }

// Condition is what is waited for.
type Condition struct {
	ID    string `json:"id,omitempty"`
	Role  string `json:"role,omitempty"`
	Title string `json:"title,omitempty"`
	Value string `json:"value,omitempty"`

	Gone      bool `json:"gone,omitempty"`
	TimeoutMs int  `json:"timeoutMs,omitempty"`
}

// holds finds what fits the condition.
func (c *Condition) holds(t *Tree) bool {
	found := false
	for _, w := range t.Windows {
		w.Walk(func(n *Node) bool {
			found = found || (c.ID == "" || n.ID == c.ID) && (c.Role == "" || n.isRole(c.Role)) &&
				(c.Title == "" || strings.Contains(strings.ToLower(plain(n.Name)), strings.ToLower(plain(c.Title)))) &&
				(c.Value == "" || n.shows(c.Value))
			return !found
		})
	}
	return found != c.Gone
}

// shows reports whether an element's content or number is that.
func (n *Node) shows(v string) bool {
	return strings.Contains(n.Text, v) || n.Value != nil && number(n.Value.Now) == v ||
		strings.Contains(n.Name, v) || slices.Contains(Words(n), v)
}

// lookEvery is the pause between looks while something is waited for, where no program says that anything changed.
const lookEvery = 200 * time.Millisecond

// WaitFor looks until the condition holds, and reports whether it did in time.
func (p *Panel) WaitFor(ctx context.Context, c Condition, timeout time.Duration) (s *Seen, held bool, err error) {
	end := time.Now().Add(timeout)
	for {
		before := p.events.Load()
		if s, err = p.Look(ctx, false); err != nil {
			return nil, false, err
		}
		if c.holds(s.Tree) {
			return s, true, nil
		}
		for waited := time.Duration(0); waited < lookEvery; waited += 20 * time.Millisecond {
			if time.Now().After(end) {
				return s, false, nil
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return nil, false, ctx.Err()
			}
			if p.events.Load() != before && waited >= 20*time.Millisecond {
				break
			}
		}
	}
}
