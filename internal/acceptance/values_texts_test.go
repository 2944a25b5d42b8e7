package acceptance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// textsSource calls see with texts of all lengths up to 40 that begin at all places in two words and end in the last
// byte of a page that nothing follows; then with some that have no end there, and with long ones.
const textsSource = `
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) void see(const char *s) { asm volatile("" :: "r"(s) : "memory"); }
int main(void) {
	char *end = (char *)mmap(0, 4 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (3 << 16);
	mprotect(end, 1 << 16, PROT_NONE);
	for (int n = 0; n < 40; n++)
		for (int back = 1; back <= 16; back++) { /* the last byte, or some before it */
			memset(end - 4096, 'x', 4096);
			end[-back] = 0;
			for (int i = 0; i < n; i++) end[-back - 1 - i] = 'a' + i % 26;
			see(end - back - n);
		}
	memset(end - 4096, 'x', 4096);
	see(end - 1), see(end - 13), see(end);
	for (int n = 1000; n <= 1016; n++) {
		end[-16] = 0;
		memset(end - 16 - n, 'y', n);
		see(end - 16 - n);
	}
	memset(end - 20000, 'z', 20000);
	see(end - 20000);
	end[-1] = 0;
	see(end - 2000), see(end - 19000);
	return 0;
}
`

// TestTextsAtPagesEnds has each text shown as it is, also where its end is that of readable memory.
func TestTextsAtPagesEnds(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "texts", textsSource)
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"trace": []string{"see"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Fatalf("ended with %v", st)
	}
	var got []string
	for after := int64(0); ; {
		var p struct {
			Events []struct {
				Arguments map[string]json.RawMessage
			}
			HasMore     bool
			LastEventID int64
		}
		s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": []string{"function_enter"}, "limit": 500,
			"afterEventId": after, "verbose": true}, &p)
		for _, e := range p.Events {
			got = append(got, string(e.Arguments["s"]))
		}
		if after = p.LastEventID; !p.HasMore {
			break
		}
	}
	var want []string
	for n := range 40 {
		text := make([]byte, n)
		for i := range n {
			text[n-1-i] = byte('a' + i%26)
		}
		for range 16 {
			want = append(want, fmt.Sprintf("%q", text))
		}
	}
	for i, w := range want {
		if i >= len(got) || !strings.Contains(got[i], w) {
			t.Fatalf("call %d of %d shows %s, want %s", i, len(got), got[min(i, len(got)-1)], w)
		}
	}
	rest := got[len(want):]
	ends := []string{"<unreadable>", "<unreadable>", "<unreadable>"}
	for n := 1000; n <= 1016; n++ {
		ends = append(ends, `"`+strings.Repeat("y", n))
	}
	ends = append(ends, "zz…(+≥4096 bytes)", "zz…(+975 bytes)", "zz…(+≥4096 bytes)")
	for i, w := range ends {
		if i >= len(rest) || !strings.HasSuffix(rest[i], w+`"`) {
			t.Errorf("text %d of %d: %.100s, want its end to be %.100s", i, len(rest), rest[min(i, len(rest)-1)], w)
		}
	}
}
