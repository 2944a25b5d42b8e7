package doctor

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestSystemChecks(t *testing.T) {
	const goodFlags = "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc fsgsbase\n"
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		check string
		want  Status
	}{
		{"new kernel", fstest.MapFS{"proc/sys/kernel/osrelease": file("6.18.44-x\n")}, "kernel", OK},
		{"old kernel", fstest.MapFS{"proc/sys/kernel/osrelease": file("4.19.0\n")}, "kernel", Fail},
		{"odd kernel", fstest.MapFS{"proc/sys/kernel/osrelease": file("?\n")}, "kernel", Warn},
		{"no proc", fstest.MapFS{}, "kernel", Warn},
		{"no yama", fstest.MapFS{}, "ptrace_scope", OK},
		{"scope 1", fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file("1\n")}, "ptrace_scope", OK},
		{"scope 2", fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file("2\n")}, "ptrace_scope", Fail},
		{"scope 2, capable", fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file("2\n"),
			"proc/self/status": file("Name:\tx\nCapEff:\t000001ffffffffff\n")}, "ptrace_scope", OK},
		{"scope 3", fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file("3\n")}, "ptrace_scope", Fail},
		{"scope junk", fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file("x")}, "ptrace_scope", Warn},
		{"seccomp", fstest.MapFS{"proc/self/status": file("Seccomp:\t2\n"), ".dockerenv": file("")}, "sandbox", Warn},
		{"free", fstest.MapFS{"proc/self/status": file("Seccomp:\t0\n")}, "sandbox", OK},
		{"good clock", fstest.MapFS{"proc/cpuinfo": file(goodFlags)}, "clock", OK},
		{"bad clock", fstest.MapFS{"proc/cpuinfo": file("flags : fpu\n")}, "clock", Warn},
		{"fsgsbase", fstest.MapFS{"proc/cpuinfo": file(goodFlags)}, "fsgsbase", OK},
		{"no fsgsbase", fstest.MapFS{"proc/cpuinfo": file("flags : fpu\n")}, "fsgsbase", Warn},
	} {
		report := Run(context.Background(), System(c.files))
		found := false
		for _, f := range report.Checks {
			if f.Name != c.check {
				continue
			}
			found = true
			if f.Status != c.want {
				t.Errorf("%s: %s = %s (%s), want %s", c.name, c.check, f.Status, f.Detail, c.want)
			}
			if (f.Fix == "") != (f.Status == OK) {
				t.Errorf("%s: %s has fix %q", c.name, f.Status, f.Fix)
			}
		}
		if !found {
			t.Errorf("%s: no check %s", c.name, c.check)
		}
	}
}

func TestRunSurvivesChecks(t *testing.T) {
	report := Run(context.Background(), []Check{
		{"panics", func(context.Context) Result { panic("oh") }},
		{"works", func(context.Context) Result { return Result{Status: OK} }},
	})
	if report.OK || len(report.Checks) != 2 || report.Checks[0].Status != Fail || report.Checks[1].Status != OK {
		t.Errorf("report = %+v", report)
	}
}

func TestPlatform(t *testing.T) {
	if r := platform("linux", "amd64"); r.Status != OK {
		t.Errorf("linux/amd64 = %v", r)
	}
	if r := platform("darwin", "arm64"); r.Status != Fail {
		t.Errorf("darwin/arm64 = %v", r)
	}
}

// Any bytes may be given as a binary: the doctor says so and does not fall over.
func FuzzBinary(f *testing.F) {
	if self, err := os.Executable(); err == nil {
		if b, err := os.ReadFile(self); err == nil {
			f.Add(b[:4096])
		}
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add([]byte("#!/bin/sh\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := Binary(path); len(r.Checks) == 0 {
			t.Error("no verdict")
		}
	})
}
