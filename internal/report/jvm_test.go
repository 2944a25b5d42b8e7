package report_test

import (
	"strings"
	"testing"

	. "github.com/strobe-debug/strobe/internal/report"
)

const jvmSaid = `hello
#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007ff38d572128, pid=29333, tid=29352
#
# JRE version: OpenJDK Runtime Environment (17.0.15+6) (build 17.0.15+6-Debian-1deb12u1)
# Java VM: OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1, mixed mode, sharing, tiered, compressed oops, compressed class ptrs, g1 gc, linux-amd64)
# Problematic frame:
# C  [libhurt.so+0x1128]  deref+0xf
#
# No core dump will be written. Core dumps have been disabled. To enable core dumping, try "ulimit -c unlimited" before starting Java again
#
# An error report file with more information is saved as:
# /srv/app/hs_err_pid29333.log
#
# If you would like to submit a bug report, please visit:
#   https://bugs.debian.org/openjdk-17
# The crash happened outside the Java Virtual Machine in native code.
# See problematic frame for where to report the bug.
#
`

const jvmLog = `#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007ff38d572128, pid=29333, tid=29352
#

---------------  T H R E A D  ---------------

Current thread (0x00007ff3841197e0):  JavaThread "worker-7" [_thread_in_native, id=29352, stack(0x00007ff388124000,0x00007ff388224000)]

Stack: [0x00007ff388124000,0x00007ff388224000],  sp=0x00007ff3882227c0,  free space=1017k
Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
C  [libhurt.so+0x1128]  deref+0xf
C  [libhurt.so+0x1198]  Java_Crash_hurt+0x64
j  Crash.hurt(JI)V+0
v  ~StubRoutines::call_stub
V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*, methodHandle const&, JavaCallArguments*, JavaThread*)+0x302

Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
j  Crash.hurt(JI)V+0
J 41 c1 Crash.level2(I)I (12 bytes) @ 0x00007ff2ff400680 [0x00007ff2ff400680+0x20]
j  java.lang.Thread.run()V+11 java.base@17.0.15
v  ~StubRoutines::call_stub

siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000008

Registers:
`

// TestJVM reads what a JVM of version 17 wrote about a crash in native code, and the file beside it.
func TestJVM(t *testing.T) {
	var p Parser
	p.Only = JVM
	var got []Report
	for i := range len(jvmSaid) { // however it is cut
		got = append(got, p.Write([]byte(jvmSaid[i:i+1]))...)
	}
	got = append(got, p.Close()...)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	r := got[0]
	if r.Tool != JVM || r.Kind != "segv" || r.Signal != "SIGSEGV" || r.PID != 29333 ||
		r.Log != "/srv/app/hs_err_pid29333.log" || !r.Fatal || len(r.Stacks) != 1 ||
		r.Stacks[0].Frames[0].Function != "deref" || r.Stacks[0].Frames[0].Module != "libhurt.so" {
		t.Errorf("%+v", r)
	}
	other := r
	if other.PID = 1; other.JVMLog(jvmLog) || other.JVMLog("root:x:0:0\n") {
		t.Error("a file of another process is taken")
	}
	if !r.JVMLog(jvmLog) || r.Thread != "worker-7" || r.Code != "SEGV_MAPERR" || r.Address != 8 || len(r.Stacks) != 2 {
		t.Fatalf("%+v", r)
	}
	var names []string
	for _, f := range append(r.Stacks[0].Frames, r.Stacks[1].Frames...) {
		names = append(names, f.Function)
	}
	const want = "deref Java_Crash_hurt Crash.hurt StubRoutines::call_stub JavaCalls::call_helper(JavaValue*, " +
		"methodHandle const&, JavaCallArguments*, JavaThread*) Crash.hurt Crash.level2 java.lang.Thread.run " +
		"StubRoutines::call_stub"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s", got)
	}
	p = Parser{Only: JVM}
	if got := append(p.Write([]byte("panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:1 +0x1\n\nSEE: # A fatal "+
		"error has been detected by the Java Runtime Environment:\n")), p.Close()...); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzJVMLog(f *testing.F) {
	f.Add(jvmLog)
	f.Fuzz(func(t *testing.T, text string) {
		r := Report{PID: 29333}
		r.JVMLog(text)
		r.JVMLog(jvmLog + text)
	})
}
