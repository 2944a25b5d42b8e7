package symbol

import (
	"context"
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// CallSite is where a function's code calls, jumps to or names the entry of another one.
type CallSite struct {
	Caller, Callee *Function
	At             Addr
	Taken          bool // its address is taken: it may be called from anywhere
}

// CallSites finds, in the code of all functions of an x86-64 module, where others of them are called directly or have
// their address taken. What goes through a table, such as a virtual function's, is not there. Bytes of data in code may
// read as a call, once in some hundred thousand.
func (m *Module) CallSites(ctx context.Context) ([]CallSite, error) {
	fns := m.Functions()
	entry := make(map[Addr]*Function, len(fns))
	for i := range fns {
		if fns[i].Low != 0 {
			entry[fns[i].Low] = &fns[i]
		}
	}
	var out []CallSite
	for i := range fns {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err() //nolint:wrapcheck // the caller's own
		}
		if code, err := m.Code(&fns[i]); err == nil {
			out = sitesIn(out, &fns[i], fns[i].Low, code, entry)
		}
	}
	cold := m.Fragments()
	for i := range cold { // parts of a function that the compiler put elsewhere
		owner := m.FunctionAt(cold[i].Low)
		if code, err := m.Code(&cold[i]); err == nil && owner != nil {
			out = sitesIn(out, owner, cold[i].Low, code, entry)
		}
	}
	return out, nil
}

func sitesIn(out []CallSite, caller *Function, low Addr, code []byte, entry map[Addr]*Function) []CallSite {
	relative := func(i int) Addr { return low + Addr(i+4) + Addr(int64(int32(binary.LittleEndian.Uint32(code[i:])))) }
	for i := 0; i+5 <= len(code); i++ {
		var to Addr
		taken := false
		switch op := code[i]; {
		case op == 0xe8 || op == 0xe9: // call, jmp
			to = relative(i + 1)
		case op == 0x0f && i+6 <= len(code) && code[i+1]&0xf0 == 0x80: // jcc
			to = relative(i + 2)
		case op&0xfb == 0x48 && i+7 <= len(code) && code[i+1] == 0x8d && code[i+2]&0xc7 == 0x05: // lea of [rip+disp]
			to, taken = relative(i+3), true
		case op&0xf8 == 0xb8: // mov of an absolute address
			to, taken = Addr(binary.LittleEndian.Uint32(code[i+1:])), true
		default:
			continue
		}
		if f := entry[to]; f != nil && f != caller {
			out = append(out, CallSite{Caller: caller, Callee: f, At: low + Addr(i), Taken: taken})
		}
	}
	return out
}

// SitesOf are those of one callee, by where they stand.
func SitesOf(all []CallSite, callee *Function) (out []CallSite) {
	for _, s := range all {
		if s.Callee == callee {
			out = append(out, s)
		}
	}
	sorting.By(out, func(x, y CallSite) int { return int(int64(x.At) - int64(y.At)) })
	return out
}
