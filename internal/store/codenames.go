package store

import (
	"context"
	"database/sql"
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

// codeName is what stood at an address of code in one process, from a moment on.
type codeName struct {
	PID  int32
	from int64 // nanoseconds since the session's start
	Name string
}

type codeEntry struct {
	addr uint64
	codeName
}

// codeNames are the functions that values of the session point to. Guarded by Store.namesMu.
type codeNames struct {
	at    map[uint64][]codeName // in the order in which they came
	fresh []codeEntry           // not yet written
}

// maxCodeNames bounds what one session names: a program that makes up addresses must not fill the memory.
const maxCodeNames = 1 << 20

// CodeName tells what function begins at an address of a process from fromTS on, nanoseconds since the session's start.
// Payloads of functions with event.Function.Code that hold the address are read with the name behind them:
// value.AppendCodeName. It is in the file with the next commit. Name "" says that none begins there any more; of an
// address that had none it says nothing.
func (s *Store) CodeName(pid int32, addr uint64, fromTS int64, name string) {
	if s.w == nil {
		return
	}
	s.namesMu.Lock()
	if s.code.at == nil {
		s.code.at = map[uint64][]codeName{}
	}
	had, was := s.code.at[addr], ""
	for _, n := range had {
		if n.PID == pid {
			was = n.Name
		}
	}
	if was == name || len(s.code.at) >= maxCodeNames && had == nil {
		s.namesMu.Unlock()
		return
	}
	c := codeName{pid, fromTS, name}
	s.code.at[addr] = append(had, c)
	s.code.fresh = append(s.code.fresh, codeEntry{addr, c})
	s.namesMu.Unlock()
	s.w.touch()
}

// lookUp returns the name of an address in a process at a time: the newest that it had by then. The caller holds
// namesMu.
func (c *codeNames) lookUp(pid int32, addr uint64, ts int64) string {
	name, found := "", false
	for _, n := range c.at[addr] {
		if n.PID == pid && (!found || n.from <= ts) {
			name, found = n.Name, true
		} else if !found && name == "" {
			name = n.Name // threads that share memory with another process
		}
	}
	return name
}

// needsNames reports whether a row's payload may hold addresses that have names.
func (sn *Snapshot) needsNames(fn event.FuncID) bool {
	return int(fn) < len(sn.functions) && sn.functions[fn].Code != 0 && sn.hasCode
}

// nameCode puts the names of the functions that a payload points to behind it. The payload is copied if there are any.
func (sn *Snapshot) nameCode(r *Row) {
	if !r.Kind.IsCall() || len(r.Payload) < 8 || !sn.needsNames(r.Func) {
		return
	}
	var pid int32
	if int(r.Thread) < len(sn.threads) {
		pid = sn.threads[r.Thread].PID
	}
	step := int(sn.functions[r.Func].Code)
	s := sn.s
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	out := r.Payload[:len(r.Payload):len(r.Payload)]
	for at := 0; at+8 <= len(r.Payload); at += step {
		addr := binary.LittleEndian.Uint64(r.Payload[at:])
		if _, ok := s.code.at[addr]; ok {
			out = value.AppendCodeName(out, len(r.Payload), addr, s.code.lookUp(pid, addr, r.TS))
		}
	}
	r.Payload = out
}

func (s *Store) loadCodeNames(ctx context.Context, c *sql.Conn) error {
	err := query(ctx, c, "SELECT id, code FROM functions WHERE code > 0", func(rows *sql.Rows) error {
		var id, code int64
		if err := rows.Scan(&id, &code); err != nil {
			return err
		}
		if id < 0 || id >= int64(len(s.functions)) || code > 8 {
			return errDamaged
		}
		s.functions[id].Code = uint8(code)
		return nil
	})
	if err != nil {
		return err
	}
	s.code.at = map[uint64][]codeName{}
	return query(ctx, c, "SELECT pid, address, from_ns, name FROM code_names ORDER BY from_ns",
		func(rows *sql.Rows) error {
			var addr int64
			var n codeName
			if err := rows.Scan(&n.PID, &addr, &n.from, &n.Name); err != nil {
				return err
			}
			if len(s.code.at) < maxCodeNames {
				s.code.at[uint64(addr)] = append(s.code.at[uint64(addr)], n)
			}
			return nil
		})
}
