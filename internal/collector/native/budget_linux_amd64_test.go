package native

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

const budgetProgram = `#include <stdio.h>
struct big { long a[100]; struct big *next; };
static struct big things[3];
__attribute__((noinline)) long often(struct big *b, long n) { __asm__ volatile(""); return b->a[n % 100] + n; }
__attribute__((noinline)) long seldom(struct big *b, long n) { __asm__ volatile(""); return b->a[99] + n; }
int main(void)
{
	long sum = 0;
	things[0].next = &things[1], things[1].next = &things[2], things[0].a[99] = 7;
	for (long n = 0; n < 100000; n++) {
		sum += often(&things[0], n);
		if (n % 10000 == 9999) sum += seldom(&things[0], n);
	}
	printf("%ld\n", sum);
}
`

// TestBudget: what a function that is called very often leads to is cut after a while, nearest last, and marked; one
// that is called seldom beside it has all of it, and so have the first calls. No call is lost. Keeps out: values of 2.5
// KB a call that fill rings, spool and disk, and those of quiet functions cut because of others.
func TestBudget(t *testing.T) {
	prog := build(t, "budget.c", budgetProgram, "gcc", "-g", "-O2")
	for _, given := range []bool{false, true} {
		t.Run(fmt.Sprint("depth given: ", given), func(t *testing.T) {
			sink := newSink(t)
			sink.block = true
			probes := []collector.Probe{{Pattern: "often", Depth: 3, Given: given}, {Pattern: "seldom", Depth: 3, Given: given}}
			s := startTracing(t, testRuntime(t), sink, prog, collector.Tracing{Probes: probes})
			s.wait(t)
			bytes, cut, calls := map[string]int{}, map[string]int{}, map[string]int{}
			for i := range sink.events {
				e := &sink.events[i]
				if e.Kind != event.FunctionEnter {
					continue
				}
				name := sink.funcs[e.Func].Name
				calls[name]++
				bytes[name] += len(e.Payload)
				if e.Flags&event.Truncated != 0 {
					cut[name]++
					if calls[name] < 20 {
						t.Errorf("call %d of %s is cut already", calls[name], name)
					}
				}
			}
			const whole = 3 * 808 // three objects
			if calls["often"] != 100_000 || calls["seldom"] != 10 || sink.dropped != 0 {
				t.Errorf("%v, %d dropped", calls, sink.dropped)
			}
			if cut["seldom"] > 0 || bytes["seldom"] < 10*whole {
				t.Errorf("of seldom %d calls are cut, %d bytes are there", cut["seldom"], bytes["seldom"])
			}
			least, room := (want{given: given}).spares()[1], 64
			if cut["often"] < 90_000 || bytes["often"] > 100_000*(least+room)+10<<20 {
				t.Errorf("of often %d calls are cut, %d bytes are there", cut["often"], bytes["often"])
			}
			if c := s.Status().Cut; c.Functions != 1 || !slices.Equal(c.Most, []string{"often"}) ||
				c.Calls < int64(cut["often"]) {
				t.Errorf("the status says %+v", c)
			}
			if strings.TrimSpace(s.stdout.String()) == "" || s.Exit() != (collector.ExitInfo{}) {
				t.Errorf("the program ended with %+v", s.Exit())
			}
		})
	}
}

const budgetNames = `struct big { long a[400]; };
static struct big thing;
__attribute__((noinline)) long asked(struct big *b, const char *name) { __asm__ volatile(""); return b->a[*name]; }
int main(void)
{
	long sum = 0;
	for (long n = 0; n < 100000; n++) sum += asked(&thing, "the name of it");
	return sum;
}
`

// TestBudgetSmallFirst: where values are cut, a short text is kept rather than a large object that stands before it.
// Keeps out: lookups of which nobody sees what was looked for.
func TestBudgetSmallFirst(t *testing.T) {
	sink := newSink(t)
	sink.block = true
	s := startTracing(t, testRuntime(t), sink, build(t, "budgetnames.c", budgetNames, "gcc", "-g", "-O2"),
		collector.Tracing{Probes: []collector.Probe{{Pattern: "asked", Depth: 3}}})
	s.wait(t)
	cut, calls := 0, 0
	for i := range sink.events {
		e := &sink.events[i]
		if e.Kind != event.FunctionEnter {
			continue
		}
		calls++
		if e.Flags&event.Truncated != 0 {
			cut++
		}
		if len(e.Payload) > 200 && !strings.Contains(string(e.Payload), "the name of it") { // in a storm it has 64
			t.Fatalf("call %d has no name in it", calls)
		}
	}
	if calls != 100_000 || cut == 0 {
		t.Errorf("%d calls, %d of them cut", calls, cut)
	}
}
