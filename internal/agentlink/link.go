package agentlink

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/secret"
)

// EnvFolder names the folder to an agent.
const EnvFolder = "STROBE_AGENT"

// Options of a link.
type Options struct {
	Sink  collector.Sink
	Log   *slog.Logger
	Depth int // of values, where nothing else is said
	// Told hears what agents say unasked; nil: nobody does. It must not wait.
	Told func(a *Agent, m string, line []byte)
	Left func(a *Agent) // hears of agents that are gone; nil: nobody does
	// Foreign hears of agents that were let go since they speak another version; nil: nobody does.
	Foreign func(a *Agent)
	// Secrets are the names whose values go no further than where they are read; nil: all do.
	Secrets *secret.Names
	kind    *Kind // for Answer and Complete; nil: no runtime's
}

// Set is what is to be in force in every agent: docs/agentlink.md, set.
type Set struct {
	Gen    int64            `json:"gen"`
	Root   string           `json:"root"`
	OnFull collector.OnFull `json:"onFull"`
	Lines  bool             `json:"lines,omitempty"` // what is printed goes out by lines
	Rules  []Rule           `json:"rules"`
	Points []Point          `json:"points"`
}

// Rule selects functions.
type Rule struct {
	ID    int    `json:"id"`
	On    string `json:"on"` // name, path, contains, user
	Glob  string `json:"glob,omitempty"`
	Not   bool   `json:"not,omitempty"`
	Depth int    `json:"depth,omitempty"`
	Given bool   `json:"given,omitempty"` // somebody asked for that depth
}

// Link is a session's end of agentlink. Safe for concurrent use.
type Link struct {
	dir  string
	ln   net.Listener
	log  *slog.Logger
	opts Options
	wg   sync.WaitGroup

	mu     sync.Mutex
	agents []*Agent
	parted Applied               // of those that are gone, the one with the most functions
	past   map[string]PointState // of points, by agents that are gone
	came   *Hello                // of the first agent, also when it is gone
	seen   map[int]bool          // processes whose agent came, or that ended
	heard  chan struct{}         // closed when an agent comes, goes or says something
	set    Set
	closed bool

	rounds rounds
}

// memoryFolder is where files cost no disk; a system without one has them where temporary files are.
const memoryFolder = "/dev/shm"

// Listen makes the folder and the socket, and begins to read.
func Listen(o Options) (*Link, error) {
	base := memoryFolder
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	sweepFolders(base)
	dir, err := os.MkdirTemp(base, folderName)
	if err != nil {
		return nil, fmt.Errorf("make a folder for agents: %w", err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "control"))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	l := &Link{dir: dir, ln: ln, log: o.Log, opts: o, heard: make(chan struct{}), past: map[string]PointState{},
		seen: map[int]bool{}}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := l.writeStart(); err != nil {
		_ = ln.Close()
		_ = os.RemoveAll(dir)
		return nil, err
	}
	l.rounds.init(l)
	l.wg.Go(l.accept)
	l.wg.Go(l.rounds.loop)
	return l, nil
}

// Dir is the folder, for EnvFolder.
func (l *Link) Dir() string { return l.dir }

// Close takes agents out, reads what they wrote and removes the folder.
func (l *Link) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	agents := slices.Clone(l.agents)
	l.mu.Unlock()
	l.sayBye(agents)
	_ = l.ln.Close()
	for _, a := range agents {
		_ = a.conn.Close()
	}
	l.rounds.end()
	l.wg.Wait()
	_ = os.RemoveAll(l.dir)
}

// byeWithin is how long an agent may take to take everything out.
const byeWithin = time.Second

// sayBye takes agents out, all at once.
func (l *Link) sayBye(agents []*Agent) {
	for _, a := range agents {
		_ = a.tell(map[string]any{"m": "bye"})
	}
	timer := time.NewTimer(byeWithin)
	defer timer.Stop()
	for _, a := range agents {
		select {
		case <-a.gone:
		case <-timer.C:
			return
		}
	}
}

func (l *Link) accept() {
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.serve(conn) })
	}
}

// join lists an agent. What is in force it has read from start.json, and says so.
func (l *Link) join(a *Agent) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.agents = append(l.agents, a)
	if l.came == nil {
		l.came = &a.Hello
	}
	l.seen[a.PID] = true
	l.signalLocked()
	l.mu.Unlock()
	l.rounds.wake()
	return true
}

// catchUp tells an agent what is in force where it began with what was before.
func (l *Link) catchUp(a *Agent, gen int64) {
	l.mu.Lock()
	set := l.set
	known := max(gen, a.told) >= set.Gen
	a.told = max(a.told, set.Gen)
	l.mu.Unlock()
	if known {
		return
	}
	_ = a.tell(struct {
		M string `json:"m"`
		Set
	}{"set", set})
}

func (l *Link) leave(a *Agent) {
	l.rounds.finish(a.PID, a.Nonce)
	ap, ok := a.Applied()
	if k := l.opts.kind; k != nil && k.Complete != nil && ok {
		k.Complete(a, l.inForce(), &ap) // more may have been loaded since it said that
	}
	l.mu.Lock()
	for _, p := range ap.Points {
		was := l.past[p.ID]
		if p.Hits += was.Hits; len(p.Locations) == 0 {
			p.Locations, p.Note = was.Locations, was.Note
		}
		l.past[p.ID] = p
	}
	if ok && ap.Functions >= l.parted.Functions {
		l.parted = ap
		l.parted.Points = nil
	}
	l.agents = slices.DeleteFunc(l.agents, func(b *Agent) bool { return a == b })
	l.signalLocked()
	l.mu.Unlock()
	if l.opts.Left != nil {
		l.opts.Left(a)
	}
}

// ended tells that a process is gone: its agent will not come.
func (l *Link) ended(pid int) {
	l.mu.Lock()
	l.seen[pid] = true
	l.signalLocked()
	l.mu.Unlock()
}

// points are what agents say of a point, and those that are gone said last.
func (l *Link) points(id string) (all []PointState) {
	l.mu.Lock()
	if p, ok := l.past[id]; ok {
		all = append(all, p)
	}
	agents := slices.Clone(l.agents) // under the same lock: who leaves goes from one to the other
	l.mu.Unlock()
	for _, a := range agents {
		ap, _ := a.Applied()
		for _, p := range ap.Points {
			if p.ID == id {
				all = append(all, p)
			}
		}
	}
	return all
}

// behind are the processes whose agents have not said yet that they have what is in force.
func (l *Link) behind() (pids []int) {
	l.mu.Lock()
	gen, agents := l.set.Gen, slices.Clone(l.agents)
	l.mu.Unlock()
	for _, a := range agents {
		if ap, ok := a.Applied(); (!ok || ap.Gen < gen) && !gone(a) {
			pids = append(pids, a.PID)
		}
	}
	return pids
}

func (l *Link) signalLocked() {
	close(l.heard)
	l.heard = make(chan struct{})
}

func (l *Link) changed() {
	l.mu.Lock()
	l.signalLocked()
	l.mu.Unlock()
}

func (l *Link) inForce() Set {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

func (l *Link) told(a *Agent, m string, line []byte) {
	if l.opts.Told != nil {
		l.opts.Told(a, m, line)
	}
}

// Agents are those that are there.
func (l *Link) Agents() []*Agent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.agents)
}

// applied is what agents said of the set in force, also those that are gone.
func (l *Link) applied() []Applied {
	l.mu.Lock()
	all := []Applied{l.parted}
	l.mu.Unlock()
	for _, a := range l.Agents() {
		ap, ok := a.Applied()
		if a.Cannot != "" {
			ap.Warnings = append(slices.Clone(ap.Warnings), a.Cannot)
			ok = true
		}
		if ok {
			all = append(all, ap)
		}
	}
	return all
}

// AwaitAgent waits until a process's agent is there and has said what it traces, or is gone again, or ctx ends.
func (l *Link) AwaitAgent(ctx context.Context, pid int) bool {
	for {
		l.mu.Lock()
		heard := l.heard
		i := slices.IndexFunc(l.agents, func(a *Agent) bool { return a.PID == pid })
		var a *Agent
		if i >= 0 {
			a = l.agents[i]
		}
		over := a == nil && l.seen[pid]
		l.mu.Unlock()
		if over {
			return false
		}
		if a != nil {
			if _, ok := a.Applied(); ok {
				return true
			}
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return false
		}
	}
}

// Apply makes a set be in force: in every agent that is there, and in those that come. One that does not answer before
// ctx ends, as in a process that stands, has it when it goes on: behind lists those.
func (l *Link) Apply(ctx context.Context, s Set) error {
	l.mu.Lock()
	s.Gen = l.set.Gen + 1
	l.set = s
	agents := slices.Clone(l.agents)
	for _, a := range agents {
		a.told = s.Gen
	}
	l.mu.Unlock()
	if err := l.writeStart(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, a := range agents {
		wg.Go(func() {
			if err := a.Ask(ctx, "set", s, nil); err != nil && !gone(a) {
				l.log.Warn("an agent has not taken what is in force", "pid", a.PID, "err", err)
			}
		})
	}
	wg.Wait()
	return nil
}

func gone(a *Agent) bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

// writeStart replaces start.json.
func (l *Link) writeStart() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := json.Marshal(struct {
		M string `json:"m"`
		Set
	}{"set", l.set})
	if err != nil {
		return err
	}
	tmp := filepath.Join(l.dir, "start.tmp")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("tell agents what to trace: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(l.dir, "start.json")); err != nil {
		return fmt.Errorf("tell agents what to trace: %w", err)
	}
	return nil
}
