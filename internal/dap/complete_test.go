package dap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// completes asks what may follow a text, whose end is the place, and returns what the line would be.
func (e *testEditor) completes(frame int, text string) (lines []string) {
	e.t.Helper()
	units := len([]rune(text)) // of letters that are one unit each
	a := args{"text": text, "column": units + 1}
	if frame != 0 {
		a["frameId"] = frame
	}
	for _, c := range ask[*proto.CompletionsResponse](e, "completions", a).Body.Targets {
		if c.Start+c.Length != units+1 {
			e.t.Errorf("%q: %+v does not end at the place", text, c)
		}
		lines = append(lines, string([]rune(text)[:c.Start-1])+c.Text)
	}
	return lines
}

// TestCompletions completes commands, patterns, variables and members in the console of programs of three languages.
func TestCompletions(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "trace": []string{"sum"}}, func() {
		e.breaks(file, args{"line": lineOf(t, shop, "total += line")})
	})
	stop := e.stops("breakpoint")
	frame := e.stack(stop.ThreadId)[0].Id
	for text, want := range map[string]string{"tr": "trace ", "trace a": "trace add ", "trace add su": "trace add sum",
		"trace add @us": "trace add @usercode", "trace remove ": "trace remove sum", "query st": "query stats",
		"it": "item", "li": "line", "3 * li": "3 * line", "item->na": "item->name", "item->price.": "item->price.cents",
		"2 + item->next->pr": "2 + item->next->price", "tot": "total", "ä = it": "ä = item", "item->stock[item->": ""} {
		got := e.completes(frame, text)
		if want != "" && !slices.Contains(got, want) {
			t.Errorf("%q is completed to %q, want %q among them", text, got, want)
		}
	}
	for _, text := range []string{"nobody", "item->nobody", "trace add nobody_at_all", "input li", "5.",
		"item->price.cents."} {
		if got := e.completes(frame, text); len(got) != 0 {
			t.Errorf("%q is completed to %q", text, got)
		}
	}
	if got := e.completes(0, "tot"); !slices.Equal(got, []string{"total"}) {
		t.Errorf("without a frame: %q", got)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
}

// TestCompletionsOfScripts completes variables and members of interpreters' frames.
func TestCompletionsOfScripts(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range scripted {
		t.Run(p.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), p.file)
			if err := os.WriteFile(file, []byte(p.source), 0o600); err != nil {
				t.Fatal(err)
			}
			e := open(t, s.Home)
			e.launch(args{"program": p.interpreter(t), "args": []string{file}, "cwd": filepath.Dir(file)}, func() {
				e.breaks(file, args{"line": 1 + strings.Count(p.source[:strings.Index(p.source, "priced")], "\n")})
			})
			frame := e.stack(e.stops("breakpoint").ThreadId)[0].Id
			for text, want := range map[string]string{"it": "item", "item.pr": "item.price"} {
				if got := e.completes(frame, text); !slices.Contains(got, want) {
					t.Errorf("%q is completed to %q, want %q among them", text, got, want)
				}
			}
			ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
		})
	}
}

// TestCompletionsRunNothing: a property of Python is code, which a key that is pressed must not run.
func TestCompletionsRunNothing(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `class Item:
    def __init__(self):
        self.price = 3
    @property
    def loud(self):
        self.ran = True
        return self
item = Item()
print(item.price)
`
	file := filepath.Join(t.TempDir(), "loud.py")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	pythons := strobetest.Pythons(t)
	e := open(t, strobetest.Start(t, nil).Home)
	e.launch(args{"program": pythons[len(pythons)-1].Path, "args": []string{file}, "cwd": filepath.Dir(file)}, func() {
		e.breaks(file, args{"line": 9})
	})
	frame := e.stack(e.stops("breakpoint").ThreadId)[0].Id
	if got := e.completes(frame, "item.loud."); len(got) != 0 {
		t.Errorf("a property's value has %q", got)
	}
	if got := e.completes(frame, "item."); !slices.Equal(got, []string{"item.price"}) {
		t.Errorf("item has %q", got)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
}
