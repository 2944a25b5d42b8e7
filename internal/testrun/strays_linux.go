package testrun

import (
	"fmt"
	"os"
	"strings"

	"github.com/strobe-debug/strobe/internal/stuck"
)

// A test may begin a process that goes on in a session of its own, and whose parents end before anybody has seen them.
// Nothing tells for certain that it is the test's, and so it is never ended; but it may be the one that lets the test
// go on. Such strays are looked at like the family's own.

// strays finds them in what was read of all processes, and what they began.
func (f *family) strays(all []*relative, here map[int]*relative) {
	heirs := map[int]bool{1: true} // who may have become the parent of what lost its own: one above us
	for pid := os.Getpid(); ; {
		r := here[pid]
		if r == nil || heirs[r.Parent] {
			break
		}
		heirs[r.Parent], pid = true, r.Parent
	}
	for more := true; more; {
		more = false
		for _, r := range all {
			if f.known[r.PID] != nil || r.PID == os.Getpid() {
				continue
			}
			parent := f.known[r.Parent]
			if parent != nil && parent.stray || heirs[r.Parent] && !stuck.Before(r.Began, f.began) && f.alike(r.PID) {
				r.stray, more = true, true
				f.keep(r)
			}
		}
	}
}

// has reports whether a process is known to be of the family.
func (f *family) has(pid int) bool {
	r := f.known[pid]
	return r != nil && !r.stray
}

// alike reports whether a process runs a program of the family's, which is none of the system's, or has the family's
// environment and is where the family is, or nowhere in particular; and is not in the folder of another run.
func (f *family) alike(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if me, err2 := os.Readlink("/proc/self/exe"); err != nil || err2 != nil || exe == me {
		return false // of another Strobe
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || f.elsewhere != nil && f.elsewhere(dir) {
		return false
	}
	if system := strings.HasPrefix(exe, "/usr/") || strings.HasPrefix(exe, "/bin/"); f.exes[exe] && !system {
		return true
	}
	if near := dir == "/" || f.dir != "" && (dir == f.dir || strings.HasPrefix(dir, f.dir+"/")); !near || len(f.env) == 0 {
		return false
	}
	env := environment(pid)
	for v := range f.env {
		if !env[v] {
			return false
		}
	}
	return true
}

// environment is what a process was begun with, but for what shells change, and go test.
func environment(pid int) map[string]bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	env := map[string]bool{}
	for v := range strings.SplitSeq(string(b), "\x00") {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "", "_", "PWD", "OLDPWD", "SHLVL", "PATH":
		default:
			env[v] = true
		}
	}
	return env
}
