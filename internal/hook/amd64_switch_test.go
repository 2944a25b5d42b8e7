package hook

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// TestSwitchTables reads the tables of jumps: a case that begins in the bytes that a jump would overwrite rules the
// jump out, and so does whatever is not known. Keeps out: a trap, which costs a thousand times as much, at each call of
// a function that begins with a switch.
func TestSwitchTables(t *testing.T) {
	const (
		at    = 0x1000
		table = 0x2000
		// mov eax,edi; and eax,3; lea rdx,[rip+table]; movslq rax,[rdx+rax*4]; add rax,rdx; jmp rax; mov eax,1; ret; mov
		// eax,2; ret
		relative = "89f8 83e003 488d15f40f0000 48630482 4801d0 ffe0 b801000000c3 b802000000c3"
		// the same with add rdx,rax the other way round
		otherAdd = "89f8 83e003 488d15f40f0000 48630482 4803c2 ffe0 b801000000c3 b802000000c3"
		// the same with sub, and with another base
		noAdd     = "89f8 83e003 488d15f40f0000 48630482 4829d0 ffe0 b801000000c3 b802000000c3"
		otherBase = "89f8 83e003 488d15f40f0000 48630481 4801d0 ffe0 b801000000c3 b802000000c3"
		// mov eax,edi; and eax,3; jmp [table+rax*8]; mov eax,1; ret
		absolute = "89f8 83e003 ff24c500200000 b801000000c3"
	)
	for _, test := range []struct {
		name, code string
		cases      []int64 // offsets in the function
		size       int
		want       Patch
		loops      bool
	}{
		{"cases behind", relative, []int64{0x15, 0x1b}, 4, PatchJump, true},
		{"a case amid the patch", relative, []int64{0x15, 2, 0x1b}, 4, PatchTrap, true},
		{"a case at the entry", relative, []int64{0x15, 0, 0x1b}, 4, PatchJump, true},
		{"a case in a cold part", relative, []int64{-0x800, 0x15}, 4, PatchJump, true},
		{"one amid the patch behind that", relative, []int64{-0x800, 2}, 4, PatchTrap, true},
		{"no case in the function", relative, []int64{-0x800}, 4, PatchTrap, true},
		{"no table", relative, nil, 4, PatchTrap, true},
		{"the other add", otherAdd, []int64{0x15, 0x1b}, 4, PatchJump, true},
		{"no add", noAdd, []int64{0x15, 0x1b}, 4, PatchTrap, true},
		{"another base", otherBase, []int64{0x15, 0x1b}, 4, PatchTrap, true},
		{"whole addresses", absolute, []int64{12, 12}, 8, PatchJump, true},
		{"one of them amid the patch", absolute, []int64{12, 2}, 8, PatchTrap, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			for _, to := range test.cases {
				if test.size == 4 {
					data = binary.LittleEndian.AppendUint32(data, uint32(int32(at+to-table)))
				} else {
					data = binary.LittleEndian.AppendUint64(data, uint64(at+to))
				}
			}
			data = append(data, "some text behind it"...)
			opt := Options{
				Data: func(a Addr) []byte {
					if a != table || test.cases == nil {
						return nil
					}
					return data
				},
				InCode: func(a Addr) bool { return a >= 0x800 && a < 0x1100 },
			}
			if a := Analyze(code, at, 0, opt); a.Patch != test.want || a.LoopsToEntry != test.loops {
				t.Errorf("%v (%s), loops %v; want %v, %v", a.Patch, a.Reason, a.LoopsToEntry, test.want, test.loops)
			}
			if a := Analyze(code, at, 0, Options{}); a.Patch != PatchTrap {
				t.Errorf("without tables %v", a.Patch)
			}
		})
	}
}
