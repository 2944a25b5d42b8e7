package native

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestCorpusBehavesAsUntraced runs the programs of the corpus with every function of them hooked, and compares
// output and exit with the same program untraced.
func TestCorpusBehavesAsUntraced(t *testing.T) {
	rt := testRuntime(t)
	all := strobetest.Soaks(t, "all but the first variant: TestNeverHurt has the others")
	for _, target := range strobetest.Targets {
		if target.Name == "spin" {
			continue // prints how long it took
		}
		variants := target.SomeVariants(t)
		if !all {
			variants = variants[:1]
		}
		for _, variant := range variants {
			t.Run(target.Name+"/"+variant, func(t *testing.T) { compareTraced(t, rt, target, variant) })
		}
	}
}

func compareTraced(t *testing.T, rt *Runtime, target strobetest.Target, variant string) {
	prog := strobetest.Build(t, target.Name, variant)
	plain := exec.Command(prog, target.Args...)
	plain.Stdin = strings.NewReader(target.Stdin)
	want, _ := plain.CombinedOutput()
	sink := newSink(t)
	sink.keep = false
	s := startProgram(t, rt, sink, strobetest.TargetsDir(t), []string{"@usercode"},
		append([]string{prog}, target.Args...)...)
	s.stdin.WriteString(target.Stdin)
	s.stdin.Close()
	s.wait(t)
	if got := s.stdout.Bytes(); !target.Blurred && !bytes.Equal(got, want) {
		t.Errorf("output differs:\n%s\nwant:\n%s", clip(got), clip(want))
	}
	if s.Exit().Code != target.Exit || s.Exit().Signal != "" {
		t.Errorf("exit %+v, want %d", s.Exit(), target.Exit)
	}
	if sink.bad != "" {
		t.Error(sink.bad)
	}
	enters, exits := 0, 0
	for name, n := range sink.enters {
		enters += n
		exits += sink.exits[name]
		if sink.exits[name] != n {
			t.Errorf("%s: %d enters, %d exits", name, n, sink.exits[name])
		}
	}
	st := s.Status()
	t.Logf("%d functions, %d by trap, %d calls, flags %v, dropped %d, unhookable %v, warnings %v", st.Hooked, st.Fallback,
		enters, sink.flags, sink.dropped, st.Unhookable, st.Warnings)
	if enters == 0 {
		t.Errorf("no calls seen")
	}
}

func clip(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "…"
	}
	return string(b)
}
