// Package settings owns what users may set: the table of keys, their ranges,
// and the reading of the two JSON files that set them.
//
// It stands beside the data path: service and session ask it at every call, and it reads the files at every call.
// $STROBE_HOME/settings.json lies over the defaults, PROJECT/.strobe/settings.json
// over that; both hold one flat object with dotted keys. A bad key or value is
// warned about and ignored, and the rest of its file holds. Of ours it imports secret alone, whose names are set here.
//
// What concerns all projects' data is the user's alone: a project that one has cloned must not be able
// to have the recordings of others deleted.
package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/secret"
)

// Settings are the values in force for one project.
type Settings struct {
	EventsMaxPerSession int64  // call events kept per session
	BytesMaxPerSession  int64  // of them, on disk
	SessionsMax         int    // sessions whose program runs at one time
	StorageMaxBytes     int64  // of all sessions together
	StorageRetainDays   int    // age at which an ended session goes; 0 keeps for ever
	SerializationDepth  int    // depth of values where a call does not say
	OnFullBuffer        string // a collector.OnFull
	RecordWrites        bool   // of launched programs, for the time and thread of output
	LineBuffer          string // "auto", "always" or "off"

	TestTimeout time.Duration // of a test run; 0: by its level

	SamplingThreshold int64   // calls per second of one function above which it is sampled
	SamplingAfter     int64   // recorded calls of one function before it is sampled
	SamplingRate      float64 // share of a sampled function's calls that is recorded, above 0, up to 1

	SecretNames  string // changes to the names of secrets, as secret.New has them
	SecretRedact bool   // values with such names are not recorded

	Service string // what the programs are called among others; "": by their names
}

// Key describes one setting. Docs are generated from Keys.
type Key struct {
	Name     string
	Doc      string
	Default  any                     // int64, float64 or string
	Min, Max float64                 // of integers and numbers, inclusive; exact up to 2^53
	Enum     []string                // of strings; nil: any text of up to MaxText bytes
	UserOnly bool                    // a project's file cannot set it
	check    func(text string) error // of a free text; nil: all is well
	set      func(*Settings, any)
}

// Type returns the JSON type of the key's value: integer, number or string.
func (k Key) Type() string {
	switch k.Default.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	}
	return "integer"
}

// Allowed says which values the key takes: "integer, 1 to 1000".
func (k Key) Allowed() string {
	if _, text := k.Default.(string); text && k.Enum == nil {
		return fmt.Sprintf("string, up to %d bytes", MaxText)
	}
	if k.Enum != nil {
		return k.Type() + ": " + strings.Join(k.Enum, ", ")
	}
	return fmt.Sprintf("%s, %s to %s", k.Type(), plain(k.Min), plain(k.Max))
}

// plain writes a bound without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// MaxText bounds a text that is free.
const MaxText = 200

// Keys is every setting there is, in the order of the docs.
var Keys = []Key{
	{
		Name: "events.maxBytesPerSession", Default: int64(1 << 30), Min: 1 << 20, Max: 1 << 40,
		Doc: "Bytes of call events on disk per session; the oldest go first, as with events.maxPerSession.",
		set: func(s *Settings, v any) { s.BytesMaxPerSession = v.(int64) },
	},
	{
		Name: "events.maxPerSession", Default: int64(10_000_000), Min: 1, Max: 100_000_000,
		Doc: "Call events (enters and exits) kept per session; the oldest go first. Output and crashes are never evicted. " +
			"A change holds from the next call on that names the session.",
		set: func(s *Settings, v any) { s.EventsMaxPerSession = v.(int64) },
	},
	{
		Name: "output.lineBuffer", Default: "auto", Enum: []string{"auto", "always", "off"},
		Doc: "How the C library's stdout is buffered where it goes to the session: auto flushes each line, as on a " +
			"terminal, until a program has printed very many at once (32,768, or 20,000 a second for long; 262,144 where " +
			"functions are traced), which then fills its buffer as it would without Strobe; always flushes each line; off " +
			"leaves it alone.",
		set: func(s *Settings, v any) { s.LineBuffer = v.(string) },
	},
	{
		Name: "output.recordWrites", Default: "on", Enum: []string{"on", "off"},
		Doc: "Whether who writes output and when is recorded in a launched program, by probes behind its system calls that " +
			"write; off leaves the code of its C library as it is, and output has the time of its reading.",
		set: func(s *Settings, v any) { s.RecordWrites = v.(string) == "on" },
	},
	{
		Name: "sampling.after", Default: int64(1_000_000), Min: 0, Max: 1_000_000_000_000,
		Doc: "Calls of one function that are recorded in the session before it is sampled; a tenth, where as many calls " +
			"of all as events.maxPerSession were. Where sampling is asked for (auto, or a rate), it begins at once.",
		set: func(s *Settings, v any) { s.SamplingAfter = v.(int64) },
	},
	{
		Name: "sampling.rate", Default: 0.01, Min: 0.0001, Max: 1,
		Doc: "Share of a hot function's calls that is recorded while it is sampled; 1 records all. After a quarter of " +
			"sampling.after, where that is not 0, a tenth of it. Counts in view stats are of all calls in any case.",
		set: func(s *Settings, v any) { s.SamplingRate = v.(float64) },
	},
	{
		Name: "sampling.threshold", Default: int64(100_000), Min: 1, Max: 1_000_000_000,
		Doc: "Calls per second of one function above which it is sampled, a tenth where all together are recorded five " +
			"times as often; every call is recorded again when the rate falls.",
		set: func(s *Settings, v any) { s.SamplingThreshold = v.(int64) },
	},
	{
		Name: "secrets.names", Default: "", check: func(text string) error { _, err := secret.New(text); return err },
		Doc: "Changes to the words by which a secret is known, with commas between: \"pin, -token\" adds pin and takes " +
			"token out, =key adds key where it is the whole name. Built in: " + secret.Words() + ".",
		set: func(s *Settings, v any) { s.SecretNames = v.(string) },
	},
	{
		Name: "secrets.redact", Default: "on", Enum: []string{"on", "off"},
		Doc: "Whether parameters, fields, keys, environment variables and headers whose names say that they are secrets " +
			"are recorded as <redacted>; their values are then nowhere on disk. A launch can say otherwise.",
		set: func(s *Settings, v any) { s.SecretRedact = v.(string) == "on" },
	},
	{
		Name: "service", Default: "",
		Doc: "What the project's programs are called where sessions of many programs are kept together (strobe push); " +
			"empty: each by its own name.",
		set: func(s *Settings, v any) { s.Service = v.(string) },
	},
	{
		Name: "sessions.max", Default: int64(50), Min: 1, Max: 1000,
		Doc: "Sessions whose program runs at one time; one more is refused with SESSION_LIMIT.",
		set: func(s *Settings, v any) { s.SessionsMax = int(v.(int64)) },
	},
	{
		Name: "storage.maxBytes", Default: int64(10 << 30), Min: 1 << 20, Max: 1 << 50, UserOnly: true,
		Doc: "Disk space of all sessions together, running ones too. Over it, ended sessions go, the one that ended first " +
			"before the others, until the rest is within it; where only running ones are left, recording stops with " +
			"STORAGE_FULL.",
		set: func(s *Settings, v any) { s.StorageMaxBytes = v.(int64) },
	},
	{
		Name: "storage.retainDays", Default: int64(7), Min: 0, Max: 36500, UserOnly: true,
		Doc: "Days after its end at which a session is deleted: retained, interrupted or never stopped alike; 0 keeps " +
			"them for ever.",
		set: func(s *Settings, v any) { s.StorageRetainDays = int(v.(int64)) },
	},
	{
		Name: "test.timeoutMs", Default: int64(0), Min: 0, Max: 3_600_000,
		Doc: "Milliseconds that a test run may take, compiling not counted; then stacks are taken and it is ended. 0: by " +
			"its level, 120,000 for unit, 300,000 for integration, 600,000 for others.",
		set: func(s *Settings, v any) { s.TestTimeout = time.Duration(v.(int64)) * time.Millisecond },
	},
	{
		Name: "trace.serializationDepth", Default: int64(3), Min: 1, Max: 10,
		Doc: "Depth to which values are followed where a call does not say.",
		set: func(s *Settings, v any) { s.SerializationDepth = int(v.(int64)) },
	},
	{
		Name: "trace.onFullBuffer", Default: "wait", Enum: []string{"wait", "drop", "block"},
		Doc: "What happens when there is no room for a thread's records: wait makes it wait until there is, but no " +
			"real-time thread, and not for longer than five seconds while none is made; drop lets it run on; block makes " +
			"every thread wait as long as it takes. What is lost is counted.",
		set: func(s *Settings, v any) { s.OnFullBuffer = v.(string) },
	},
}

// Secrets are the names whose values are not recorded, nil where a launch keeps all or the settings do.
func (s *Settings) Secrets(keep bool) *secret.Names {
	if keep || !s.SecretRedact {
		return nil
	}
	names, _ := secret.New(s.SecretNames) // checked when it was read
	return names
}

// Defaults returns the settings with no file read.
func Defaults() Settings {
	var s Settings
	for _, k := range Keys {
		k.set(&s, k.Default)
	}
	return s
}
