package install

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// homes are the users' files before an install, as the products' pages show them.
var homes = map[string]string{
	".claude.json": `{
  "numStartups": 41,
  "projects": {
    "/srv/app": { "mcpServers": {}, "allowedTools": [] }
  },
  "mcpServers": {
    "playwright": {
      "command": "npx",
      "args": [
        "@playwright/mcp@latest"
      ]
    }
  }
}`,
	".codex/config.toml": `model = "gpt-5.1"  # overrides the default
approval_policy = "on-request"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"
# [mcp_servers.strobe] was here once
`,
	".config/opencode/opencode.jsonc": `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "my-local-mcp-server": {
      "type": "local",
      "command": ["bun", "x", "my-mcp-command"],
      "enabled": true,
    },
  },
}
`,
	".cursor/mcp.json": "{\"mcpServers\":{\"server-name\":{\"command\":\"npx\",\"args\":[\"-y\",\"mcp-server\"]}}}",
	".config/Code/User/mcp.json": "{\n\t\"servers\": {\n\t\t\"memory\": {\n\t\t\t\"command\": " +
		"\"npx\"\n\t\t}\n\t},\n\t\"inputs\": []\n}\n",
	".gemini/settings.json": "{\n  \"theme\": \"Dracula\",\n  \"selectedAuthType\": \"gemini-api-key\"\n}\n",
	".codeium/windsurf/mcp_config.json": `{ "mcpServers": { } }
`,
	".config/zed/settings.json": `// Zed settings
{
  "theme": "One Dark", // nice
  "context_servers": {
    "local-mcp-server": {
      "command": "some-command", // with args
      "args": ["arg-1", "arg-2"],
      "env": {}
    }
  },
  /* "vim_mode": true */
}
`,
	".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": "\xef\xbb\xbf{\r\n  \"mcpServers\": {\r\n    \"local-server\": {\r\n      \"disabled\": false\r\n    }\r\n  }\r\n}\r\n",
}

// newHome returns options for a home that has every agent, and its files.
func newHome(t *testing.T) Options {
	t.Helper()
	o := Options{Home: t.TempDir(), Store: filepath.Join(t.TempDir(), "store"), Command: "/opt/strobe/bin/strobe",
		Getenv: func(string) string { return "" }}
	for name, text := range homes {
		put(t, filepath.Join(o.Home, name), text)
	}
	return o
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// tree returns everything below a directory: folders, modes and bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += "\n" + string(b)
		}
		all[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func must(t *testing.T, results []Result, err error) []Result {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, c := range r.Changes {
			if c.Action == Failed || c.Action == Left {
				t.Fatalf("%s: %s: %s", r.Name, c.Action, c.Error)
			}
		}
	}
	return results
}

func installed(t *testing.T, o Options) []Result {
	t.Helper()
	r, err := Install(o)
	return must(t, r, err)
}

func uninstalled(t *testing.T, o Options) []Result {
	t.Helper()
	r, err := Uninstall(o)
	return must(t, r, err)
}

func actions(results []Result) map[string]int {
	n := map[string]int{}
	for _, r := range results {
		for _, c := range r.Changes {
			n[c.Action]++
		}
	}
	return n
}

func TestInstallAll(t *testing.T) {
	o := newHome(t)
	before := tree(t, o.Home)
	o.DryRun = true
	if r := installed(t, o); len(r) != len(agents) || actions(r)[Added] == 0 {
		t.Errorf("a dry run: %v for %d agents", actions(r), len(r))
	}
	if diff := cmp.Diff(before, tree(t, o.Home)); diff != "" {
		t.Errorf("a dry run wrote:\n%s", diff)
	}
	if exists(o.Store) {
		t.Error("a dry run wrote its state")
	}
	o.DryRun = false
	for _, r := range installed(t, o) {
		for _, c := range r.Changes {
			if c.What != "config" {
				continue
			}
			old := before[c.Path]
			if saved, err := os.ReadFile(c.Backup); err != nil || !strings.HasSuffix(old, "\n"+string(saved)) {
				t.Errorf("%s: backup %q, %v", c.Path, saved, err)
			}
		}
	}
	after := tree(t, o.Home)
	for name, old := range homes {
		text := after[filepath.Join(o.Home, name)]
		mode, text, _ := strings.Cut(text, "\n")
		if mode != "-rw-r-----" {
			t.Errorf("%s has mode %s", name, mode)
		}
		if n := strings.Count(text, "/opt/strobe/bin/strobe"); n != 1 {
			t.Errorf("%s names the binary %d times:\n%s", name, n, text)
		}
		lines := func(s string) []string { return strings.Split(strings.ReplaceAll(s, ",", ""), "\n") }
		left := lines(text)
		for _, line := range lines(old) { // each line is still there, in order, but for a comma
			for len(left) > 0 && left[0] != line && !strings.Contains(left[0], "strobe") {
				left = left[1:]
			}
			if len(left) == 0 {
				t.Errorf("%s has lost %q:\n%s", name, line, text)
				break
			}
			left = left[1:]
		}
	}
	if n := actions(installed(t, o)); len(n) != 1 || n[Unchanged] == 0 {
		t.Errorf("a second install: %v", n)
	}
	if diff := cmp.Diff(after, tree(t, o.Home)); diff != "" {
		t.Errorf("a second install wrote:\n%s", diff)
	}
	uninstalled(t, o)
	if diff := cmp.Diff(before, tree(t, o.Home)); diff != "" {
		t.Errorf("uninstalled, the home is not what it was:\n%s", diff)
	}
	if r := uninstalled(t, o); len(r) != 0 {
		t.Errorf("a second uninstall: %v", r)
	}
}

// Nothing was there: what install made is gone again, folders too. The same in a project.
func TestInstallIntoNothing(t *testing.T) {
	o := newHome(t)
	o.Home, o.Project = t.TempDir(), t.TempDir()
	o.Agents = IDs()
	for _, o.Project = range []string{o.Project, ""} {
		dir := o.Project
		if dir == "" {
			dir = o.Home
		}
		before := tree(t, dir)
		r := installed(t, o)
		if n := actions(r); len(n) != 1 || n[Added] < len(agents) {
			t.Errorf("project %q: %v", o.Project, n)
		}
		if again := actions(installed(t, o)); again[Unchanged] == 0 || len(again) != 1 {
			t.Errorf("project %q, again: %v", o.Project, again)
		}
		all := o
		all.Project, all.Agents = "", nil
		uninstalled(t, all)
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("project %q: uninstalled, it is not what it was:\n%s", o.Project, diff)
		}
	}
}

// One agent of several: the others' files keep theirs.
func TestOneAgent(t *testing.T) {
	o := newHome(t)
	installed(t, o)
	o.Agents = []string{"zed"}
	if r := uninstalled(t, o); len(r) != 1 || r[0].Agent != "zed" {
		t.Errorf("uninstall of zed: %+v", r)
	}
	o.Agents = nil
	if n := actions(installed(t, o)); n[Added] != 1 {
		t.Errorf("install after it: %v", n)
	}
	if _, err := Install(Options{Agents: []string{"emacs"}}); err == nil ||
		!strings.Contains(err.Error(), "VALIDATION_ERROR") {
		t.Errorf("an agent that nobody knows: %v", err)
	}
}

// The agent wrote its file since: only our entry goes, and what was made around it.
func TestChangedSince(t *testing.T) {
	o := newHome(t)
	installed(t, o)
	file := filepath.Join(o.Home, ".gemini/settings.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, strings.Replace(string(b), "Dracula", "GitHub", 1))
	skill := filepath.Join(o.Home, ".claude/skills/strobe-debug/SKILL.md")
	put(t, skill, "mine now")
	r, err := Uninstall(o)
	if err != nil || actions(r)[Left] != 1 {
		t.Errorf("uninstall: %v, %v", actions(r), err)
	}
	if b, err = os.ReadFile(file); string(b) != strings.Replace(homes[".gemini/settings.json"], "Dracula", "GitHub", 1) {
		t.Errorf("settings.json is %s, %v", b, err)
	}
	if b, err = os.ReadFile(skill); string(b) != "mine now" {
		t.Errorf("the skill is %s, %v", b, err)
	}
}

// The binary has moved, and the user's own members of our entry stay.
func TestBinaryMoved(t *testing.T) {
	o := newHome(t)
	installed(t, o)
	old := tree(t, o.Home)
	o.Command = "/usr/bin/strobe"
	if n := actions(installed(t, o)); n[Updated] != len(agents) {
		t.Errorf("install of a moved binary: %v", n)
	}
	for path, text := range tree(t, o.Home) {
		if want := strings.ReplaceAll(old[path], "/opt/strobe/bin/strobe", "/usr/bin/strobe"); text != want {
			t.Errorf("%s:\n%s", path, cmp.Diff(want, text))
		}
	}
}

func TestLeftAlone(t *testing.T) {
	for _, c := range []struct{ name, file, text, says string }{
		{"does not parse", ".cursor/mcp.json", "{\"mcpServers\": {", "does not parse"},
		{"TOML that does not parse", ".codex/config.toml", "model = \n", "does not parse"},
		{"somebody else's", ".cursor/mcp.json", `{"mcpServers": {"strobe": {"url": "https://example.org"}}}`, "not Strobe's"},
		{"of another form", ".codex/config.toml", "mcp_servers = {strobe = {command = \"/old/strobe\"}}\n",
			"table of its own"},
		{"a list", ".gemini/settings.json", "[]", "no object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newHome(t)
			path := filepath.Join(o.Home, c.file)
			put(t, path, c.text)
			r, err := Install(o)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, r := range r {
				for _, ch := range r.Changes {
					if ch.Action == Failed {
						n++
						if ch.Path != path || !strings.Contains(ch.Error, c.says) || !strings.Contains(ch.Error, path) {
							t.Errorf("failed: %+v", ch)
						}
					}
				}
			}
			if b, err := os.ReadFile(path); n != 1 || string(b) != c.text {
				t.Errorf("%d failed; the file is %s, %v", n, b, err)
			}
		})
	}
}

func TestOddFiles(t *testing.T) {
	o := newHome(t)
	cursor := filepath.Join(o.Home, ".cursor/mcp.json")
	if err := os.Chmod(cursor, 0o444); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(t.TempDir(), "dotfiles", "zed.json")
	put(t, real, "{}\n")
	link := func(to, name string) {
		t.Helper()
		path := filepath.Join(o.Home, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	link(real, ".config/zed/settings.json")
	link("/nowhere/at/all", ".gemini/settings.json")
	link("/dev/zero", ".config/Code/User/mcp.json")
	before := tree(t, o.Home)
	r, err := Install(o)
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, r := range r {
		for _, c := range r.Changes {
			if c.Action == Failed {
				why[r.Agent] = c.Error
			}
		}
	}
	for id, says := range map[string]string{"cursor": "read-only", "gemini": "a link to what is not there",
		"vscode": "no file"} {
		if !strings.Contains(why[id], says) {
			t.Errorf("%s: %q, want %q", id, why[id], says)
		}
		delete(why, id)
	}
	if len(why) > 0 {
		t.Errorf("failed too: %v", why)
	}
	if b, err := os.ReadFile(real); !strings.Contains(string(b), "context_servers") {
		t.Errorf("what the link leads to is %s, %v", b, err)
	}
	uninstalled(t, o)
	if diff := cmp.Diff(before, tree(t, o.Home)); diff != "" {
		t.Errorf("uninstalled, the home is not what it was:\n%s", diff)
	}
	if b, err := os.ReadFile(real); string(b) != "{}\n" {
		t.Errorf("what the link leads to is %q, %v", b, err)
	}
}

// A folder that cannot be made: what goes there fails and says so, the rest is done, and comes back.
func TestNoFolder(t *testing.T) {
	o := newHome(t)
	o.Agents = []string{"codex"}
	put(t, filepath.Join(o.Home, ".agents"), "a file")
	before := tree(t, o.Home)
	r, err := Install(o)
	if n := actions(r); err != nil || n[Added] != 2 || n[Failed] != 4 {
		t.Errorf("install: %v, %v", n, err)
	}
	uninstalled(t, o)
	if diff := cmp.Diff(before, tree(t, o.Home)); diff != "" {
		t.Errorf("uninstalled, the home is not what it was:\n%s", diff)
	}
}

// A binary of another name knows its own entry.
func TestRenamedBinary(t *testing.T) {
	o := newHome(t)
	o.Command = "/opt/tools/sb"
	before := tree(t, o.Home)
	installed(t, o)
	if n := actions(installed(t, o)); len(n) != 1 || n[Unchanged] == 0 {
		t.Errorf("again: %v", n)
	}
	uninstalled(t, o)
	if diff := cmp.Diff(before, tree(t, o.Home)); diff != "" {
		t.Errorf("uninstalled, the home is not what it was:\n%s", diff)
	}
}

// Somebody writes the file between our reading and our writing: theirs stays, and nothing of ours lies about.
func TestReplaceOfAChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	put(t, path, "theirs")
	for _, old := range []string{"what was read", ""} {
		was := []byte(old)
		if old == "" {
			was = nil
		}
		if err := replace(path, was, []byte("ours")); err == nil || !strings.Contains(err.Error(), "meanwhile") {
			t.Errorf("replace = %v", err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "theirs" {
		t.Errorf("the file is %q", b)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("%d files lie there", len(all))
	}
}

// A hundred damaged files: each is left as it is, or has our entry and all that it had.
func TestHundredDamagedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	left := 0
	for i := range 100 {
		o := newHome(t)
		a := agents[i%len(agents)]
		o.Agents = []string{a.id}
		path := a.place(o).configs[0].file
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		old = damage(r, old)
		put(t, path, string(old))
		results, err := Install(o)
		if err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Failed() {
			left++
			if !bytes.Equal(now, old) {
				t.Errorf("%s failed and changed %q to %q", a.name, old, now)
			}
			continue
		}
		if err := a.place(o).configs[0].check(old, now); err != nil {
			t.Errorf("%s: %q became %q: %v", a.name, old, now, err)
		}
		uninstalled(t, o)
		if now, err = os.ReadFile(path); !bytes.Equal(now, old) {
			t.Errorf("%s: %q came back as %q, %v", a.name, old, now, err)
		}
	}
	if left == 0 || left == 100 {
		t.Errorf("%d of 100 were left alone: the damage is too much or too little", left)
	}
}
