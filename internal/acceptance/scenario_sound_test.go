package acceptance

import (
	"encoding/json"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestScenarioSound: a synthesizer is launched with sound and MIDI of the session's own; a scenario plays it a note and
// asserts what is heard. A wrong pitch fails, with the sound that there was.
func TestScenarioSound(t *testing.T) {
	strobetest.NeedCommand(t, "fluidsynth", "pipewire", "wireplumber", "pipewire-pulse")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", args{"command": "fluidsynth", "args": []string{"-q", "-is", "-a", "pulseaudio", "-m", "jack",
		"/usr/share/sounds/sf2/TimGM6mb.sf2"}, "projectRoot": dir, "channels": []string{"audio:private", "midi:private"}}, &l)
	var r struct {
		Passed bool
		Failed *struct {
			Index   int
			Nearest []struct{ Misses []string }
		}
	}
	s.Call(t, "debug_test_scenario", args{"sessionId": l.SessionID, "scenario": json.RawMessage(`{"stepTimeoutMs":60000,
		"steps":[{"do":"midi.program","program":79,"withinMs":60000},{"do":"midi.note","key":69,"ms":600},
		{"assert":"audio","what":"level","f0":{"between":[436,444]},"withinMs":60000},
		{"assert":"audio","what":"silence","withinMs":60000},
		{"assert":"audio","what":"level","f0":{"between":[470,500]}}]}`)}, &r)
	if r.Passed || r.Failed == nil || r.Failed.Index != 4 || len(r.Failed.Nearest) == 0 {
		t.Errorf("%+v", r)
	}
	s.Stop(t, l.SessionID)
}
