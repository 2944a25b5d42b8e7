package expr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// image is the memory that testdata/realagent.c lets the agent read.
type image struct{ p *target }

func (m image) Read(addr uint64, b []byte) error {
	at := func(name string) uint64 { return m.p.vars[name].Addr }
	end := addr + uint64(len(b))
	if addr < at("$image") || end > at("$end") || end < addr || addr < at("$blobend") && end > at("$blob") {
		return io.EOF
	}
	return m.p.Read(addr, b)
}

// savedRegs are what testdata/realagent.c gives as registers, by DWARF number.
type savedRegs struct{ tail, fs uint64 }

func (r savedRegs) Reg(n int) (uint64, bool) {
	if n == ring.RegRDX {
		return r.tail, true
	}
	at := map[int]uint64{ring.RegRDI: 1, ring.RegRSI: 2, ring.RegRCX: 4, ring.RegR8: 5, ring.RegR9: 6, ring.RegRAX: 7}
	i, ok := at[n]
	return i * 0x123456789abcdef0, ok
}
func (r savedRegs) CFA() (uint64, bool) { return r.tail + 64, true }
func (r savedRegs) FS() (uint64, bool)  { return r.fs, true }

// TestAgentAgrees runs programs of random expressions in the agent's own interpreter.
func TestAgentAgrees(t *testing.T) {
	p := start(t, "realagent.c", "gcc", "-O1", "-w", "-no-pie", "-I../collector/native/agent")
	tail := p.vars["tail"].Addr
	env := &Env{Memory: image{p}, Frame: savedRegs{tail, p.vars["$fs"].Addr}, Bias: bias, ThreadID: 77,
		PID: p.cmd.Process.Pid}
	m := &sourceMaker{rand.New(rand.NewPCG(7, 8)), leavesC}
	counts := map[string]int{}
	for n := 0; n < 5000; {
		e, err := New(m.source(), symbol.LangC, places{p, p.mod})
		if err != nil {
			continue
		}
		prog, ok := e.Compile()
		if !ok {
			continue
		}
		n++
		ops, err := prog.Relocated(bias)
		if err != nil {
			t.Fatal(err)
		}
		status, size, got := p.runAgent(t, ops)
		want, err := e.Word(env)
		var bad *EvalError
		switch {
		case err == nil && status == ring.StatusOK && size == 8 && got == want:
			counts["equal"]++
		case errors.As(err, &bad) && status == ring.StatusUnreadable && size == 0:
			counts["errors"]++
		default:
			t.Fatalf("%s: evaluated to %#x, %v; the agent has %#x, status %d, %d bytes\n%s", e.Source, want, err, got, status,
				size, listing(prog))
		}
	}
	t.Log(counts)
	if counts["equal"] < 2000 || counts["errors"] < 100 {
		t.Errorf("the generator has become one-sided: %v", counts)
	}
}

func (p *target) runAgent(t *testing.T, ops []ring.Op) (status, size uint32, word uint64) {
	t.Helper()
	var b bytes.Buffer
	for _, v := range []any{uint32(len(ops)), ops} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.stdin.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	var out [16]byte
	if _, err := io.ReadFull(p.stdout, out[:]); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(out[:]), binary.LittleEndian.Uint32(out[4:]), binary.LittleEndian.Uint64(out[8:])
}
