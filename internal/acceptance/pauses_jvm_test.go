package acceptance

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const jvmShop = `import java.util.*;
public class Shop {
	String name = "x";
	int[] nums = {1, 2, 3};
	List<String> list = new ArrayList<>(List.of("a", "b"));
	int total;
	int work(int n) {
		int sum = 0;
		for (int i = 0; i < n; i++) {
			sum += half(i);
		}
		list.forEach(x -> use(x));
		try {
			bad(n);
		} catch (IllegalStateException e) {
			sum++;
		}
		return sum;
	}
	int half(int i) {
		return i / 2;
	}
	void use(String x) {
		total += x.length();
	}
	void bad(int n) {
		throw new IllegalStateException("no " + n);
	}
	public static void main(String[] a) throws Exception {
		Shop s = new Shop();
		while (System.in.read() >= 0) {
			System.out.println(s.work(4) + " " + s.name + " " + s.nums[0]);
		}
	}
}
`

// paused is where the one paused thread stands.
type paused struct {
	PausedThreads []struct {
		Reason, Function, Note string
		Line                   int
		Arguments, Locals      map[string]json.RawMessage
	} `json:"pausedThreads"`
}

// TestJVMPauses: conditions, steps by lines into lambdas that a library calls and to who catches an exception, values
// read, computed and set in a paused frame of Java, with its methods traced and not.
func TestJVMPauses(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "javac")
	dir := project(t, map[string]string{"Shop.java": jvmShop})
	cmd := exec.CommandContext(t.Context(), "javac", "-g", "Shop.java")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	for _, trace := range [][]string{{}, {"Shop.*"}} {
		t.Run(strings.Join(append(trace, "traced"), "_"), func(t *testing.T) { pausesShop(t, s, dir, trace) })
	}
}

func pausesShop(t *testing.T, s *strobetest.Strobe, dir string, trace []string) {
	s.Call(t, "debug_breakpoint", args{"projectRoot": dir, "add": []args{{"function": "Shop.work",
		"condition": `n == 4 && nums[1] == 2 && name.equals("x")`}, {"function": "@exceptions"}}}, nil)
	l := s.Launch(t, "java", dir, []string{"-cp", dir, "Shop"}, args{"cwd": dir, "stdin": "pipe", "trace": trace})
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x"}, nil)
	var first struct{ Events []struct{ Function string } }
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "pause", "waitMs": 20000}, &first)
	if len(first.Events) != 1 || first.Events[0].Function != "Shop.work" {
		t.Fatalf("it pauses %+v", first)
	}
	lets := func(action, function string, line int) (p paused) {
		t.Helper()
		s.Call(t, "debug_continue", args{"sessionId": l.SessionID, "action": action, "waitMs": 20000}, &p)
		if len(p.PausedThreads) != 1 || p.PausedThreads[0].Function != function || p.PausedThreads[0].Line != line {
			t.Fatalf("behind %s it stands %+v, want %s:%d", action, p, function, line)
		}
		return p
	}
	lets("step-over", "Shop.work", 9)
	lets("step-over", "Shop.work", 10)
	lets("step-into", "Shop.half", 21)
	lets("step-out", "Shop.work", 10)
	lets("step-over", "Shop.work", 9)
	var set struct {
		Results []struct {
			Error string
			Value json.RawMessage
		}
	}
	s.Call(t, "debug_memory", args{"sessionId": l.SessionID, "action": "write", "targets": []args{
		{"expression": "i", "value": 4}, {"expression": "name", "value": "new"},
		{"expression": "nums[0]", "value": 7}}}, &set)
	s.Call(t, "debug_memory", args{"sessionId": l.SessionID, "targets": []args{
		{"expression": "list.size() * 2 + nums[0]"},
		{"expression": "Math.max(i, 1) == 4 ? name : null"}, {"expression": "nope"}}}, &set)
	if len(set.Results) != 3 || string(set.Results[0].Value) != "11" || string(set.Results[1].Value) != `"new"` ||
		!strings.Contains(set.Results[2].Error, "nothing is named nope") {
		t.Errorf("values are %+v", set)
	}
	lets("step-over", "Shop.work", 12)
	lets("step-into", "Shop.work.lambda$0", 12)
	lets("step-into", "Shop.use", 24)
	p := lets("continue", "Shop.bad", 27)
	if at := p.PausedThreads[0]; at.Reason != "exception" || at.Note != "java.lang.IllegalStateException" {
		t.Errorf("it stands %+v", at)
	}
	lets("step-over", "Shop.work", 15)
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "remove": []string{"all"}}, nil)
	s.Call(t, "debug_continue", args{"sessionId": l.SessionID, "waitMs": 0}, nil)
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "eof": true}, nil)
	s.WaitEnd(t, l.SessionID, endLimit)
	var out struct{ Events []struct{ Text string } }
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "stdout"}, &out)
	if len(out.Events) != 1 || out.Events[0].Text != "1 new 7\n" {
		t.Errorf("it printed %+v", out)
	}
}

// TestJVMLetsNobodyIn: a JVM that lets no agent in gets no signal, by which it would print its threads.
func TestJVMLetsNobodyIn(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "javac")
	dir := project(t, map[string]string{"Shop.java": jvmShop})
	compile := exec.CommandContext(t.Context(), "javac", "Shop.java")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	for _, option := range []string{"-XX:+DisableAttachMechanism"} {
		cmd := exec.CommandContext(t.Context(), "java", option, "-cp", dir, "Shop")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		var l struct{ SessionID string }
		s.Call(t, "debug_launch", args{"pid": cmd.Process.Pid, "projectRoot": dir}, &l)
		strobetest.Eventually(t, endLimit, "the status says whether an agent is let in with "+option, func() bool {
			var st json.RawMessage
			s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &st)
			return strings.Contains(string(st), "attached to as machine code")
		})
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID}, nil)
		if _, err := in.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		_ = in.Close()
		if err := cmd.Wait(); err != nil || out.String() != "3 x 1\n" {
			t.Errorf("with %s it ended with %v and printed %q", option, err, &out)
		}
	}
}
