package hook

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestShort: a function with something amid its first five bytes is hooked by two of them, where padding that nothing
// leads to is near.
func TestShort(t *testing.T) {
	const (
		// push rbx; mov rbx,rdi; 4: lea rbx,[rbx+1]; test bl,3; jne 4; lea rax,[rbx+rbx*2]; pop rbx; ret
		back = "53 4889fb 488d5b01 f6c303 75f7 488d045b 5b c3"
		nops = "0f1f840000000000"
		more = "b801000000 c3" // mov eax,1; ret
		far  = "90909090 90909090 90909090 90909090 90909090 90909090 90909090 90909090"
	)
	for _, test := range []struct {
		name, code string
		pad        int
		opt        Options
		want       Patch
		island     int
	}{
		{"padding behind the function", back + nops, 8, Options{}, PatchShort, 19},
		{"padding in it", back + nops + more, 0, Options{}, PatchShort, 19},
		{"none", back + more, 0, Options{}, PatchTrap, 0},
		{"too little", back + "0f1f4000" + more, 0, Options{}, PatchTrap, 0},
		{"constants", back + "0000000000000000" + more, 0, Options{}, PatchTrap, 0},
		{"a symbol in it", back + nops + more, 0, Options{Targets: []Addr{0x1000 + 21}}, PatchTrap, 0},
		// je 23
		{"a branch to it", "53 4889fb 488d5b01 f6c303 75f7 740a 488d045b 5b c3" + nops + more, 0, Options{}, PatchTrap, 0},
		{"what runs on into it", "53 4889fb 488d5b01 f6c303 75f7 488d045b 5b" + nops + more, 0, Options{}, PatchTrap, 0},
		{"a branch to the second byte", "53 4889fb 488d5b01 75f7 c3" + nops, 8, Options{}, PatchTrap, 0},
		{"out of reach", "53 4889fb 488d5b01 f6c303 75f7" + far + far + far + far + "5b c3" + nops, 8, Options{}, PatchTrap,
			0},
		{"a jump of five bytes is better", "53 4889fb 488d5b01 5b c3" + nops, 8, Options{}, PatchJump, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			a := Analyze(code, 0x1000, test.pad, test.opt)
			if a.Patch != test.want || a.Island != test.island {
				t.Fatalf("Analyze = %v, island %d, %q, want %v, %d", a.Patch, a.Island, a.Reason, test.want, test.island)
			}
			if a.Patch != PatchShort {
				return
			}
			if a.PatchLen != shortLen || a.Displaced != 4 || a.Reason == "" {
				t.Errorf("%d bytes, %d displaced, %q", a.PatchLen, a.Displaced, a.Reason)
			}
			p, err := ShortPatch(a.Site(), a.Addr+Addr(a.Island))
			if err != nil || p != [2]byte{0xEB, byte(test.island - 2)} {
				t.Errorf("ShortPatch = %x, %v", p, err)
			}
			if _, err := ShortPatch(a.Site(), a.Site()+130); err == nil {
				t.Error("130 bytes are reached by a short jump")
			}
		})
	}
}
