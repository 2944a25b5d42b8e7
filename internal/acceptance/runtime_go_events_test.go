package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// goEvent is an event of channel goroutines or gochannels.
type goEvent struct {
	ID, ParentEventID int64
	ThreadID          int
	Data              struct {
		What, Function, Place, Reason, On, Chosen string
		Goroutine, WokenBy                        int
		WaitedNs                                  int64
		OK                                        *bool
	}
}

// goEvents are all of one of these channels.
func goEvents(t *testing.T, s *strobetest.Strobe, id, channel string) (all []goEvent) {
	t.Helper()
	for after := int64(0); ; {
		var page struct {
			Events  []json.RawMessage
			HasMore bool
		}
		s.Call(t, "debug_query", args{"sessionId": id, "eventType": "channel", "channel": channel, "limit": 500,
			"verbose": true, "afterEventId": after}, &page)
		for _, raw := range page.Events {
			var e goEvent
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			if e.Data.What == "" { // its members stand beside the others
				if err := json.Unmarshal(raw, &e.Data); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, e)
			after = e.ID
		}
		if !page.HasMore {
			return all
		}
	}
}

// TestGoEvents: what goroutines do, and what is done to channels, is told as often as the program did it; who made,
// waited and woke are goroutines that there were.
func TestGoEvents(t *testing.T) {
	t.Parallel()
	ways := map[string][]string{"plain": nil, "stripped": {"-ldflags=-s -w"}}
	if strobetest.Soaks(t, "other ways of building it, and versions of Go") {
		ways["pie"], ways["unoptimized"] = []string{"-buildmode=pie"}, []string{"-gcflags=all=-N -l"}
		for _, v := range goVersions {
			ways[v] = []string{v}
		}
	}
	for name, flags := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, root := goProgram(t, "chans", flags...)
			s := strobetest.Start(t, nil)
			l := s.Launch(t, bin, root, nil, args{"trace": []string{"@goroutines", "@channels", "main.produce", "main.spawn"}})
			st := s.WaitEnd(t, l.SessionID, endLimit)
			out := s.Output(t, l.SessionID, "stdout")
			var sum, made, sends, receives, closes, selects int
			if n, err := fmt.Sscanf(out, "sum %d made %d sends %d receives %d closes %d selects %d", &sum, &made, &sends,
				&receives, &closes, &selects); n != 6 || st.ExitCode == nil || *st.ExitCode != 0 {
				t.Fatalf("the program ended with %+v and wrote %q: %v", st, out, err)
			}
			checkGoroutines(t, goEvents(t, s, l.SessionID, "goroutines"), made)
			checkChannels(t, goEvents(t, s, l.SessionID, "gochannels"), map[string]int{"send": sends, "receive": receives,
				"close": closes, "select": selects})
			tree := s.Query(t, l.SessionID, args{"view": "tree", "limit": 500}).Tree
			if !strings.Contains(tree, "made in #") || !strings.Contains(tree, " main.spawn of thread 1: ") {
				t.Errorf("the tree does not say where goroutines were made:\n%s", tree)
			}
		})
	}
}

func checkGoroutines(t *testing.T, all []goEvent, made int) {
	t.Helper()
	who, ended, waits, goes, mutex := map[int]bool{1: true}, 0, 0, 0, false
	for _, e := range all {
		d := &e.Data
		switch d.What {
		case "go":
			if !strings.HasPrefix(d.Function, "main.spawn.func1") && !strings.HasPrefix(d.Function, "main.spawn.gowrap") ||
				!strings.HasPrefix(d.Place, "main.go:") || e.ThreadID != 1 || who[d.Goroutine] || e.ParentEventID == 0 {
				t.Errorf("made: %+v", e)
			}
			who[d.Goroutine] = true
			made--
		case "end":
			ended++
		case "wait":
			waits++
			mutex = mutex || d.Reason == "sync.Mutex.Lock" && d.On != ""
		case "resume":
			goes++
			if d.WaitedNs <= 0 || d.WokenBy != 0 && !who[d.WokenBy] {
				t.Errorf("goes on: %+v", e)
			}
		default:
			t.Errorf("what is %+v", e)
		}
	}
	if made != 0 || ended < len(who)-2 || goes > waits || !mutex {
		t.Errorf("%d more were made than told, %d of %d ended, %d waits, %d went on, a mutex was waited for: %v", made, ended,
			len(who), waits, goes, mutex)
	}
}

func checkChannels(t *testing.T, all []goEvent, want map[string]int) {
	t.Helper()
	got, waits, waited := map[string]int{}, 0, 0
	for _, e := range all {
		if e.Data.What == "close" && strings.HasPrefix(e.Data.Place, "context.go:") {
			continue
		}
		got[e.Data.What]++
		if strings.HasPrefix(e.Data.What, "wait ") {
			waits++
		}
		if e.Data.WaitedNs > 0 {
			waited++
			if e.Data.WokenBy == 0 || e.Data.WokenBy == e.ThreadID {
				t.Errorf("woken by nobody: %+v", e)
			}
		}
		if !strings.HasPrefix(e.Data.Place, "main.go:") {
			t.Errorf("no place of the program: %+v", e)
		}
	}
	for what, n := range want {
		if got[what] != n {
			t.Errorf("%d of %s are told, the program made %d", got[what], what, n)
		}
	}
	if waits != waited || waits < 10 {
		t.Errorf("%d operations had to wait, %d are told to have waited", waits, waited)
	}
}
