package record

import (
	"context"
	"fmt"
	"iter"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Filter selects calls by where their events are. The zero value selects all.
type Filter struct {
	FromID, ToID event.ID    // inclusive, 0: open
	ToTS         int64       // inclusive, 0: open
	Funcs        *store.Bits // nil: all
	Threads      *store.Bits // nil: all
	Bare         bool        // values are not asked for, nor Parent and Depth: much cheaper
}

// Call is one call of a function. Its values are rendered when they are asked for; of a Bare filter's calls there are
// none.
type Call struct {
	Enter   *store.Row // nil: its begin is not among the events
	Exit    *store.Row // nil: nor is its end
	BelowNs int64      // what the calls that it made took
	r       *Reader
}

// Call makes a call of its two rows, of which one may be nil.
func (r *Reader) Call(enter, exit *store.Row) *Call { return &Call{Enter: enter, Exit: exit, r: r} }

// FuncID says what was called.
func (c *Call) FuncID() event.FuncID {
	if c.Exit != nil {
		return c.Exit.Func
	}
	return c.Enter.Func
}

// Function is what was called.
func (c *Call) Function() *Function { return c.r.Function(c.FuncID()) }

// Arguments are in parameter order.
func (c *Call) Arguments() value.Object {
	if c.Enter == nil {
		return nil
	}
	return c.Function().Arguments(c.Enter)
}

// Result returns false where the call has not ended, or there is nothing to know; see Function.Result.
func (c *Call) Result() (value.Value, bool) {
	if c.Exit == nil {
		return value.Value{}, false
	}
	return c.Function().Result(c.Exit)
}

// Out are what pointer arguments led to at the end.
func (c *Call) Out() value.Object {
	if c.Exit == nil {
		return nil
	}
	return c.Function().Out(c.Exit)
}

// Watches are the watched variables at the begin and at the end.
func (c *Call) Watches() (begin, end value.Object) {
	f := c.Function()
	if c.Enter != nil {
		begin = f.Watches(c.Enter)
	}
	if c.Exit != nil {
		end = f.Watches(c.Exit)
	}
	return begin, end
}

// Calls returns calls in the order of their ends, and behind them those that have not ended, thread by thread,
// outermost first. A call, its rows and their payloads are valid until the next one.
func (r *Reader) Calls(ctx context.Context, f Filter) iter.Seq2[*Call, error] {
	return func(yield func(*Call, error) bool) {
		p := pairs{bare: f.Bare, lanes: make([]Stack[openCall], len(r.sn.Threads())+1), call: Call{r: r}, yield: yield,
			more: true}
		events := store.Filter{
			FromID: f.FromID, ToID: f.ToID, ToTS: f.ToTS, Funcs: f.Funcs, Threads: f.Threads,
			Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit,
		}
		err := r.sn.Scan(ctx, events, store.ScanOptions{Cold: !f.Bare}, p.row)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && p.more {
			yield(nil, fmt.Errorf("read calls: %w", err))
			return
		}
		for i := range p.lanes {
			open := p.lanes[i].Open()
			for k := range open {
				p.give(&open[k], nil)
			}
		}
	}
}

// pairs is one reading of Calls.
type pairs struct {
	bare  bool
	lanes []Stack[openCall] // by thread; the last one: of threads that are not known
	call  Call              // that was given last
	yield func(*Call, error) bool
	more  bool // are wanted
}

type openCall struct {
	enter   store.Row
	belowNs int64
}

// give gives the reader a call; c or exit may be nil.
func (p *pairs) give(c *openCall, exit *store.Row) {
	if p.call.Enter, p.call.BelowNs, p.call.Exit = nil, 0, exit; c != nil {
		p.call.Enter, p.call.BelowNs = &c.enter, c.belowNs
	}
	p.more = p.more && p.yield(&p.call, nil)
}

// row adds an event to its thread's calls.
func (p *pairs) row(row *store.Row) bool {
	l := &p.lanes[min(int(row.Thread), len(p.lanes)-1)]
	if row.Kind == event.FunctionEnter {
		c := l.slot(row.ID)
		room := c.enter.Payload[:0]
		if c.enter, c.belowNs = *row, 0; !p.bare {
			c.enter.Payload = append(room, row.Payload...)
		}
		return true
	}
	var c *openCall
	if p.bare { // the row does not say whose end it is, but calls are properly nested
		c = l.Pop()
	} else {
		c = l.End(row.Enter, func(lost openCall) { p.give(&lost, nil) })
	}
	if up := l.Top(); up != nil {
		up.belowNs += row.Duration
	}
	p.give(c, row)
	return p.more
}
