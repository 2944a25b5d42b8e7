package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// System returns the checks that read the kernel's files below root, which is os.DirFS("/").
func System(root fs.FS) []Check {
	read := func(path string) (string, error) {
		b, err := fs.ReadFile(root, path)
		return strings.TrimSpace(string(b)), err
	}
	return []Check{
		{"platform", func(context.Context) Result { return platform(runtime.GOOS, runtime.GOARCH) }},
		{"kernel", func(context.Context) Result { return kernel(read) }},
		{"ptrace_scope", func(context.Context) Result { return ptraceScope(read) }},
		{"sandbox", func(context.Context) Result { return sandbox(read) }},
		{"clock", func(context.Context) Result { return clock(read) }},
		{"fsgsbase", func(context.Context) Result { return fsgsbase(read) }},
	}
}

func platform(goos, goarch string) Result {
	if goos == "linux" && goarch == "amd64" {
		return Result{Status: OK, Detail: "linux/amd64"}
	}
	return Result{Fail, goos + "/" + goarch + " cannot launch programs yet",
		"Use Strobe on linux/amd64; query and export of a copied session file work here."}
}

// kernel wants 5.3, the first with PTRACE_GET_SYSCALL_INFO; process_vm_readv and memfd_create are older.
func kernel(read func(string) (string, error)) Result {
	release, err := read("proc/sys/kernel/osrelease")
	if err != nil {
		return Result{Warn, "kernel version unknown: " + err.Error(), "Mount /proc."}
	}
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return Result{Warn, "kernel version not understood: " + release, "Linux 5.3 or newer is needed."}
	}
	if major < 5 || major == 5 && minor < 3 {
		return Result{Fail, "Linux " + release + " is too old", "Use Linux 5.3 or newer."}
	}
	return Result{Status: OK, Detail: "Linux " + release}
}

func ptraceScope(read func(string) (string, error)) Result {
	text, err := read("proc/sys/kernel/yama/ptrace_scope")
	if errors.Is(err, fs.ErrNotExist) {
		return Result{Status: OK, Detail: "no Yama: your own processes may be traced"}
	}
	scope, convErr := strconv.Atoi(text)
	if err != nil || convErr != nil {
		return Result{Warn, "ptrace_scope cannot be read", "See the ptrace check below."}
	}
	const set = "sudo sysctl kernel.yama.ptrace_scope=1"
	switch {
	case scope == 0:
		return Result{Status: OK, Detail: "0: your own processes may be traced"}
	case scope == 1:
		return Result{Status: OK, Detail: "1: programs that Strobe launches may be traced"}
	case scope == 2 && hasCapability(read, capSysPtrace):
		return Result{Status: OK, Detail: "2: needs CAP_SYS_PTRACE, which this process has"}
	case scope == 2:
		return Result{Fail, "2: only processes with CAP_SYS_PTRACE may trace", set}
	}
	return Result{Fail, fmt.Sprintf("%d: tracing is switched off until the next boot", scope),
		"Set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and restart the machine."}
}

const capSysPtrace = 19 // include/uapi/linux/capability.h

func hasCapability(read func(string) (string, error), capability uint) bool {
	mask, err := strconv.ParseUint(statusField(read, "CapEff"), 16, 64)
	return err == nil && mask>>capability&1 == 1
}

func statusField(read func(string) (string, error), name string) string {
	text, err := read("proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func sandbox(read func(string) (string, error)) Result {
	var where []string
	if _, err := read(".dockerenv"); err == nil {
		where = append(where, "Docker")
	}
	if _, err := read("run/.containerenv"); err == nil {
		where = append(where, "Podman")
	}
	if text, err := read("proc/1/cgroup"); err == nil && strings.Contains(text, "kubepods") {
		where = append(where, "Kubernetes")
	}
	detail := "no container found"
	if len(where) > 0 {
		detail = "runs in " + strings.Join(where, ", ")
	}
	if statusField(read, "Seccomp") == "2" {
		return Result{Warn, detail + "; a seccomp filter is active and may forbid ptrace",
			"If the ptrace check fails, start the container with --cap-add=SYS_PTRACE --security-opt seccomp=unconfined."}
	}
	return Result{Status: OK, Detail: detail + ", no seccomp filter"}
}

// clock looks at the time stamp counter, which hooks read instead of asking the kernel.
func clock(read func(string) (string, error)) Result {
	flags, err := cpuFlags(read)
	if err != nil {
		return Result{Warn, "CPU unknown: " + err.Error(), "Mount /proc."}
	}
	source, _ := read("sys/devices/system/clocksource/clocksource0/current_clocksource")
	if !slices.Contains(flags, "constant_tsc") || !slices.Contains(flags, "nonstop_tsc") {
		return Result{Warn, "the time stamp counter is not invariant: times of events may drift by microseconds",
			"Use a machine or a virtual CPU type with constant_tsc and nonstop_tsc."}
	}
	detail := "time stamp counter is invariant"
	if source != "" {
		detail += ", the kernel uses " + source
	}
	return Result{Status: OK, Detail: detail}
}

func fsgsbase(read func(string) (string, error)) Result {
	flags, err := cpuFlags(read)
	if err != nil {
		return Result{Warn, "CPU unknown: " + err.Error(), "Mount /proc."}
	}
	if !slices.Contains(flags, "fsgsbase") {
		return Result{Warn, "no fsgsbase: each thread's first traced call is slower",
			"Nothing to do; a newer CPU or kernel has it."}
	}
	return Result{Status: OK, Detail: "available"}
}

func cpuFlags(read func(string) (string, error)) ([]string, error) {
	text, err := read("proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			return strings.Fields(value), nil
		}
	}
	return nil, nil
}
