package native

import (
	"encoding/binary"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

// FuzzLanes plays any records, also such as no agent writes: every enter gets exactly one exit, and on every lane the
// one that was entered last is left first. Each record is 4 bytes: what, a hook, and a stack pointer's distance.
func FuzzLanes(f *testing.F) {
	f.Add([]byte{0, 1, 0, 16, 0, 2, 0, 8, 2, 2, 0, 8, 2, 1, 0, 16})
	f.Add([]byte{0, 1, 0, 16, 1, 1, 0, 16, 1, 1, 0, 16, 2, 1, 0, 16})
	f.Add([]byte{0, 1, 0, 16, 3, 1, 0, 8, 2, 1, 0, 16})
	f.Add([]byte{0, 1, 255, 16, 0, 1, 0, 16, 0, 1, 128, 16, 2, 1, 255, 16})
	f.Fuzz(func(t *testing.T, b []byte) {
		open := map[event.ThreadID][]uint32{}
		enters, exits := 0, 0
		leave := func(l *lane, hook uint32) {
			exits++
			stack := open[l.id]
			if len(stack) == 0 || stack[len(stack)-1] != hook {
				t.Fatalf("lane %d: hook %d is left, open are %v", l.id, hook, stack)
			}
			open[l.id] = stack[:len(stack)-1]
		}
		closing := func(l *lane, fr frame, _ event.Flags) { leave(l, fr.hook) }
		tailed := func(l *lane, fr frame) { leave(l, fr.hook) }
		ls := lanes{name: func(n int) event.ThreadID { return event.ThreadID(n) }}
		fn := &function{}
		for ; len(b) >= 4; b = b[4:] {
			hook := uint32(b[1] % 4)
			sp := uint64(1)<<40 + uint64(binary.BigEndian.Uint16(b[2:]))<<(b[0]/4%16)
			switch b[0] % 4 {
			case 0, 1:
				l := ls.enter(sp, hook, fn, b[0]%4 == 1, closing)
				open[l.id] = append(open[l.id], hook)
				enters++
			case 2:
				if l, ok := ls.exit(sp, hook, closing, tailed); ok {
					leave(l, hook)
				}
			case 3:
				ls.lost = true
			}
		}
		ls.closeAll(closing)
		if enters != exits {
			t.Errorf("%d enters, %d exits", enters, exits)
		}
		for id, stack := range open {
			if len(stack) != 0 {
				t.Errorf("lane %d: left open %v", id, stack)
			}
		}
	})
}
