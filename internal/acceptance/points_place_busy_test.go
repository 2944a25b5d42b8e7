package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// waitSeen is what a call waited for, looked at from outside every few milliseconds: whether a thread of the daemon or
// of its sessions' processes ran or waited for a CPU, or all of them slept.
type waitSeen struct {
	daemon, target int
	stop           chan struct{}
	done           chan struct{}
	busy, idle     time.Duration
	before         [2]cpuTimes
	after          [2]cpuTimes
}

// cpuTimes are sums over a process's threads, and those of the thread with most of both.
type cpuTimes struct{ ran, waited time.Duration }

const (
	watchFrom  = 100 * time.Millisecond // shorter calls are not looked at
	watchEvery = 10 * time.Millisecond
)

// watchWait looks at the daemon and the program while a call lasts; told says what was seen.
func watchWait(daemon, target int) *waitSeen {
	w := &waitSeen{daemon: daemon, target: target, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *waitSeen) run() {
	defer close(w.done)
	select {
	case <-w.stop:
		return
	case <-time.After(watchFrom):
	}
	w.before = [2]cpuTimes{timesOf(withChildren(w.daemon)...), timesOf(w.target)}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-w.stop:
			w.after = [2]cpuTimes{timesOf(withChildren(w.daemon)...), timesOf(w.target)}
			return
		case <-tick.C:
		}
		now := time.Now()
		if anyRuns(withChildren(w.daemon)) {
			w.busy += now.Sub(last)
		} else {
			w.idle += now.Sub(last)
		}
		last = now
	}
}

// told ends the look.
func (w *waitSeen) told() string {
	close(w.stop)
	<-w.done
	part := func(i int) string {
		return fmt.Sprintf("ran %.1f s and waited %.1f s for a CPU", (w.after[i].ran - w.before[i].ran).Seconds(),
			(w.after[i].waited - w.before[i].waited).Seconds())
	}
	return fmt.Sprintf("threads of the daemon were runnable for %.1f s, none for %.1f s; they %s, the program's %s",
		w.busy.Seconds(), w.idle.Seconds(), part(0), part(1))
}

// starved is how much of the call's time a thread of the daemon wanted a CPU without that any had one; after told.
func (w *waitSeen) starved() time.Duration {
	return w.busy - min(w.busy, max(0, w.after[0].ran-w.before[0].ran))
}

// timesOf sums what the threads of processes ran, and waited for a CPU.
func timesOf(pids ...int) (sum cpuTimes) {
	for _, b := range ofThreads(pids, "schedstat") {
		if n := bytes.Fields(b); len(n) > 1 {
			ran, _ := strconv.ParseInt(string(n[0]), 10, 64)
			waited, _ := strconv.ParseInt(string(n[1]), 10, 64)
			sum.ran += time.Duration(ran)
			sum.waited += time.Duration(waited)
		}
	}
	return sum
}

// anyRuns reports whether a thread of the processes is on a CPU, or wants one.
func anyRuns(pids []int) bool {
	for _, b := range ofThreads(pids, "stat") {
		if i := bytes.LastIndexByte(b, ')'); i > 0 && i+2 < len(b) && b[i+2] == 'R' {
			return true
		}
	}
	return false
}

// withChildren is a process and those that it made.
func withChildren(pid int) []int {
	pids := []int{pid}
	for _, b := range ofThreads(pids, "children") {
		for _, f := range bytes.Fields(b) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// ofThreads reads a file of each thread of the processes.
func ofThreads(pids []int, name string) (texts [][]byte) {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, name))
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil {
				texts = append(texts, b)
			}
		}
	}
	return texts
}

// daemonOf is the daemon of a home; 0: it does not run.
func daemonOf(home string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, _ := os.ReadFile(f)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "environ"))
		if bytes.Contains(line, []byte("\x00daemon\x00")) && bytes.Contains(env, []byte("STROBE_HOME="+home+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			return pid
		}
	}
	return 0
}

// observerOf is the process that observes a program; 0: none does, or it has ended.
func observerOf(pid int) (observer int) {
	for _, field := range []string{"TracerPid", "Tgid"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0
		}
		_, rest, _ := strings.Cut(string(b), "\n"+field+":")
		if _, err := fmt.Sscan(rest, &pid); err != nil {
			return 0
		}
	}
	return pid
}
