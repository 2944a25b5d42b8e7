package testrun

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// watch is who watches a command's processes. spin is nil where loops cannot be looked at.
func (r *Run) watch(procs *family, look stuck.Looker, spin stuck.Spinner) *stuck.Watch {
	return &stuck.Watch{Tree: procs, Subject: r, Look: look, Spin: spin, Limit: r.limit, Root: r.Request.ProjectRoot,
		Layouts: r.m.layouts.Source(r.project.LookPath, r.environ(&testadapter.Step{}))}
}

// watched begins to watch a step that runs tests; the function it returns ends that.
func (r *Run) watched(step *testadapter.Step, procs *family, look stuck.Looker, spin stuck.Spinner) func() {
	if step.Phase == testadapter.Compiling {
		return func() {}
	}
	procs.elsewhere = r.ofAnother
	stop := make(chan struct{})
	var watching sync.WaitGroup
	w := r.watch(procs, look, spin)
	watching.Go(func() { w.Run(r.ctx, stop) })
	return sync.OnceFunc(func() {
		close(stop)
		watching.Wait()
	})
}

// ofAnother reports whether a folder belongs to another project's run.
func (r *Run) ofAnother(dir string) bool {
	in := func(root string) bool {
		return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
	}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return !in(r.Request.ProjectRoot) && slices.ContainsFunc(r.m.runs,
		func(o *Run) bool { return in(o.Request.ProjectRoot) })
}

// News is stuck.Subject's.
func (r *Run) News() (last time.Time, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastNews, r.phase == testadapter.Running
}

// Doing is stuck.Subject's: what the tests' processes do, as far as it is known from outside.
func (r *Run) Doing(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doingNow = what
}

// lastLook takes the stacks of a run that is about to be ended for its time.
func (r *Run) lastLook(procs *family, look stuck.Looker, spin stuck.Spinner) {
	all := procs.Every()
	r.mu.Lock()
	known := len(r.stuck) > 0
	r.mu.Unlock()
	if known || len(all) == 0 {
		return
	}
	if f := r.watch(procs, look, spin).Last(context.WithoutCancel(r.ctx), all); f != nil {
		f.Diagnosis = "time is up; " + f.Diagnosis
		r.shown(f, all)
	}
}

// glance looks at processes that are in no session.
func (r *Run) glance(ctx context.Context, pids []int) (*collector.ThreadReport, error) {
	return r.m.cfg.Sessions.Glance(ctx, pids, r.Request.ProjectRoot)
}

// spin is a stuck.Spinner for processes that are in no session.
func (r *Run) spin(ctx context.Context, pids []int, before any) ([]collector.Loop, any, error) {
	return r.m.cfg.Sessions.Spin(ctx, pids, r.Request.ProjectRoot, before)
}
