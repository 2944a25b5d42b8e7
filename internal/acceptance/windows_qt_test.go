package acceptance

import (
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// looked is an answer of debug_ui.
type looked struct {
	Tree, Stamp, Hint string
	TimedOut          bool
	Stats             struct{ AxNodes, VisionNodes, Hidden int }
	Picture           *struct {
		MimeType, Data string
		Width, Height  int
		Scale          float64
	}
}

// acted is an answer of debug_ui_action.
type acted struct {
	Done          bool
	Method        string
	Before, After string
	Changed, Ran  []string
	Tried         []string
	EventID       int64
	Hint          string
}

// id is that of the line with a name in brackets.
func (l *looked) id(t *testing.T, role, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ *(` + role + `#[0-9a-f-]+) \[` + regexp.QuoteMeta(name) + `\]`).FindStringSubmatch(l.Tree)
	if m == nil {
		t.Fatalf("no %s [%s] in\n%s", role, name, l.Tree)
	}
	return m[1]
}

// windowProgram builds the program with a window.
func windowProgram(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("testdata/windows/window.cc")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "Qt6Widgets").Output()
	if err != nil {
		t.Fatalf("pkg-config Qt6Widgets (Debian: qt6-base-dev pkg-config): %v", err)
	}
	return strobetest.BuildSource(t, "cpp", "gcc-O0", "window", string(source), append(strings.Fields(string(flags)),
		"-fPIC", "-std=c++17")...)
}

func look(t *testing.T, s *strobetest.Strobe, in args) (l looked) {
	t.Helper()
	s.Call(t, "debug_ui", in, &l)
	return l
}

// TestInterfaceOfQt drives a window, and compares what actions say with what the program says.
func TestInterfaceOfQt(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "Xvfb", "openbox", "dbus-daemon")
	s := strobetest.Start(t, nil)
	launch := args{"display": "virtual", "displaySize": "1000x800", "trace": []string{"app::*"}}
	id := s.Launch(t, windowProgram(t), t.TempDir(), nil, launch).SessionID
	first := look(t, s, args{"sessionId": id, "waitFor": args{"title": "Greet"}})
	if first.TimedOut || first.Stats.AxNodes < 20 || first.Stats.VisionNodes != 0 {
		t.Fatalf("first look: %+v", first)
	}
	t.Logf("%d elements, %d bytes\n%s", first.Stats.AxNodes, len(first.Tree), first.Tree)
	if rows := strings.Count(first.Tree, "[Line "); rows < 3 || rows > 60 ||
		!regexp.MustCompile(`\d{3} more in lst#`).MatchString(first.Tree) {
		t.Errorf("%d rows of 1,000 are listed", rows)
	}
	name := first.id(t, "txt", "Name")
	idle := s.Count(t, id, "function_enter", "app::tick") + 20
	strobetest.Eventually(t, endLimit, "the program idles, so that what it does then is known", func() bool {
		return s.Count(t, id, "function_enter", "app::tick") > idle
	})
	for _, c := range []struct {
		in   args
		says string // the program's last line
	}{
		{args{"action": "type", "id": name, "text": "Zoë 世界 🎛"}, ""},
		{args{"action": "click", "title": "Greet"}, "greeted: Zoë 世界 🎛"},
		{args{"action": "set_value", "id": name, "value": "Ann"}, ""},
		{args{"action": "click", "title": "Greet"}, "greeted: Ann"},
		{args{"action": "click", "title": "Loud"}, "loud: on"},
		{args{"action": "set_value", "title": "Loud", "value": "false"}, "loud: off"},
		{args{"action": "set_value", "title": "Level", "value": "42"}, "level: 42"},
		{args{"action": "type", "title": "Secret", "text": "geheim"}, "secret: 6"},
		{args{"action": "select", "title": "Red", "item": "Blue"}, "colour: Blue"},
		{args{"action": "select", "title": "Lines", "item": "Line 2"}, "line: Line 2"},
		{args{"action": "select", "title": "File", "item": "Save"}, "menu: save"},
		{args{"action": "select", "title": "Lines", "item": "Line 700"}, "line: Line 700"},
		{args{"action": "click", "title": "Sure?"}, ""},
		{args{"action": "click", "title": "Yes"}, "asked: yes"},
		{args{"action": "drag", "title": "Knob", "to": args{"x": 200, "y": 300}}, "knob: "},
		{args{"action": "scroll", "title": "Lines", "direction": "up", "amount": 5}, ""},
		{args{"action": "key", "id": name, "key": "ctrl+a"}, ""},
		{args{"action": "hover", "title": "Greet"}, ""},
	} {
		c.in["sessionId"] = id
		var a acted
		s.Call(t, "debug_ui_action", c.in, &a)
		if !a.Done || a.EventID == 0 {
			t.Errorf("%v: not done: %+v", c.in, a)
			continue
		}
		t.Logf("%v: %s, %d changed, ran %q", c.in, a.Method, len(a.Changed), a.Ran)
		if c.says != "" {
			lines := strings.Split(strings.TrimSpace(s.Output(t, id, "stdout")), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.says) {
				t.Errorf("%v: the program says %q, want %q", c.in, last, c.says)
			}
		}
		if c.says == "greeted: Ann" {
			ranBecause(t, s, id, &a)
		}
	}
	secrets(t, s, id)
	refusals(t, s, id)
	sameIDs(t, s, id, launch, &first)
	picture(t, s, id)
	gone(t, s, id)
}

// ranBecause: the handler of a button is the first of what ran for it, and what the program does anyway is not there.
func ranBecause(t *testing.T, s *strobetest.Strobe, id string, a *acted) {
	t.Helper()
	all := strings.Join(a.Ran, "\n")
	if len(a.Ran) < 2 || !strings.HasPrefix(a.Ran[0], "app::greet (window") || strings.Contains(all, "tick") ||
		!strings.Contains(all, "app::greeting") {
		t.Errorf("ran because of a click: %q", a.Ran)
	}
	if len(all) > 1500 {
		t.Errorf("%d bytes of it are more than 500 tokens", len(all))
	}
	var page struct{ Tree string }
	s.Call(t, "debug_query", args{"sessionId": id, "afterEventId": a.EventID - 1, "view": "tree", "limit": 500,
		"unfold": true}, &page)
	at, call := strings.Index(page.Tree, "ui action: action=\"click\""), strings.Index(page.Tree, "app::greet(")
	if at < 0 || call < at {
		t.Errorf("the tree has the action at %d and the call at %d:\n%.2000s", at, call, page.Tree)
	}
	if n := s.Count(t, id, "ui_action", ""); n == 0 {
		t.Error("no ui_action events")
	}
	if n := s.Count(t, id, "ui_change", ""); n == 0 {
		t.Error("no ui_change events")
	}
}

// secrets: nothing of a password is anywhere.
func secrets(t *testing.T, s *strobetest.Strobe, id string) {
	t.Helper()
	l := look(t, s, args{"sessionId": id, "all": true, "maxTokens": 100000})
	if !strings.Contains(l.Tree, "<redacted>") || strings.Contains(l.Tree, "geheim") {
		t.Errorf("a password in the tree: redacted %v", strings.Contains(l.Tree, "<redacted>"))
	}
	var raw json.RawMessage
	s.Call(t, "debug_query", args{"sessionId": id, "eventType": []string{"ui_action", "ui_change"}, "verbose": true}, &raw)
	if strings.Contains(string(raw), "geheim") {
		t.Errorf("a password on the timeline: %.600s", raw)
	}
}

// refusals: what cannot be done says so, and what is near.
func refusals(t *testing.T, s *strobetest.Strobe, id string) {
	t.Helper()
	do := func(in args) args { in["sessionId"] = id; return in }
	refused(t, s, "debug_ui_action", do(args{"action": "click", "title": "Gret"}), "UI_QUERY_FAILED", "Gret")
	refused(t, s, "debug_ui_action", do(args{"action": "click", "title": "Never"}), "UI_QUERY_FAILED", "disabled")
	refused(t, s, "debug_ui_action", do(args{"action": "click", "at": args{"x": 999, "y": 799}}), "UI_QUERY_FAILED", "999")
	refused(t, s, "debug_ui_action", do(args{"action": "select", "title": "Blue", "item": "Mauve"}), "UI_QUERY_FAILED",
		"Green")
	refused(t, s, "debug_ui_action", do(args{"action": "set_value", "title": "Level", "value": "1000"}), "VALIDATION_ERROR",
		"between")
	refused(t, s, "debug_ui", do(args{"id": "btn#000000"}), "UI_QUERY_FAILED", "btn#000000")
	refused(t, s, "debug_ui", do(args{"vision": true}), "UNSUPPORTED", "vision")
}

// sameIDs: ids are the same in every answer, and after a restart.
func sameIDs(t *testing.T, s *strobetest.Strobe, id string, launch args, first *looked) {
	t.Helper()
	now := look(t, s, args{"sessionId": id})
	for range 20 {
		next := look(t, s, args{"sessionId": id, "since": now.Stamp})
		if !strings.HasPrefix(next.Tree, "(no change") {
			t.Errorf("nobody did anything, and: %s", next.Tree)
		}
	}
	again := s.Launch(t, windowProgram(t), t.TempDir(), nil, launch).SessionID
	second := look(t, s, args{"sessionId": again, "waitFor": args{"title": "Greet"}})
	for _, c := range [][2]string{{"btn", "Greet"}, {"sld", "Level"}, {"txt", "Name"}, {"w", "Controls"}, {"lst", "Lines"}} {
		was := first.id(t, c[0], c[1])
		if is := second.id(t, c[0], c[1]); was != is || now.id(t, c[0], c[1]) != was {
			t.Errorf("%v: %s, %s later, %s after a restart", c, was, now.id(t, c[0], c[1]), is)
		}
	}
	s.Stop(t, again)
}

// pictureOf is what the command line writes of a session's windows, or of one element of them.
func pictureOf(t *testing.T, s *strobetest.Strobe, id, element string) image.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.png")
	a := []string{"look", id, "--picture", file}
	if element != "" {
		a = append(a, "--element", element)
	}
	cmd := exec.Command(s.Bin, a...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", a, err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// picture: of the window as large as it is, and of one element.
func picture(t *testing.T, s *strobetest.Strobe, id string) {
	t.Helper()
	l := look(t, s, args{"sessionId": id})
	for _, in := range []args{{}, {"id": l.id(t, "btn", "Greet")}} {
		element, _ := in["id"].(string)
		m := pictureOf(t, s, id, element)
		colours := map[[3]uint32]bool{}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				r, g, b, _ := m.At(x, y).RGBA()
				colours[[3]uint32{r, g, b}] = true
			}
		}
		if want := in["id"] == nil; m.Bounds().Dx() < 30 || len(colours) < 3 || want != (m.Bounds().Dy() > 300) {
			t.Errorf("%v: %v with %d colours", in, m.Bounds(), len(colours))
		}
	}
	var shot looked
	s.Call(t, "debug_ui", args{"sessionId": id, "mode": "screenshot"}, &shot)
	if p := shot.Picture; p == nil || p.MimeType != "image/png" || p.Scale != 1 || shot.Tree != "" {
		t.Errorf("screenshot: %+v", shot)
	} else if b, err := base64.StdEncoding.DecodeString(p.Data); len(b) > 0 {
		t.Errorf("the picture is in the text as well: %d bytes, %v", len(b), err)
	}
}

// gone: with the session, its display has ended.
func gone(t *testing.T, s *strobetest.Strobe, id string) {
	t.Helper()
	m := regexp.MustCompile(`display: :(\d+) (\S+)`).FindStringSubmatch(s.Output(t, id, "stdout"))
	if m == nil {
		t.Fatal("the program does not say its display")
	}
	socket := "/tmp/.X11-unix/X" + m[1]
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
	s.Stop(t, id)
	for _, file := range []string{socket, m[2]} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is left", file)
		}
	}
}
