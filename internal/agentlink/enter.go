package agentlink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

const (
	// insideWithin is how long an attach waits for the interpreter to let our thread in: it does within milliseconds,
	// unless it is in a long call of C. enteredWithin is how long the agent may take from there, beside busy threads.
	insideWithin  = 3 * time.Second
	enteredWithin = 20 * time.Second
	refusedLook   = 20 * time.Millisecond
)

// refusedFile is where an agent that was brought into a process says why it does not stay, and InsideFile appears when
// the interpreter has let it in.
const (
	refusedFile = "refused"
	InsideFile  = "inside"
)

var _ collector.Enterer = (*Member)(nil)

// Enter implements collector.Enterer.
func (m *Member) Enter(ctx context.Context, img collector.Image, in collector.Injector) error {
	if m.kind.Enter == nil {
		return collector.StaysOut(m.kind.Stays(img))
	}
	if err := m.visible(img.PID); err != nil {
		return err
	}
	if err := m.kind.Enter(ctx, img, in, m.link.Dir()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enteredWithin)
	defer cancel()
	within, inside := in.Patience(img.PID, insideWithin), false
	came := make(chan bool, 1)
	go func() { came <- m.link.AwaitAgent(ctx, img.PID) }()
	tick := time.NewTicker(refusedLook)
	defer tick.Stop()
	for {
		select {
		case there := <-came:
			if !there {
				m.warn(fmt.Sprintf("the agent has not come into process %d yet: the interpreter is in a call of C that lets "+
					"no other thread in; it comes when that ends, and functions are traced from then on", img.PID))
			}
			m.entered(img.PID)
			return nil
		case <-tick.C:
			if !inside {
				_, err := os.Stat(filepath.Join(m.link.Dir(), InsideFile))
				if inside = err == nil; !inside && !within() {
					cancel()
				}
			}
			why, err := os.ReadFile(filepath.Join(m.link.Dir(), refusedFile))
			if err != nil || len(why) == 0 {
				continue
			}
			cancel()
			<-came
			return fault.New(fault.Unsupported, "Start the program with debug_launch command.",
				"functions of process %d cannot be traced: %s", img.PID, strings.TrimSpace(string(why)))
		}
	}
}

// entered says what there is to say of an agent that has come in.
func (m *Member) entered(pid int) {
	for _, a := range m.link.Agents() {
		if a.PID == pid && m.kind.Entered != nil {
			if text := m.kind.Entered(&a.Hello); text != "" {
				m.warn(text)
			}
		}
	}
}

// visible says why a process cannot have our folder: it sees other files, or may not read ours.
func (m *Member) visible(pid int) error {
	ours, err := os.Stat(m.link.Dir())
	if err != nil {
		return err
	}
	its, err := os.Stat(filepath.Join("/proc", itoa(pid), "root", m.link.Dir()))
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(ours, its) {
		return fault.New(fault.Unsupported, "Run strobe where the program runs: inside its container.",
			"process %d sees other files than this daemon (a container, or a chroot): the agent cannot be loaded there", pid)
	}
	if owner, ok := sameOwner(pid); !ok {
		return fault.New(fault.Unsupported, "Run strobe as that user: sudo -u '#"+owner+"' strobe attach "+itoa(pid)+".",
			"process %d belongs to user %s, who may not read what the agent of this daemon needs", pid, owner)
	}
	return nil
}

// sameOwner reports whether a process may read files that are ours alone.
func sameOwner(pid int) (owner string, ok bool) {
	b, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	if err != nil {
		return "", true // it has ended, which others tell
	}
	_, rest, _ := strings.Cut(string(b), "\nUid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	ids := strings.Fields(line)
	if len(ids) < 4 {
		return "", true
	}
	return ids[3], ids[3] == "0" || ids[3] == itoa(os.Geteuid()) // by which the kernel judges files
}

// foreign says that an agent is of another time.
func (m *Member) foreign(a *Agent) {
	m.warn(fmt.Sprintf("functions of process %d are not traced: its agent speaks version %d of agentlink, and strobe %d; "+
		"install those that belong together", a.PID, a.V, Version))
}

func (m *Member) warn(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warnings = append(m.warnings, text)
}
