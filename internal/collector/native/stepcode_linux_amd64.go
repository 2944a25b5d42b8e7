package native

import (
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
)

// codeKind says what is at an address that a thread runs.
type codeKind int

const (
	codeProgram codeKind = iota
	codeCopy             // a copy of an instruction of the program
	codeMiddle           // in the middle of what such a copy became
	codeOwn              // ours: the agent, the frame of a stub
	codeAhead            // the same, of a function of Go's, which has no frame: what it leads to is the program's
)

// logical returns which address of the program's code a thread runs that is at rip.
func (p *process) logical(rip uint64) (pc uint64, kind codeKind) {
	if p.region == nil {
		return rip, codeProgram
	}
	if rip-p.regionAddr < ring.CodeBytes {
		return 0, codeOwn
	}
	if _, is := p.onIsland(rip); is {
		return rip, codeMiddle
	}
	if !p.inArenas(rip) {
		return rip, codeProgram
	}
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	for _, c := range p.moved {
		switch {
		case rip == c.at:
			return c.original, codeCopy
		case rip > c.at && rip < c.at+maxCopy:
			return rip, codeMiddle
		}
	}
	entries := stubEntries(*p.hooks.Load(), nil)
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if rip < e.at {
			continue
		}
		return p.inStubOf(e, rip)
	}
	return rip, codeMiddle
}

// inStubOf is logical for an address at or behind a stub's beginning.
func (p *process) inStubOf(e *stubEntry, rip uint64) (uint64, codeKind) {
	site := e.h.sites[e.site]
	if g := site.golang; g != nil {
		if pc, ok := originalOf(&g.stub, rip); ok {
			return pc, codeCopy
		}
		if rip < site.behind {
			return site.behind, codeAhead
		}
		return rip, codeMiddle
	}
	if e.site > 0 || e.h.fn == nil {
		switch {
		case rip < site.behind:
			return 0, codeOwn
		case rip == site.behind:
			return site.addr, codeCopy
		}
		return rip, codeMiddle
	}
	stub, err := p.stubOf(e.h)
	if err != nil {
		return rip, codeMiddle
	}
	if pc, ok := originalOf(&stub, rip); ok {
		return pc, codeCopy
	}
	if rip < uint64(stub.Relocated) {
		return 0, codeOwn
	}
	return rip, codeMiddle
}

// originalOf returns which instruction has its copy at an address of a stub.
func originalOf(stub *hook.Stub, rip uint64) (pc uint64, ok bool) {
	for _, pair := range stub.Map {
		if uint64(pair.Copy) == rip {
			return uint64(pair.Orig), true
		}
	}
	return 0, false
}

// inArenas reports whether an address is in the code of stubs.
func (p *process) inArenas(pc uint64) bool {
	for _, a := range *p.inArena.Load() {
		if pc >= a.Lo+stubOff && pc < a.Hi {
			return true
		}
	}
	return false
}

// whereRuns is runsAt for those who do not hold probeMu.
func (p *process) whereRuns(at uint64) uint64 {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	if runs, _, err := p.runsAt(at); err == nil && runs != 0 {
		return runs
	}
	return at
}
