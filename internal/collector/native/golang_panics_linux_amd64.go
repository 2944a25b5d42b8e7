package native

import (
	"encoding/json"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Every panic of Go's begins in one function of its runtime. Where functions of the program are traced, so is that one:
// the calls that a panic leaves say what it was.

// goPanic is that function: gopanic(e any).
const goPanic = "runtime.gopanic"

// What a want says of goPanic.
const (
	panicsAside = 1 // nobody asked for its calls
	panicsToo   = 2
)

// goPanicDepth is how deep what a panic was given is followed, where nobody asked for its calls.
const goPanicDepth = 3

// wantPanics adds what tells of panics to what the patterns want of a Go program. It changes nothing of counts.
func (t *target) wantPanics(mod *symbol.Module, res *matchResult, at int) {
	if !mod.Go || at < 0 || len(res.wanted) == 0 && !t.exceptionsWanted() {
		return
	}
	w, asked := res.wanted[at]
	w.panics = panicsToo
	if !asked {
		w = want{depth: goPanicDepth, panics: panicsAside, described: t.walks.Generation()}
	}
	res.wanted[at] = w
}

// aside reports a function that no pattern selects.
func (w *want) aside() bool { return w.panics == panicsAside || w.golang&goAside != 0 }

// panicked takes in the record of a panic that begins. The calls of its goroutine that end without a record end by it,
// until one that is further out goes on.
func (d *drainer) panicked(rs *ringState, ls *lanes, sp uint64, fn *function, rec *ring.Rec) {
	v, ok := fn.plan.Layout.EnterArg(rec.Payload, 0)
	if !ok {
		return
	}
	what, class := goThrown(v)
	b, err := json.Marshal(what)
	if err != nil {
		return
	}
	ls.thrown, ls.thrownAt = b, sp
	if !d.t.tellsPanics.Load() {
		return
	}
	l := ls.at(sp)
	note := map[string]any{"what": "panic", "type": class, "threadId": rs.tid}
	if v, ok := fn.plan.Layout.Thrown(b); ok {
		note["message"] = strings.TrimPrefix(v.Exception(), class+": ")
	}
	if b, err = json.Marshal(note); err == nil {
		d.events = append(d.events, event.Event{TS: d.ts(rec.TSC), Kind: event.Exception, Thread: l.id, Payload: b})
	}
}

// goThrown is what a panic was given as the tree that an exit's payload has (docs/agentlink.md, Values).
func goThrown(v value.Value) (tree map[string]any, class string) {
	class = "panic"
	t, typed := v.Path("type")
	if inner, ok := v.Path("value"); ok && typed && t.Kind() == value.Text {
		class, v = t.Text(), inner
	}
	if class == "runtime.boundsError" {
		v = outOfBounds(v)
	}
	members := json.RawMessage(v.AppendJSON(nil))
	if v.Kind() != value.Obj {
		members = append(append([]byte(`{"message":`), members...), '}')
	}
	return map[string]any{"$": "obj", "t": class, "v": members}, class
}

// boundsWords are what runtime.boundsError means, by its code.
var boundsWords = []string{"index out of range [%x] with length %y", "slice bounds out of range [:%x] with length %y",
	"slice bounds out of range [:%x] with capacity %y", "slice bounds out of range [%x:%y]",
	"slice bounds out of range [::%x] with length %y", "slice bounds out of range [::%x] with capacity %y",
	"slice bounds out of range [:%x:%y]", "slice bounds out of range [%x:%y:]",
	"cannot convert slice with length %x to array or pointer to array with length %y"}

// outOfBounds is a runtime.boundsError in words.
func outOfBounds(v value.Value) value.Value {
	x, _ := v.Path("x")
	y, _ := v.Path("y")
	code, ok := v.Path("code")
	n, is := code.Int64()
	if !ok || !is || n < 0 || int(n) >= len(boundsWords) {
		return v
	}
	return value.NewText(strings.NewReplacer("%x", x.String(), "%y", y.String()).Replace(boundsWords[n]))
}

// panicOver forgets a panic when a call goes on that is further out than where it began.
func (ls *lanes) panicOver(sp uint64) {
	if ls.thrown != nil && sp > ls.thrownAt {
		ls.thrown = nil
	}
}
