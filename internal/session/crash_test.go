package session

import (
	"strings"
	"testing"
)

const asanReport = `=================================================================
==4242==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x55d0 bp 0x7ffd sp 0x7ffc
READ of size 4 at 0x602000000010 thread T0
    #0 0x55d0 in reader /src/app/a.c:10
    #1 0x55d9 in main /src/app/a.c:20

0x602000000010 is located 0 bytes inside of 4-byte region [0x602000000010,0x602000000014)
freed by thread T0 here:
    #0 0x7f00 in free
    #1 0x55d1 in main /src/app/a.c:19

SUMMARY: AddressSanitizer: heap-use-after-free /src/app/a.c:10 in reader
==4242==ABORTING
`

// TestReportsBecomeCrashes runs shells that write what runtimes write and end as they end.
func TestReportsBecomeCrashes(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		status       Status
		want         []string // in the crash event; nil: none
	}{
		{"asan", "printf '%s' \"$REPORT\" >&2; exit 1", Crashed,
			[]string{`"exitCode":1`, `"class":"heap-use-after-free"`, `"fatal":true`, `"function":"reader"`, `"line":10`,
				`"backtrace":[{"frame":0`, `"title":"freed by thread T0`}},
		{"asan and another pid's", "printf '%s' \"$REPORT\" | sed s/4242/1/ >&2; exit 0", Exited,
			[]string{`"class":"heap-use-after-free"`}},
		{"panic",
			`printf "\nthread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\nnote: run with RUST_BACKTRACE=1\n" ` +
				`>&2; exit 101`, Crashed, []string{`"class":"`, `panic: index out of bounds`, `"line":4`}},
		{"caught panic",
			`printf "\nthread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\nnote: run with RUST_BACKTRACE=1\n" ` +
				`>&2; exit 0`, Exited, nil},
		{"caught panic, then a signal",
			`printf "\nthread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\nnote: run with RUST_BACKTRACE=1\n" ` +
				`>&2; kill -SEGV $$`, Crashed, []string{`"signal":"SIGSEGV"`, "!panic"}},
		{"plain failure", `echo error: no such file >&2; exit 1`, Exited, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t)
			st := ended(t, f.sh("exec 3>&1; REPORT='"+strings.ReplaceAll(asanReport, "4242", "'$$'")+"'; "+tc.script))
			if st.Status != tc.status {
				t.Errorf("status %s, want %s", st.Status, tc.status)
			}
			if len(tc.want) == 0 {
				if st.Crash != nil {
					t.Errorf("crash = %+v", st.Crash)
				}
				return
			}
			if st.Crash == nil {
				t.Fatal("no crash")
			}
			crash, err := st.Crash.JSON()
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tc.want {
				if not, ok := strings.CutPrefix(w, "!"); ok {
					if strings.Contains(string(crash), not) {
						t.Errorf("crash = %s, which has %s", crash, not)
					}
				} else if !strings.Contains(string(crash), w) {
					t.Errorf("crash = %s, without %s", crash, w)
				}
			}
		})
	}
}
