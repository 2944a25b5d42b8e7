package service

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/desktop"
)

// panels are the user interfaces that are looked at, by session or process. Its goroutines, one for each, end with the
// display, with close, and when nobody asks for long.
type panels struct {
	mu   sync.Mutex // leaf
	open map[string]*panel
	wg   sync.WaitGroup
}

// panel is one of them, with what a session has of it.
type panel struct {
	*ui.Panel
	sess *session.Session // nil: of a process that is in none
	end  chan struct{}
	once sync.Once

	mu   sync.Mutex // leaf
	used time.Time
	idle int64 // since when, on the session's clock, nobody has acted; 0: nobody has looked yet
}

// panelIdle is how long connections are kept that nobody uses.
const panelIdle = 5 * time.Minute

func (p *panels) close() {
	p.mu.Lock()
	for _, one := range p.open {
		one.stop()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *panel) stop() { p.once.Do(func() { close(p.end) }) }

func (p *panel) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Now()
}

func (p *panel) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.used) > panelIdle
}

// panel returns the interface of a session's processes, or of one process.
func (s *Service) panel(ctx context.Context, id string, pid int) (*panel, error) {
	var sess *session.Session
	key := id
	first := pid
	if id != "" {
		var err error
		if sess, err = s.sessions.Get(ctx, id); err != nil {
			return nil, err
		}
		if !sess.Live() {
			return nil, fault.New(fault.UIQueryFailed, "Launch it again with debug_launch.",
				"the program of session %s has ended", id)
		}
		first = sess.PID()
	} else {
		key = fmt.Sprintf("pid %d", pid)
	}
	s.panels.mu.Lock()
	have := s.panels.open[key]
	s.panels.mu.Unlock()
	if have != nil {
		have.touch()
		return have, nil
	}
	where := desktop.Of(session.Environment(first, desktop.Variables...))
	if sess != nil {
		if d := sess.Display(); d != nil {
			where = desktop.Where{Display: d.Info.Display, Authority: d.Authority, Bus: d.Bus, Accessibility: d.Accessibility,
				Own: true}
		} else if sess.HadDisplay() {
			return nil, fault.New(fault.UINotAvailable, "Launch it again with debug_launch.",
				"the display of session %s has ended", id)
		}
	}
	d, err := desktop.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	pids, program := func() []int { return []int{pid} }, ""
	if sess != nil {
		pids, program = sess.PIDs, filepath.Base(sess.Command())
	}
	up, err := ui.NewPanel(ctx, d, program, filepath.Join(s.cfg.Home, "cache", "motor"), pids)
	if err != nil {
		d.Close()
		return nil, err
	}
	return s.panels.add(key, &panel{Panel: up, sess: sess, end: make(chan struct{}), used: time.Now()}), nil
}

// add keeps a panel, unless another call was faster: then that is the one.
func (p *panels) add(key string, one *panel) *panel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if have := p.open[key]; have != nil {
		one.Close()
		return have
	}
	if p.open == nil {
		p.open = map[string]*panel{}
	}
	p.open[key] = one
	p.wg.Go(func() {
		tick := time.NewTicker(panelIdle / 5)
		defer tick.Stop()
		for done := false; !done; {
			select {
			case <-one.Gone():
				done = true
			case <-one.end:
				done = true
			case <-tick.C:
				done = one.unused()
			}
		}
		p.mu.Lock()
		delete(p.open, key)
		p.mu.Unlock()
		one.Close()
	})
	return one
}
