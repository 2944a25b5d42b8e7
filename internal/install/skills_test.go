package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Where variables move agents' directories, and OpenCode has its newer form.
func TestPlaces(t *testing.T) {
	o := newHome(t)
	dir := t.TempDir()
	env := map[string]string{"CLAUDE_CONFIG_DIR": dir + "/claude", "CODEX_HOME": dir + "/codex", "XDG_CONFIG_HOME": dir +
		"/xdg"}
	o.Getenv = func(name string) string { return env[name] }
	put(t, dir+"/xdg/opencode/opencode.json", "{\"mcp\": {\"servers\": {}, \"timeout\": 5}}")
	o.Agents = []string{"claude-code", "codex", "opencode", "zed"}
	installed(t, o)
	for name, has := range map[string]string{
		"/claude/.claude.json": `"mcpServers"`, "/claude/agents/strobe.md": "mcp__strobe__debug_query",
		"/codex/config.toml": "[mcp_servers.strobe]", "/codex/agents/strobe.toml": "developer_instructions",
		"/xdg/opencode/opencode.json": "{\"mcp\": {\"servers\": {\n", "/xdg/zed/settings.json": "context_servers",
	} {
		if b, err := os.ReadFile(dir + name); !strings.Contains(string(b), has) {
			t.Errorf("%s is %s, %v", name, b, err)
		}
	}
	clear(env)
	if r, err := Install(Options{Home: t.TempDir(), Store: o.Store, Getenv: o.Getenv}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an install for nobody: %v, %v", r, err)
	}
}

// Skills are short, have the front matter that agents ask for, and name tools that there are.
func TestSkills(t *testing.T) {
	doc, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	front := regexp.MustCompile(`\A---\nname: (strobe-[a-z]+)\ndescription: ([^\n:]{40,600})\n---\n\n# `)
	named := regexp.MustCompile(`\bdebug_[a-z_]+`)
	params := regexp.MustCompile("`(debug_[a-z_]+) \\{([^`]*)\\}")
	text, part := regexp.MustCompile(`"[^"]*"|\.\.\.`), regexp.MustCompile(`[^,{}\[\]]+`)
	files := skillsIn("/s")
	if len(files) < 4 {
		t.Fatalf("%d skills", len(files))
	}
	files = append(files, owned{file: "/s/strobe/AGENT", text: []byte(subAgentPrompt)})
	for _, f := range files {
		m := front.FindSubmatch(f.text)
		if f.what == "skill" && (m == nil || string(m[1]) != filepath.Base(filepath.Dir(f.file))) {
			t.Errorf("%s has no front matter of its name: %.200s", f.file, f.text)
		}
		if n := bytes.Count(f.text, []byte("\n")); n >= 80 {
			t.Errorf("%s has %d lines", f.file, n)
		}
		for _, tool := range named.FindAll(f.text, -1) {
			if !bytes.Contains(doc, []byte("\n## "+string(tool)+"\n")) {
				t.Errorf("%s names %s, which is no tool", f.file, tool)
			}
		}
		for _, call := range params.FindAllSubmatch(f.text, -1) {
			_, section, _ := strings.Cut(string(doc), "\n## "+string(call[1])+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			for _, p := range part.FindAllString(text.ReplaceAllString(string(call[2]), ""), -1) {
				name, _, _ := strings.Cut(p, ":")
				if name = strings.TrimSpace(name); name == "" {
					continue
				}
				if !regexp.MustCompile("(?m)^\\| `(\\w+(\\[\\])?\\.)?" + name + "`").MatchString(section) {
					t.Errorf("%s: %s has no %s", f.file, call[1], name)
				}
			}
		}
	}
	if v, err := parseTOML([]byte(codexAgent())); err != nil || v["name"] != "strobe" {
		t.Errorf("Codex's sub-agent: %v, %v", v, err)
	}
}
