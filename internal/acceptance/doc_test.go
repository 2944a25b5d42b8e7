// Package acceptance holds what Strobe promises its users, tested on the real binary: a daemon of its own per
// test, real programs, the protocol as clients speak it.
//
// It has no place in the data path and no code but tests. Each file is one promise: bad input gets its error
// code and a hint and the daemon lives; a killed daemon costs nobody anything; output is exact; nothing leaks. The
// first word of a file's name is its subject:
//
//	answers    what queries, trees and statistics say, and within how many bytes
//	attach     into programs that run, and out of them
//	counts     what is kept, dropped and sampled adds up to what was made
//	crash      how programs die, live and from core files
//	daemon     what lives on when a part of Strobe does not
//	dialogue   a debugger's conversation, in each language
//	ends       programs that end at any moment
//	exports    sessions as other programs read them, reports, and files that are taken in
//	input      any value of any field
//	windows    what programs show on a screen, and what is done there
//	memory     reading and writing what a program holds
//	output     what a program writes, and when
//	scenario   what is done to a program by channels, and verdicts on it
//	pauses     threads that stand
//	points     breakpoints, logpoints, data breakpoints and forced returns
//	programs   programs that were found to be hard, and whole ones from the registries
//	runtime    what every runtime can, by one suite
//	secrets    which values are nowhere
//	signals    what is sent to programs
//	stepping   by line and instruction, beside gdb
//	test       runs of tests
//	threads    what they wait for
//	trees      processes and their children
//	types      of libraries and languages, as values are shown
//	values     of calls
package acceptance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const (
	// endLimit bounds the wait for a program that ends by itself at once. Far more than it needs: the machine may be busy.
	endLimit = 3 * time.Minute
	// hintMin is the least that a hint can say.
	hintMin = 8
)

type args = map[string]any

// refused calls a tool that must answer with that code, a message that says all of says, and a hint.
func refused(t testing.TB, s *strobetest.Strobe, tool string, in args, code string,
	says ...string) *strobetest.ToolError {
	t.Helper()
	err := s.Try(tool, in, nil)
	var f *strobetest.ToolError
	if !errors.As(err, &f) {
		t.Errorf("%s %s = %v, want %s", tool, brief(in), err, code)
		return nil
	}
	if f.Code != code {
		t.Errorf("%s %s = %.400s, want %s", tool, brief(in), f, code)
	}
	if len(f.Hint) < hintMin || f.Message == "" {
		t.Errorf("%s %s = %.400s: message %q or hint %q says nothing", tool, brief(in), f, f.Message, f.Hint)
	}
	for _, word := range says {
		if !strings.Contains(f.Error(), word) {
			t.Errorf("%s %s = %.400s, does not say %q", tool, brief(in), f, word)
		}
	}
	return f
}

func isCode(err error, code string) bool {
	var f *strobetest.ToolError
	return errors.As(err, &f) && f.Code == code
}

func brief(v any) string { return fmt.Sprintf("%.200s", fmt.Sprint(v)) }

// serves runs a program from start to end, to show that the daemon is well, and that it is still the one of pid.
func serves(t testing.TB, s *strobetest.Strobe, pid int) {
	t.Helper()
	if now := daemon.HolderPID(s.Home); now != pid || now == 0 {
		t.Errorf("daemon %d was replaced by %d", pid, now)
	}
	l := s.Launch(t, "echo", t.TempDir(), []string{"alive"}, nil)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); out != "alive\n" || st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("afterwards echo wrote %q and ended as %+v", out, st)
	}
	s.Stop(t, l.SessionID)
}

// write makes a file with these bytes and that mode, and returns its path.
func write(t testing.TB, dir, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
