// Package settings owns what users may set: the table of keys, their ranges,
// and the reading of the two JSON files that set them.
//
// It stands beside the data path: service and session ask it at every call.
// $STROBE_HOME/settings.json lies over the defaults, PROJECT/.strobe/settings.json
// over that; both hold one flat object with dotted keys. A bad key or value is
// warned about and ignored, and the rest of its file holds. It imports nothing of ours.
package settings

// Settings are the values in force for one project.
type Settings struct {
	EventsMaxPerSession int64  // call events kept per session
	SessionsMax         int    // sessions whose program runs at one time
	StorageMaxBytes     int64  // of all sessions together
	StorageRetainDays   int    // age at which an ended session goes; 0 keeps for ever
	SerializationDepth  int    // depth of values where a call does not say
	OnFullBuffer        string // "drop" or "block"
}

// Key describes one setting. Docs are generated from Keys.
type Key struct {
	Name     string
	Doc      string
	Default  any      // int64 or string
	Min, Max int64    // of integers, inclusive
	Enum     []string // of strings
	set      func(*Settings, any)
}

// Type returns the JSON type of the key's value: integer or string.
func (k Key) Type() string {
	if k.Enum != nil {
		return "string"
	}
	return "integer"
}

// Keys is every setting there is, in the order of the docs.
var Keys = []Key{
	{
		Name: "events.maxPerSession", Default: int64(200_000), Min: 1, Max: 10_000_000,
		Doc: "Function calls (enters and exits) kept per session; the oldest go first. Output and crashes are never evicted.",
		set: func(s *Settings, v any) { s.EventsMaxPerSession = v.(int64) },
	},
	{
		Name: "sessions.max", Default: int64(50), Min: 1, Max: 1000,
		Doc: "Sessions whose program runs at one time; one more is refused with SESSION_LIMIT.",
		set: func(s *Settings, v any) { s.SessionsMax = int(v.(int64)) },
	},
	{
		Name: "storage.maxBytes", Default: int64(10 << 30), Min: 1 << 20, Max: 1 << 50,
		Doc: "Disk space of all sessions together; at a launch, the oldest ended ones go until the rest is within it.",
		set: func(s *Settings, v any) { s.StorageMaxBytes = v.(int64) },
	},
	{
		Name: "storage.retainDays", Default: int64(30), Min: 0, Max: 36500,
		Doc: "Age in days at which ended sessions are deleted, retained or not; 0 keeps them for ever.",
		set: func(s *Settings, v any) { s.StorageRetainDays = int(v.(int64)) },
	},
	{
		Name: "trace.serializationDepth", Default: int64(3), Min: 1, Max: 10,
		Doc: "Depth to which values are followed where a call does not say.",
		set: func(s *Settings, v any) { s.SerializationDepth = int(v.(int64)) },
	},
	{
		Name: "trace.onFullBuffer", Default: "drop", Enum: []string{"drop", "block"},
		Doc: "What happens when a thread's buffer is full: drop counts what is lost and lets the program run on, block makes it wait.",
		set: func(s *Settings, v any) { s.OnFullBuffer = v.(string) },
	},
}

// Defaults returns the settings with no file read.
func Defaults() Settings {
	var s Settings
	for _, k := range Keys {
		k.set(&s, k.Default)
	}
	return s
}
