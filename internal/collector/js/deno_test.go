package js

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// denoSays is what Deno prints of its inspector.
var denoSays = regexp.MustCompile(`(?m)^(Debugger (listening|session)|Visit chrome://inspect|Waiting for the debugger).*\n`)

// TestPointsOfDeno: points, variables, assignments and steps through Deno's inspector, which is closed at the end.
func TestPointsOfDeno(t *testing.T) {
	in := strobetest.BunAndDeno(t)[1]
	d := debug(t, in, []agentlink.Point{
		{ID: "add", Function: "Cart.add", Condition: "price === 20"},
		{ID: "tax", File: "points/shop.cjs", Line: 13, Message: "tax of {sum}"},
	}, "shop.cjs")
	s := d.next()
	at := func(s standing) string { return strings.Split(s.at(), " <anonymous>")[0] } // Deno's own, around CommonJS
	same(t, "the first pause", fmt.Sprint(s.Reason, s.Point, s.Hit, at(s)),
		"breakpointadd1shop.Cart.add:11 shop.main:37 shop.<module>:50")
	frames := d.frames(s)
	args, ref := d.scope(s, frames[0], "arguments")
	same(t, "the arguments", args,
		"this: Cart = Cart {lines: Array(1), total: 22, trap: (getter)}; price: number = 20; count: number = 2")
	same(t, "a map", d.evaluate(s, frames[1], "prices").Value, `Map(2) {"tea" => 3, "milk" => 2}`)
	d.ask(s, "assign", map[string]any{"ref": ref, "name": "count", "text": "count + 1"}, nil)
	s = d.step(s, "over")
	same(t, "a step over", at(s), "shop.Cart.add:12 shop.main:37 shop.<module>:50")
	s = d.step(s, "over")
	if !bytes.Contains(s.Locals, []byte(`"sum":60`)) {
		t.Errorf("the locals are %s", s.Locals)
	}
	s = d.step(s, "out")
	same(t, "a step out", fmt.Sprint(at(s), s.ResultOf, string(s.Result)),
		"shop.main:36 shop.<module>:50shop.Cart.add88")
	s = d.step(d.step(s, "over"), "into")
	same(t, "a step into", at(s), "shop.Cart.add:11 shop.main:37 shop.<module>:50")
	d.set(nil)
	d.resume(s)
	<-d.ended
	same(t, "the program's end", d.out.String()+d.cmd.ProcessState.String(), "caught bad 2\n154 404 2\nexit status 3")
	same(t, "what it reports", denoSays.ReplaceAllString(d.errs.String(), ""), "")
	d.link.Close()
	logged := 0
	for _, e := range d.book.All() {
		if bytes.Contains(e.Payload, []byte(`"breakpointId":"tax","message":"tax of `)) {
			logged++
		}
	}
	if logged != 2 {
		t.Errorf("%d hits of the logpoint", logged)
	}
}
