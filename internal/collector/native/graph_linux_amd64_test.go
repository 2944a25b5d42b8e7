package native

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/value"
)

// graphProgram makes the graph of its edges: nodes with two pointers and an array of three, null where the edge is -1,
// and shows some of them to visit.
const graphProgram = `
#include <stdio.h>
#include <stdlib.h>
struct node { int id; struct node *a; struct node *b; struct { long pad; struct node *in[3]; } kids; const char *name; };
static int edges[][5] = {%s};
enum { N = sizeof edges / sizeof *edges };
static struct node nodes[N];
static char names[N][16];
__attribute__((noinline)) int visit(struct node *n) { return n->id; }
static struct node *at(int i) { return i < 0 ? 0 : &nodes[i]; }
int main(void) {
	long sum = 0;
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof names[i], "n%%d", i);
		nodes[i] = (struct node){i, at(edges[i][0]), at(edges[i][1]), {7, {at(edges[i][2]), at(edges[i][3]), at(edges[i][4])}}, names[i]};
	}
	for (int i = 0; i < N; i += %d) sum += visit(&nodes[i]);
	printf("%%ld\n", sum);
	return 0;
}
`

// Random graphs with cycles are shown to any depth without end, without more than a record holds, and without an edge
// that is not there.
func TestCyclicGraphs(t *testing.T) {
	const nodes, shown = 10_000, 50
	rng := rand.New(rand.NewPCG(3, 4))
	edges := make([][5]int, nodes)
	var list strings.Builder
	for i := range edges {
		for k := range edges[i] {
			switch rng.IntN(4) {
			case 0:
				edges[i][k] = -1
			case 1:
				edges[i][k] = (i + rng.IntN(7) - 3 + nodes) % nodes // near: short cycles, itself among them
			default:
				edges[i][k] = rng.IntN(nodes)
			}
		}
		fmt.Fprintf(&list, "{%d,%d,%d,%d,%d},\n", edges[i][0], edges[i][1], edges[i][2], edges[i][3], edges[i][4])
	}
	prog := build(t, "graph.c", fmt.Sprintf(graphProgram, list.String(), nodes/shown), "gcc", "-g", "-O1")
	for depth := 1; depth <= 10; depth++ {
		sink := newSink(t)
		s := startTracing(t, testRuntime(t), sink, prog,
			collector.Tracing{Probes: []collector.Probe{{Pattern: "visit", Depth: depth}}})
		s.wait(t)
		if sink.enters["visit"] != shown || sink.bad != "" {
			t.Errorf("depth %d: %d calls, want %d; %s", depth, sink.enters["visit"], shown, sink.bad)
		}
		g := graphCheck{t: t, edges: edges, depth: depth}
		most := 0
		for _, e := range sink.events {
			if e.Kind == event.FunctionEnter {
				most = max(most, len(e.Payload))
				v, _ := sink.layouts[e.Func].EnterArg(e.Payload, 0)
				g.node(v, -1, 1)
			}
		}
		if most > ring.MaxPayload || g.seen == 0 {
			t.Errorf("depth %d: %d bytes in a record, at most %d; %d nodes shown", depth, most, ring.MaxPayload, g.seen)
		}
		t.Logf("depth %d: %d nodes shown, %d circular, %d too deep, %d without room, at most %d bytes", depth, g.seen,
			g.circular, g.deep, g.noRoom, most)
	}
	_ = filepath.Base(prog)
}

// graphCheck compares what is shown with the edges.
type graphCheck struct {
	t     *testing.T
	edges [][5]int
	depth int

	seen, circular, deep, noRoom int
}

// node checks the value that an edge to node want leads to; -1: any node. level is how many pointers were followed to
// it.
func (g *graphCheck) node(v value.Value, want, level int) {
	if v.Kind() != value.Obj {
		switch text := v.Text(); {
		case text == fmt.Sprintf("<max depth %d reached>", g.depth) && level > g.depth:
			g.deep++
		case strings.HasPrefix(text, "<circular ref to 0x"):
			g.circular++
		case strings.HasPrefix(text, "<node at 0x"):
			g.noRoom++
		default:
			g.t.Errorf("an edge shows %v at level %d of %d", v, level, g.depth)
		}
		return
	}
	g.seen++
	o := v.Object()
	id64, ok := get(o, "id").Int64()
	id := int(id64)
	if !ok || id < 0 || id >= len(g.edges) || want >= 0 && id != want || level > g.depth {
		g.t.Errorf("node %v at level %d, want %d", get(o, "id"), level, want)
		return
	}
	kids, _ := get(get(o, "kids").Object(), "in").Elems()
	if len(kids) != 3 {
		g.t.Errorf("node %d has %d kids", id, len(kids))
		return
	}
	if name := get(o, "name").Text(); name != fmt.Sprintf("n%d", id) && !strings.HasPrefix(name, "0x") {
		g.t.Errorf("node %d is named %q", id, name)
	}
	for k, kid := range append([]value.Value{get(o, "a"), get(o, "b")}, kids...) {
		if to := g.edges[id][k]; to < 0 != kid.IsNull() {
			g.t.Errorf("edge %d of node %d shows %v, leads to %d", k, id, kid, to)
		} else if to >= 0 {
			g.node(kid, to, level+1)
		}
	}
}

func get(o value.Object, name string) value.Value {
	v, _ := o.Get(name)
	return v
}

// badProgram calls with pointers that lead nowhere, so often.
const badProgram = `
#include <stdio.h>
#include <stdlib.h>
struct s { int x; struct s *next; };
__attribute__((noinline)) int look(struct s *p, const char *text) { __asm__ volatile("" :: "r"(p), "r"(text)); return 1; }
int main(int argc, char **argv) {
	long n = atol(argv[1]), sum = 0;
	for (long i = 0; i < n; i++) sum += look((struct s *)(i * 0x9E3779B97F4A7C15UL), (const char *)(i << 20 | 1UL << 46));
	printf("%ld\n", sum);
	return 0;
}
`

// Bad pointers are shown as such, and cost the program nothing but time.
func TestBadPointers(t *testing.T) {
	prog := build(t, "bad.c", badProgram, "gcc", "-g", "-O1")
	sink := newSink(t)
	sink.block = true
	s := startTracing(t, testRuntime(t), sink, prog,
		collector.Tracing{Probes: []collector.Probe{{Pattern: "look", Depth: 3}}}, "20000")
	s.wait(t)
	if out := s.stdout.String(); out != "20000\n" || s.Exit().Code != 0 || sink.enters["look"] != 20000 {
		t.Fatalf("%q, exit %+v, %d calls", out, s.Exit(), sink.enters["look"])
	}
	n := 0
	for _, e := range sink.events {
		if e.Kind != event.FunctionEnter {
			continue
		}
		args := sink.layouts[e.Func].Enter(e.Payload)
		p, text := uint64(n)*0x9E3779B97F4A7C15, uint64(n)<<20|1<<46
		if got := get(args, "p"); p != 0 && got.Text() != fmt.Sprintf("0x%x <unreadable>", p) {
			t.Fatalf("call %d shows %v, want %#x", n, args, p)
		}
		if got := get(args, "text"); got.Text() != fmt.Sprintf("0x%x <unreadable>", text) {
			t.Fatalf("call %d shows %v, want %#x", n, args, text)
		}
		n++
	}
	first, last := sink.events[0].TS, sink.events[len(sink.events)-1].TS
	t.Logf("%d ns per call with two bad pointers", (last-first)/20000)
}
