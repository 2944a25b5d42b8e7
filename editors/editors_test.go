// Package editors_test checks what Strobe gives to editors: that the bundles of the extension for Visual Studio Code are
// what its sources make, that its manifest says what `strobe dap` takes, and that its parts work with the real binary.
//
// It stands outside the data path. What a person does in a real editor is make editors.
package editors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestBundlesAreFresh: what is released is what the sources make; their types are right in make soak.
func TestBundlesAreFresh(t *testing.T) {
	strobetest.NeedTime(t)
	goals, packages := []string{"all"}, []string{"esbuild@0.28.2"}
	if strobetest.Soaks(t, "the types of editors/vscode") {
		goals = append(goals, "check")
		packages = append(packages, "typescript@5.9.3", "@types/node@22.15.0", "@types/vscode@1.90.0")
	}
	out := strobetest.MakeBundles(t, "vscode", packages, goals...)
	for _, name := range []string{"extension.js", "panel.js"} {
		want, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile("vscode/dist/" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("dist/%s is not of src: make -C editors/vscode (%v)", name, err)
		}
	}
}

// TestPartsWithTheBinary runs what needs no editor against the real daemon.
func TestPartsWithTheBinary(t *testing.T) {
	strobetest.NeedTime(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	out := strobetest.MakeBundles(t, "vscode", []string{"esbuild@0.28.2"}, "OUT/parts.js")
	cmd := exec.Command("node", "--test", "--test-reporter=tap", "vscode/test/parts.test.mjs")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home, "PARTS="+filepath.Join(out, "parts.js"), "STROBE="+s.Bin)
	said, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("\n# fail 0\n")) || bytes.Contains(said, []byte("\n# pass 0\n")) {
		t.Errorf("node --test: %v\n%s", err, said)
	}
}

// manifest is what the extension says of itself.
type manifest struct {
	Main, Icon  string
	Contributes struct {
		Commands  []struct{ Command string }
		Menus     map[string][]struct{ Command string }
		Debuggers []struct {
			Type                    string
			ConfigurationAttributes map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
		Walkthroughs []struct {
			Steps []struct{ Media struct{ Markdown string } }
		}
	}
}

// TestManifest: a configuration may have what `strobe dap` takes and no more, and every command is there.
func TestManifest(t *testing.T) {
	text, err := os.ReadFile("vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	takes, err := os.ReadFile("../internal/dap/session.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(takes), "type beginning struct {")
	body, _, _ = strings.Cut(body, "\n}\n")
	var fields []string
	for _, f := range regexp.MustCompile(`json:"(\w+)"`).FindAllStringSubmatch(body, -1) {
		if f[1] != "noDebug" { // the editor's own
			fields = append(fields, f[1])
		}
	}
	slices.Sort(fields)
	var offered []string
	for _, of := range m.Contributes.Debuggers[0].ConfigurationAttributes {
		for name := range of.Properties {
			offered = append(offered, name)
		}
	}
	slices.Sort(offered)
	if offered = slices.Compact(offered); !slices.Equal(offered, fields) {
		t.Errorf("the manifest offers %v, strobe dap takes %v", offered, fields)
	}
	bundle, err := os.ReadFile("vscode/dist/extension.js")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, c := range m.Contributes.Commands {
		declared[c.Command] = true
		if !bytes.Contains(bundle, []byte(`registerCommand("`+c.Command+`"`)) {
			t.Errorf("nothing answers the command %s", c.Command)
		}
	}
	for menu, items := range m.Contributes.Menus {
		for _, i := range items {
			if !declared[i.Command] {
				t.Errorf("%s has %s, which is no command", menu, i.Command)
			}
		}
	}
	for _, c := range regexp.MustCompile(`command:(strobe\.\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !declared[c[1]] {
			t.Errorf("%s is no command", c[1])
		}
	}
	files := []string{m.Main, m.Icon}
	for _, w := range m.Contributes.Walkthroughs {
		for _, s := range w.Steps {
			files = append(files, s.Media.Markdown)
		}
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join("vscode", f)); err != nil {
			t.Errorf("the manifest names a file that is not there: %v", err)
		}
	}
}
