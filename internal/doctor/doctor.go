// Package doctor owns the checks of what works on this machine: their type, their runner, and those that
// need nothing but files to read. Other parts contribute theirs (daemon: system calls and the home;
// a runtime: a trial run of itself).
//
// It stands beside the data path and imports nothing of ours. A check changes nothing and never fails
// the command: it says what is wrong and how to mend it.
package doctor

import (
	"context"
	"fmt"
	"time"
)

// Status is a check's verdict.
type Status string

// OK works; Warn works less well or cannot be told; Fail does not work.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Result is what a check found. Fix names the command or setting that mends it, and is empty for OK.
type Result struct {
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Check is one thing to look at. Run should end within a few seconds.
type Check struct {
	Name string
	Run  func(ctx context.Context) Result
}

// Finding is a result with its check's name.
type Finding struct {
	Name string `json:"name"`
	Result
}

// Report is the outcome of all checks. OK is false if one failed.
type Report struct {
	OK     bool      `json:"ok"`
	Checks []Finding `json:"checks"`
}

// checkTimeout bounds one check: a hung file system or daemon must not hang the doctor.
const checkTimeout = 15 * time.Second

// Run runs the checks one after the other, since some measure the machine.
func Run(ctx context.Context, checks []Check) Report {
	report := Report{OK: true, Checks: []Finding{}}
	for _, c := range checks {
		r := runOne(ctx, c)
		report.OK = report.OK && r.Status != Fail
		report.Checks = append(report.Checks, Finding{c.Name, r})
	}
	return report
}

func runOne(ctx context.Context, c Check) Result {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	done := make(chan Result, 1)
	go func() { // ends with the check; a hung one is left behind, the command ends soon
		defer func() {
			if p := recover(); p != nil {
				done <- Result{Fail, fmt.Sprintf("the check panicked: %v", p), "This is a bug in Strobe: please report it."}
			}
		}()
		done <- c.Run(ctx)
	}()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		return Result{Fail, "no answer within " + checkTimeout.String(), "Run `strobe doctor` again on a quiet machine."}
	}
}
