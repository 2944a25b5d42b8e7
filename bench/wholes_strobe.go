package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// wholeStrobe launches the program with everything of its project traced and every other default. A program without
// clients waits before main until it is let go: its time is that from there to its end.
func (b *bench) wholeStrobe(c *client, w *whole, dir string, depth int) (s sample, err error) {
	in := map[string]any{"cwd": dir, "trace": append([]string{"@usercode"}, w.trace...), "stopOnEntry": w.load == ""}
	if depth > 0 {
		in["serializationDepth"] = depth
	}
	l, _, err := c.launch(w.program, w.source, w.args, in)
	if err != nil {
		return s, err
	}
	defer c.end(l.SessionID)
	before, err := b.daemonCPUExact()
	if err != nil {
		return s, err
	}
	start, err := w.letGo(c, l.SessionID, dir)
	if err != nil {
		return s, err
	}
	end, err := waitGone(l.PID, wholeLimit)
	if err != nil {
		return s, err
	}
	st, err := c.wholeStatus(l.SessionID)
	if err != nil {
		return s, err
	}
	s.Program, s.Ready = end.Sub(start).Seconds(), time.Since(end).Seconds()
	after, err := b.daemonCPUExact()
	if err != nil {
		return s, err
	}
	size, err := b.sessionSize(l.SessionID)
	if err != nil {
		return s, err
	}
	s.Made, s.Sampled, s.Lost = float64(st.Calls.Made), float64(st.Calls.Sampled), float64(st.Calls.Dropped)
	s.CPU, s.Bytes = (after - before).Seconds(), float64(size)
	s.Kept = float64(st.Calls.Recorded) - float64(st.EventsEvicted)/2 // an enter and an exit each
	return s, nil
}

// letGo starts what is measured and says when.
func (w *whole) letGo(c *client, id, dir string) (start time.Time, err error) {
	if w.load != "" {
		return w.clients(context.Background(), dir)
	}
	start = time.Now()
	_, err = c.call("debug_continue", map[string]any{"sessionId": id, "waitMs": 0}, nil)
	return start, err
}

// waitGone waits until a process has ended, whether or not somebody has waited for it.
func waitGone(pid int, within time.Duration) (time.Time, error) {
	for limit := time.Now().Add(within); ; <-time.After(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		if err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
			return time.Now(), nil
		}
		if time.Now().After(limit) {
			return time.Time{}, fmt.Errorf("it still runs after %v", within)
		}
	}
}

// wholeState is what a session's status says of its calls.
type wholeState struct {
	status
	EventsEvicted int64 `json:"eventsEvicted"`
	Calls         struct{ Made, Recorded, Sampled, Dropped int64 }
	StoreError    string   `json:"storeError"`
	Warnings      []string `json:"warnings"`
}

// wholeStatus asks until the program has ended and every event is there.
func (c *client) wholeStatus(id string) (st wholeState, err error) {
	for limit := time.Now().Add(wholeLimit); ; <-time.After(time.Millisecond) {
		st = wholeState{}
		if _, err := c.call("debug_session", map[string]any{"action": "status", "sessionId": id}, &st); err != nil {
			return st, err
		}
		late := strings.Contains(strings.Join(st.Warnings, "\n"), "counts may lag")
		switch {
		case st.StoreError != "":
			return st, errors.New(st.StoreError)
		case st.Status == "running" || late:
		case st.ExitCode == nil || *st.ExitCode != 0:
			return st, fmt.Errorf("it ended badly: exit code %v, signal %q", st.ExitCode, st.Signal)
		default:
			return st, nil
		}
		if time.Now().After(limit) {
			return st, fmt.Errorf("not all of it can be asked for after %v", wholeLimit)
		}
	}
}

// daemonCPUExact is what the daemon and its workers have used of all CPUs so far, to the nanosecond, with their threads
// that have ended.
func (b *bench) daemonCPUExact() (total time.Duration, err error) {
	pids, err := b.strobePIDs()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		d, _ := cpuOf(pid) // 0: it has ended
		total += d
	}
	return total, nil
}

// cpuOf is what a process and its threads, also those that have ended, have used of all CPUs; false where it is gone.
func cpuOf(pid int) (time.Duration, bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &ts) // CPUCLOCK_SCHED of a process
	return time.Duration(ts.Nano()), err == nil
}
