package acceptance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const jvmMain = `public class Main {
	static native void hurt(long p, int n);
	static int outer(int n) { hurt(8, n); return n; }
	public static void main(String[] a) throws Exception {
		System.load(new java.io.File("libhurt.so").getAbsolutePath());
		Thread t = new Thread(() -> outer(a.length), "worker-7");
		t.start();
		t.join();
	}
}
`

const jvmNative = `#include <jni.h>
#include <signal.h>
static long deref(long *p, int n) { return *p + n; }
JNIEXPORT void JNICALL Java_Main_hurt(JNIEnv *env, jclass c, jlong p, jint n) {
	if (n == 1) raise(SIGFPE);
	deref((long *)p, n);
}
`

// TestJVMCrash: a JVM that crashes in native code handles the signal and ends itself by SIGABRT. It is told as the
// signal that it was, with the native frame and the Java thread; it was told as an abort in the JVM.
func TestJVMCrash(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "javac")
	javac, err := exec.LookPath("javac")
	if err != nil {
		t.Fatal(err)
	}
	if javac, err = filepath.EvalSymlinks(javac); err != nil {
		t.Fatal(err)
	}
	include := filepath.Join(filepath.Dir(filepath.Dir(javac)), "include")
	dir := project(t, map[string]string{"Main.java": jvmMain, "hurt.c": jvmNative})
	for _, argv := range [][]string{{javac, "Main.java"},
		{"gcc", "-g", "-shared", "-fPIC", "-I", include, "-I", include + "/linux", "-o", "libhurt.so", "hurt.c"}} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
	}
	s := strobetest.Start(t, nil)
	for _, c := range []struct {
		name, signal, code, log string
		args                    []string
		function                string
	}{
		{"segv", "SIGSEGV", "SEGV_MAPERR", "", []string{"Main"}, "deref"},
		{"stderr", "SIGSEGV", "SEGV_MAPERR", "", []string{"-XX:+DisplayVMOutputToStderr", "-XX:ErrorFile=here.log", "Main"},
			"deref"},
		{"fpe", "SIGFPE", "SI_TKILL", "", []string{"Main", "1"}, "Java_Main_hurt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := s.Launch(t, "java", dir, c.args, args{"cwd": dir})
			s.WaitEnd(t, l.SessionID, endLimit)
			var q struct {
				Events []struct {
					Signal, EndedBy, Class, Reason, Function, FaultAddress string
					Report                                                 struct {
						Tool, Kind, Thread, Log string
						Stacks                  []struct {
							Title     string
							Backtrace []struct{ Function string }
						}
					}
				}
			}
			s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "crash", "verbose": true}, &q)
			if len(q.Events) != 1 {
				t.Fatalf("%+v", q)
			}
			e := q.Events[0]
			if e.Signal != c.signal || e.EndedBy != "SIGABRT" || e.Report.Tool != "jvm" || e.Report.Thread != "worker-7" ||
				e.Function != c.function ||
				!strings.Contains(e.Reason, c.signal) || !strings.Contains(e.Reason, `"worker-7"`) || c.signal == "SIGSEGV" &&
				(e.FaultAddress != "0x8" || !strings.Contains(e.Reason, "deref")) {
				b, _ := json.Marshal(e)
				t.Errorf("%s", b)
			}
			java := false
			for _, stack := range e.Report.Stacks {
				for _, f := range stack.Backtrace {
					java = java || stack.Title == "Java frames" && f.Function == "Main.outer"
				}
			}
			if _, err := os.Stat(e.Report.Log); !java || err != nil {
				t.Errorf("%v %+v", err, e.Report)
			}
		})
	}
}
