package dap_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// code reads instructions around an address.
func (e *testEditor) code(at string, from, count int) []proto.DisassembledInstruction {
	e.t.Helper()
	got := ask[*proto.DisassembleResponse](e, "disassemble", args{"memoryReference": at, "instructionOffset": from,
		"instructionCount": count, "resolveSymbols": true}).Body.Instructions
	if len(got) != count {
		e.t.Fatalf("%d instructions of %d", len(got), count)
	}
	return got
}

// machineRuns are programs of compilers that are stepped by instructions.
var machineRuns = []struct{ lang, form, source, name, line string }{
	{"c", "gcc-O0", shop, "sum", "total += line"},
	{"cpp", "gcc-O0", `#include <cstdio>
struct Cart { int total = 0; int add(int n) { total += n; return total; } };
int main() {
	Cart cart;
	for (int i = 1; i < 4; i++)
		cart.add(i);
	std::printf("%d\n", cart.total); // told
	return 0;
}
`, "Cart::add", "total += n"},
	{"rust", "rust-debug", `#[inline(never)]
fn add(total: &mut i32, n: i32) -> i32 {
    *total += n; // added
    *total
}
fn main() {
    let mut total = 0;
    for i in 1..4 { add(&mut total, i); }
    println!("{}", total);
}
`, "add", "// added"},
}

// TestInstructions disassembles around a breakpoint, steps instruction by instruction through the function and back to
// its caller, with nothing but instructions that were listed, and over a call.
func TestInstructions(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range machineRuns {
		t.Run(p.lang, func(t *testing.T) {
			bin := strobetest.BuildSource(t, p.lang, p.form, "machine-"+p.lang, p.source)
			file := strobetest.SourceOf(t, p.lang, "machine-"+p.lang, p.source)
			e := open(t, s.Home)
			e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, p.source, p.line)}) })
			thread := e.stops("breakpoint").ThreadId
			top := e.stack(thread)[0]
			at := top.InstructionPointerReference
			all := e.code(at, -8, 300)
			if all[8].Address != at || !strings.Contains(all[8].Symbol, p.name) || all[8].Line != top.Line ||
				all[8].Location.Path != file {
				t.Fatalf("at %s is %+v", at, all[8])
			}
			for i := 1; i < len(all) && all[i].Line > 0; i++ {
				a, _ := strconv.ParseUint(all[i-1].Address, 0, 64)
				b, _ := strconv.ParseUint(all[i].Address, 0, 64)
				if n := uint64(len(all[i-1].InstructionBytes) / 2); a+n != b {
					t.Fatalf("%+v does not follow %+v", all[i], all[i-1])
				}
			}
			e.breaks(file)
			steps, depth := 0, len(e.stack(thread))
			for frames := e.stack(thread); len(frames) == depth; frames = e.stack(thread) {
				ask[*proto.NextResponse](e, "next", args{"threadId": thread, "granularity": "instruction"})
				e.stops("step")
				if now := e.stack(thread); len(now) == depth && !slices.ContainsFunc(all,
					func(c proto.DisassembledInstruction) bool { return c.Address == now[0].InstructionPointerReference }) {
					t.Fatalf("step %d leads to %+v, which was not listed", steps, now[0])
				}
				if steps++; steps > 150 {
					t.Fatal("the function does not end")
				}
			}
			t.Logf("%d instructions", steps)
			if steps < 4 || len(e.stack(thread)) != depth-1 {
				t.Errorf("%d steps lead to %+v", steps, e.stack(thread)[0])
			}
			into := 0
			if p.lang == "rust" { // its loop calls much between
				into = 100
			}
			for ; len(e.stack(thread)) < depth && into < 100; into++ {
				ask[*proto.StepInResponse](e, "stepIn", args{"threadId": thread, "granularity": "instruction"})
				e.stops("step")
			}
			if f := e.stack(thread)[0]; !strings.Contains(f.Name, p.name) && p.lang != "rust" {
				t.Errorf("%d steps into calls lead to %+v", into, f)
			}
			ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
		})
	}
}

// TestMachine sets breakpoints at instructions, writes memory, and lists modules, sources and what a line calls.
func TestMachine(t *testing.T) {
	const source = `#include <stdio.h>
static char text[16] = "before";
static int one(int n) { return n + 1; }
static int two(int n) { return n + 2; }
int main(void)
{
	int n = two(one(1)); // calls
	n *= 10;
	n += 5; // plus
	puts(text); // told
	return n;
}
`
	bin, file := program(t, "machine", source)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "trace": []string{"one", "two"}}, func() {
		e.breaks(file, args{"line": lineOf(t, source, "// calls")})
	})
	thread := e.stops("breakpoint").ThreadId
	frame := e.stack(thread)[0]
	text := ask[*proto.EvaluateResponse](e, "evaluate", args{"frameId": frame.Id, "expression": "text",
		"context": "watch"}).Body
	write := func(at string, offset int, what string) {
		t.Helper()
		data := base64.StdEncoding.EncodeToString([]byte(what))
		ask[*proto.WriteMemoryResponse](e, "writeMemory", args{"memoryReference": at, "offset": offset, "data": data})
		got := ask[*proto.ReadMemoryResponse](e, "readMemory", args{"memoryReference": at, "offset": offset,
			"count": len(what)}).Body
		if got.Data != data {
			t.Errorf("%q is written and %q read", data, got.Data)
		}
	}
	write(text.MemoryReference, 0, "be\xc3\xa4\x00\xff")
	write(text.MemoryReference, 0, "after")
	write(text.MemoryReference, 5, "wards\x00")
	e.refused("writeMemory", args{"memoryReference": frame.InstructionPointerReference, "data": "AAAA"})
	e.refused("writeMemory", args{"memoryReference": "text", "data": "AAAA"})
	targets := ask[*proto.StepInTargetsResponse](e, "stepInTargets", args{"frameId": frame.Id}).Body.Targets
	if len(targets) != 2 || targets[0].Label != "one" || targets[1].Label != "two" {
		t.Fatalf("targets %+v", targets)
	}
	ask[*proto.StepInResponse](e, "stepIn", args{"threadId": thread, "targetId": targets[1].Id})
	e.stops("step")
	if f := e.stack(thread)[0]; f.Name != "two" {
		t.Errorf("a step into two leads to %+v", f)
	}
	ask[*proto.StepOutResponse](e, "stepOut", args{"threadId": thread})
	e.stops("step")
	ask[*proto.NextResponse](e, "next", args{"threadId": thread})
	e.stops("step")
	plus := ask[*proto.GotoTargetsResponse](e, "gotoTargets", args{"source": args{"path": file},
		"line": lineOf(t, source, "// plus")}).Body.Targets
	if len(plus) != 1 {
		t.Fatalf("places of the line: %+v", plus)
	}
	ask[*proto.GotoResponse](e, "goto", args{"threadId": thread, "targetId": plus[0].Id})
	e.stops("goto")
	if f := e.stack(thread)[0]; f.Line != lineOf(t, source, "// plus") {
		t.Errorf("goto leads to %+v", f)
	}
	e.refused("goto", args{"threadId": thread, "targetId": 77})
	if got := ask[*proto.GotoTargetsResponse](e, "gotoTargets", args{"source": args{"path": file},
		"line": lineOf(t, source, "static int one")}).Body.Targets; len(got) != 0 && got[0].Line < 5 {
		t.Errorf("another function's line is a target: %+v", got)
	}
	all := e.code(e.stack(thread)[0].InstructionPointerReference, 0, 40)
	call := slices.IndexFunc(all, func(c proto.DisassembledInstruction) bool {
		return strings.HasPrefix(c.Instruction, "call")
	})
	set := ask[*proto.SetInstructionBreakpointsResponse](e, "setInstructionBreakpoints", args{"breakpoints": []args{
		{"instructionReference": all[0].Address, "offset": func() int {
			a, _ := strconv.ParseInt(all[0].Address, 0, 64)
			b, _ := strconv.ParseInt(all[call].Address, 0, 64)
			return int(b - a)
		}()}}}).Body.Breakpoints
	if len(set) != 1 || !set[0].Verified || set[0].InstructionReference != all[call].Address {
		t.Fatalf("set %+v", set)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": thread})
	stop := e.stops("instruction breakpoint")
	if f := e.stack(thread)[0]; f.InstructionPointerReference != all[call].Address ||
		!slices.Equal(stop.HitBreakpointIds, []int{set[0].Id}) {
		t.Errorf("stopped %+v at %+v", stop, f)
	}
	ask[*proto.NextResponse](e, "next", args{"threadId": thread, "granularity": "instruction"})
	e.stops("step")
	if f := e.stack(thread)[0]; f.InstructionPointerReference != all[call+1].Address {
		t.Errorf("a step over the call leads to %+v, want %s", f, all[call+1].Address)
	}
	mods := ask[*proto.ModulesResponse](e, "modules", args{}).Body
	if len(mods.Modules) < 2 || mods.TotalModules != len(mods.Modules) || mods.Modules[0].Path != bin ||
		!mods.Modules[0].IsUserCode || mods.Modules[0].SymbolFilePath != bin {
		t.Errorf("modules %+v", mods)
	}
	if one := ask[*proto.ModulesResponse](e, "modules", args{"startModule": 1, "moduleCount": 1}).Body; len(one.Modules) !=
		1 || one.Modules[0].Path != mods.Modules[1].Path {
		t.Errorf("the second module %+v", one)
	}
	if src := ask[*proto.LoadedSourcesResponse](e, "loadedSources", args{}).Body.Sources; !slices.ContainsFunc(src,
		func(s proto.Source) bool { return s.Path == file }) {
		t.Errorf("sources %+v", src)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": thread})
	e.ends(9)
	if e.said["stdout"] != "afterwards\n" {
		t.Errorf("said %q", e.said["stdout"])
	}
}

// TestNoMachine asks for machine code of an interpreter's program: what cannot be answered is refused.
func TestNoMachine(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	p := scripted[0]
	file := filepath.Join(t.TempDir(), p.file)
	if err := os.WriteFile(file, []byte(p.source), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, s.Home)
	e.launch(args{"program": p.interpreter(t), "args": []string{file}, "cwd": filepath.Dir(file)}, func() {
		e.breaks(file, args{"line": 1 + strings.Count(p.source[:strings.Index(p.source, "priced")], "\n")})
	})
	thread := e.stops("breakpoint").ThreadId
	e.stack(thread)
	e.refused("next", args{"threadId": thread, "granularity": "instruction"})
	if got := ask[*proto.GotoTargetsResponse](e, "gotoTargets", args{"source": args{"path": file}, "line": 8}); len(
		got.Body.Targets) != 0 {
		t.Errorf("a script's line is a target: %+v", got.Body)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
}
