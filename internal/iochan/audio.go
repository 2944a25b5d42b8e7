package iochan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sound/pulse"
)

// The audio channel records what each of the target's streams plays, alone, by the sound server: the user's, or one of
// the session's own. What the target records can be played to it.

const (
	// unclaimedEvery is how often it is asked whose a stream is, as long as the process is not yet known as the target's.
	unclaimedEvery = 100 * time.Millisecond
	// maxSounds bounds the streams that are recorded at once.
	maxSounds = 16
	private   = "private"
)

var audioKind = Kind{
	Name: "audio", Arg: "SERVER",
	Doc: "Sound that the program plays by PulseAudio or PipeWire, each stream alone; and what it records. audio:private " +
		"is a server of the session's own, without devices (add it at the launch: it puts its address into the " +
		"environment); audio is the user's, audio:unix:PATH another.",
	Options: []Field{
		{Name: "wav", Type: "string", Doc: "a file for each stream's sound, from the project: NAME.wav, NAME-2.wav"},
		{Name: "intervalMs", Type: "integer", Min: 20, Max: 10_000, Default: "100", Doc: "of levels; a change is told"},
	},
	Messages: audioMessages,
	Heard:    audioHeard,
	New: func(arg string, options json.RawMessage) (Channel, error) {
		a := &audio{arg: arg, wake: make(chan struct{}, 1), closing: make(chan struct{}), sounds: map[uint32]*heardSound{},
			IntervalMs: 100}
		if len(options) > 0 {
			if err := json.Unmarshal(options, a); err != nil {
				return nil, invalid("See debug_channel list.", "options: %w", err)
			}
		}
		return a, nil
	},
}

// audio is an audio channel. Goroutines: run, and the connection's, which brings sound. Order of locks: inputs,
// heardSound.mu, mu.
type audio struct {
	Wav        string
	IntervalMs int

	arg     string
	root    string
	t       Target
	out     Out
	server  *soundServer // of its own; else nil
	conn    *pulse.Conn
	wake    chan struct{}
	closing chan struct{}
	running sync.WaitGroup
	once    sync.Once

	inputs sync.Mutex // over making and unmaking what the target records from
	loaded []uint32   // modules of it; needs inputs

	mu       sync.Mutex
	sounds   map[uint32]*heardSound // by the stream's number in the server
	last     *heardSound            // the newest that had sound
	records  map[uint32]bool        // streams of the target that record
	recorded chan struct{}          // closed when one comes
	came     map[uint32]int64       // when a stream was first told of
	moved    bool                   // the target records from us
	files    int
	many     bool
}

// Name implements Channel.
func (a *audio) Name() string {
	if a.arg != "" {
		return "audio:" + a.arg
	}
	return "audio"
}

// Open implements Channel.
func (a *audio) Open(ctx context.Context, t Target, out Out) error {
	a.t, a.out, a.root = t, out, t.Root()
	a.records, a.came, a.recorded = map[uint32]bool{}, map[uint32]int64{}, make(chan struct{})
	var socket string
	var err error
	if a.arg == private {
		if a.server, err = acquireServer(ctx, t); err != nil {
			return err
		}
		socket = a.server.socket()
	} else if socket, err = pulse.Socket(a.arg); err != nil {
		return invalid("audio, audio:private or audio:unix:PATH.", "channel audio:%s: %w", a.arg, err)
	}
	a.conn, err = pulse.Dial(ctx, socket, "Strobe", a.event)
	if err != nil {
		return fault.New(fault.Unsupported, "Add audio:private at the launch: a sound server of its own. Or start the "+
			"user's: systemctl --user start pipewire-pulse, or pulseaudio --start.",
			"no sound server answers at %s: %w", socket, err)
	}
	a.running.Add(1)
	go a.run()
	a.signal()
	return nil
}

// Environment implements Environer.
func (a *audio) Environment() map[string]string {
	if a.server == nil {
		return nil
	}
	return a.server.environment()
}

// Variables implements Variabler.
func (a *audio) Variables() map[string]string {
	if a.server == nil {
		return nil
	}
	return map[string]string{"server": "unix:" + a.server.socket(), "dir": a.server.dir}
}

// event is told of streams; from the connection's goroutine.
func (a *audio) event(e pulse.Event) {
	a.mu.Lock()
	switch {
	case e.Gone:
		delete(a.came, e.Index)
		if s := a.sounds[e.Index]; s != nil {
			s.gone = true
		}
		delete(a.records, e.Index)
	case e.New:
		a.came[e.Index] = Monotonic()
	}
	a.mu.Unlock()
	a.signal()
}

func (a *audio) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run looks at the server's streams whenever they change.
func (a *audio) run() {
	defer a.running.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var again <-chan time.Time
	for {
		select {
		case <-a.wake:
		case <-again:
		case <-a.conn.Done():
			a.endAll("the sound server has ended")
			return
		case <-a.closing:
			a.endAll("")
			return
		}
		again = nil
		if unclaimed := a.look(ctx); unclaimed {
			again = time.After(unclaimedEvery)
		}
	}
}

// look begins recording of the target's new streams and ends those that went. It says whether some are of programs that
// are not the target's so far.
func (a *audio) look(ctx context.Context) (unclaimed bool) {
	own := a.t.PIDs()
	for _, recording := range []bool{false, true} {
		all, err := a.conn.Streams(ctx, recording)
		if err != nil {
			if ctx.Err() == nil {
				a.tell(event.Out, map[string]any{"what": "lost", "why": "streams cannot be listed: " + err.Error()})
			}
			return true
		}
		for i := range all {
			s := &all[i]
			switch {
			case s.PID == os.Getpid() || s.PID == 0 && a.server != nil: // ours, or the server's own
			case a.server == nil && !slices.Contains(own, s.PID):
				unclaimed = true
			case recording:
				a.recordsFrom(ctx, s)
			default:
				a.begin(ctx, s)
			}
		}
	}
	a.mu.Lock()
	var over []*heardSound
	for index, s := range a.sounds {
		if s.gone {
			over = append(over, s)
			delete(a.sounds, index)
		}
	}
	a.mu.Unlock()
	for _, s := range over {
		a.end(ctx, s, "")
	}
	return unclaimed
}

// recordsFrom notes a stream of the target that records, and gives it our source where it shall have that.
func (a *audio) recordsFrom(ctx context.Context, s *pulse.Stream) {
	a.mu.Lock()
	there, moved := a.records[s.Index], a.moved
	a.records[s.Index] = true
	if !there && len(a.records) == 1 {
		close(a.recorded)
		a.recorded = make(chan struct{})
	}
	a.mu.Unlock()
	if there {
		return
	}
	a.tell(event.In, soundEvent{What: "records", Source: s.Index, App: s.App, PID: s.PID, Media: s.Name,
		Rate: s.Spec.Rate, Channels: s.Spec.Channels})
	if moved {
		a.move(ctx, s.Index)
	}
}

func (a *audio) move(ctx context.Context, index uint32) {
	if err := a.conn.Move(ctx, index, sourceIn+a.suffix()); err != nil {
		a.tell(event.In, map[string]any{"what": "lost", "why": "it cannot be made to record from us: " + err.Error()})
	}
}

func (a *audio) tell(direction string, what any) {
	stream := "played"
	if direction == event.In {
		stream = "recorded"
	}
	a.out(Heard{Stream: stream, Direction: direction, What: what})
}

// suffix keeps what we make in a user's server apart from other sessions'.
func (a *audio) suffix() string {
	if a.server != nil {
		return ""
	}
	return fmt.Sprintf("_%d_%p", os.Getpid(), a)
}

// input makes what the target records from, and has it record from there.
func (a *audio) input(ctx context.Context) error {
	if a.server != nil {
		return nil // it is the server's default
	}
	a.inputs.Lock()
	defer a.inputs.Unlock()
	if a.loaded == nil {
		loaded, err := loadInput(ctx, a.conn, a.suffix())
		a.loaded = loaded
		if err != nil {
			return fault.New(fault.Unsupported, "Use audio:private, a server of the session's own.",
				"the sound server makes no source for it: %w", err)
		}
	}
	a.mu.Lock()
	move := a.moved
	a.moved = true
	var all []uint32
	for index := range a.records {
		all = append(all, index)
	}
	a.mu.Unlock()
	if !move {
		for _, index := range all {
			a.move(ctx, index)
		}
	}
	return nil
}

// Close implements Channel.
func (a *audio) Close() error {
	if a.conn == nil {
		if a.server != nil {
			a.server.release()
		}
		return nil
	}
	var errs []error
	a.once.Do(func() {
		close(a.closing)
		a.running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		a.inputs.Lock()
		for _, module := range a.loaded {
			errs = append(errs, a.conn.Unload(ctx, module))
		}
		a.inputs.Unlock()
		a.conn.Close()
		if a.server != nil {
			a.server.release()
		}
	})
	return errors.Join(errs...)
}

// wavPath is the next stream's file.
func (a *audio) wavPath() string {
	if a.Wav == "" {
		return ""
	}
	p := a.Wav
	if !filepath.IsAbs(p) {
		p = filepath.Join(a.root, p)
	}
	if a.files++; a.files > 1 {
		ext := filepath.Ext(p)
		p = p[:len(p)-len(ext)] + "-" + strconv.Itoa(a.files) + ext
	}
	return p
}
