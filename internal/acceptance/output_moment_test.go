package acceptance

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// written is an output event.
type written struct {
	ID            int64  `json:"id"`
	TimestampNs   int64  `json:"timestampNs"`
	EventType     string `json:"eventType"`
	Function      string `json:"function"`
	PID           int    `json:"pid"`
	ThreadID      int    `json:"threadId"`
	Text          string `json:"text"`
	Bytes         string `json:"bytes"`
	TimeOfReading bool   `json:"timeOfReading"`
}

// everything returns a session's events of these kinds, in order.
func everything(t *testing.T, s *strobetest.Strobe, id string, kinds ...string) (all []written) {
	t.Helper()
	for after := int64(0); ; {
		var p struct {
			Events      []written `json:"events"`
			HasMore     bool      `json:"hasMore"`
			LastEventID int64     `json:"lastEventId"`
		}
		s.Call(t, "debug_query", args{"sessionId": id, "eventType": kinds, "limit": 500, "afterEventId": after,
			"verbose": true}, &p)
		for _, e := range p.Events {
			raw, err := base64.StdEncoding.DecodeString(e.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			e.Text += string(raw)
			all = append(all, e)
		}
		if !p.HasMore || len(p.Events) == 0 {
			return all
		}
		after = p.LastEventID
	}
}

func acceptanceProgram(t *testing.T, name, variant string, flags ...string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", name+".c"))
	if err != nil {
		t.Fatal(err)
	}
	return strobetest.BuildSource(t, "c", variant, name, string(source), flags...)
}

// TestOutputMoment has 600 lines, each printed in a traced call: each lies in its own, with process and thread. Keeps
// out: output at the time of its reading, behind the last call.
func TestOutputMoment(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2-static", "gcc-O2-staticpie", "musl-O2-static"} {
		t.Run(variant, func(t *testing.T) {
			path := acceptanceProgram(t, "output_moment", variant)
			l := s.Launch(t, path, filepath.Dir(path), nil, args{"trace": []string{"say", "sayerr", "work"}})
			defer s.Stop(t, l.SessionID)
			s.WaitEnd(t, l.SessionID, endLimit)
			inside, order := 0, []string(nil)
			open := ""
			for _, e := range everything(t, s, l.SessionID, "function_enter", "function_exit", "stdout", "stderr") {
				switch e.EventType {
				case "function_enter":
					open = e.Function
				case "function_exit":
					open = ""
				default:
					if want := map[string]string{"stdout": "say", "stderr": "sayerr"}[e.EventType]; open == want && e.PID == l.PID &&
						e.ThreadID == l.PID && !e.TimeOfReading {
						inside++
					}
					order = append(order, e.Text)
				}
			}
			var want []string
			for i := range 300 {
				want = append(want, fmt.Sprintf("line %d\n", i), fmt.Sprintf("eline %d\n", i))
			}
			if inside != 600 || !slices.Equal(order, want) {
				t.Errorf("%d of 600 lines are in their own call; order right: %v", inside, slices.Equal(order, want))
			}
		})
	}
}

// TestOutputOrder asks for the tree: each line stands in its step.
func TestOutputOrder(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := acceptanceProgram(t, "output_order", "gcc-O0")
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"trace": []string{"step", "check"}})
	s.WaitEnd(t, l.SessionID, endLimit)
	tree := s.Query(t, l.SessionID, args{"view": "tree", "limit": 500}).Tree
	for i := range 20 {
		if !regexp.MustCompile(fmt.Sprintf(`step\(id=%d\)[^\n]*\n +stdout: "step %d\\n"\n +check\(id=%d\)`, i, i,
			i)).MatchString(tree) {
			t.Fatalf("step %d:\n%s", i, tree)
		}
	}
}

var whoWrote = regexp.MustCompile(`^P(\d+) T(\d+) S(\d) `)

// TestWhoWroteWhat runs programs that write in many ways, from threads and processes at once: each line has the thread
// that it names, and the bytes are those that the program wrote, each once.
func TestWhoWroteWhat(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, c := range []struct {
		variant, mode string
		lines         int
		// bytes of which the writer need not be known: of what several threads splice at once only the lengths are; and a
		// line or two whose record comes late
		unknown int
	}{
		{"gcc-O0", "threads", 480, 7000}, {"gcc-O0", "fork", 480, 12000}, {"gcc-O0", "exec", 608, 200},
		{"gcc-O0", "aside", 80, 200},
		{"gcc-O0", "full", 6000, 3 << 20}, {"gcc-O0", "huge", -1, 9 << 20}, {"gcc-O0", "signals", -1, 9 << 20},
		{"gcc-O2-static", "threads", 480, 7000},
	} {
		t.Run(c.variant+"/"+c.mode, func(t *testing.T) {
			path := acceptanceProgram(t, "writers", c.variant, "-pthread")
			want, err := exec.Command(path, c.mode).Output()
			if err != nil {
				t.Fatal(err)
			}
			l := s.Launch(t, path, filepath.Dir(path), []string{c.mode}, args{"trace": []string{"say"}})
			defer s.Stop(t, l.SessionID)
			s.WaitEnd(t, l.SessionID, endLimit)
			var out, errs bytes.Buffer
			wrong, unknown := 0, 0
			for _, e := range everything(t, s, l.SessionID, "stdout", "stderr") {
				if e.EventType == "stdout" {
					out.WriteString(e.Text)
				} else {
					errs.WriteString(e.Text)
				}
				if e.TimeOfReading {
					unknown += len(e.Text)
					continue
				}
				for _, line := range strings.Split(e.Text, "\n") {
					m := whoWrote.FindStringSubmatch(line)
					stream := map[string]string{"stdout": "1", "stderr": "2"}[e.EventType]
					if m != nil && (m[1] != strconv.Itoa(e.PID) || m[2] != strconv.Itoa(e.ThreadID) || m[3] != stream) {
						if wrong++; wrong < 5 {
							t.Logf("%s of %d/%d: %.60q", e.EventType, e.PID, e.ThreadID, line)
						}
					}
				}
			}
			if n := bytes.Count(out.Bytes(), []byte("\n")) + bytes.Count(errs.Bytes(), []byte("\n")); c.lines >= 0 &&
				n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if a, b := nameless(out.Bytes()), nameless(want); !slices.Equal(a, b) {
				t.Errorf("the output is not what it is untraced: %d lines and %d", len(a), len(b))
			}
			if wrong > 0 || unknown > c.unknown {
				t.Errorf("%d lines have another's thread, of %d bytes it is not known who wrote them", wrong, unknown)
			}
			t.Logf("%d bytes on stdout, of %d it is not known who wrote them", out.Len(), unknown)
		})
	}
}

// nameless are the lines of an output without who wrote them, sorted.
func nameless(out []byte) []string {
	lines := strings.Split(string(out), "\n")
	for i, l := range lines {
		lines[i] = whoWrote.ReplaceAllString(l, "")
	}
	slices.Sort(lines)
	return lines
}

// TestProbesOfWritesGo: while a program is observed, probes stand behind the system calls of its C library that write;
// when it is let go, every byte of code is what its file says.
func TestProbesOfWritesGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "waits",
		"#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts(\"here\"); char c; return read(0, &c, 1) < 0; }\n")
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"stdin": "pipe"})
	t.Cleanup(func() { syscall.Kill(l.PID, syscall.SIGKILL) })
	s.Query(t, l.SessionID, args{"eventType": "stdout", "waitMs": 20000})
	if onDisk(t, readText(t, l.PID)) == "" {
		t.Error("no probe stands")
	}
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": false, "retain": true}, nil)
	strobetest.Eventually(t, endLimit, "every byte of code to be what its file says, or the program's end", func() bool {
		state, _ := stat(l.PID)
		return state == 0 || state == 'Z' || onDisk(t, readText(t, l.PID)) == ""
	})
}
