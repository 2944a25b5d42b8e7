package install

import (
	"path/filepath"
)

// agent is a coding agent: where it has its files, for the user and for a project. Relative paths are below the user's
// home or the project. docs/install.md has the page of its documentation that says so.
type agent struct {
	id, name string
	// dirs are there if and only if the agent is; each may have a configuration of its own.
	dirs func(Options) []string
	// configs returns its configurations in a directory of dirs; projectConfig names a project's, "" where it has none.
	configs       func(o Options, dir string) []string
	projectConfig []string // the first that exists, else the first
	projectSigns  []string // what tells that the project is used with it
	path          []string
	fields        func(command string) []field
	toml          bool
	skills        func(Options) string // "" where it has no skills of its own that we write
	subAgent      func(Options) (file, text string)
	note          string
}

// place is an agent with the files that it has in one home or project.
type place struct {
	agent   *agent
	project string
	configs []config
	files   []owned
	note    string
}

func stdio(command string) []field {
	return []field{{name: "command", text: command}, {name: "args", list: []string{"mcp"}}}
}

func typedStdio(command string) []field {
	return append([]field{{name: "type", text: "stdio"}}, stdio(command)...)
}

// below returns the directory that a variable names, else the one below home.
func (o Options) below(variable string, home ...string) string {
	if dir := o.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{o.Home}, home...)...)
}

func (o Options) xdg() string { return o.below("XDG_CONFIG_HOME", ".config") }

func one(dir string) []string { return []string{dir} }

func in(name ...string) func(Options, string) []string {
	return func(_ Options, dir string) []string {
		return []string{filepath.Join(append([]string{dir}, name...)...)}
	}
}

func home(name ...string) func(Options) []string {
	return func(o Options) []string { return one(filepath.Join(append([]string{o.Home}, name...)...)) }
}

var mcpServers = []string{"mcpServers", entryName}

// entryName is what our entry is called everywhere.
const entryName = "strobe"

const elsewhere = "It gets no skills of its own; it may read those in .agents/skills or .claude/skills."

var agents = []*agent{
	{
		id: "claude-code", name: "Claude Code",
		dirs:          claudeDirs,
		configs:       claudeConfigs,
		projectConfig: []string{".mcp.json"},
		projectSigns:  []string{".mcp.json", ".claude", "CLAUDE.md"},
		path:          mcpServers,
		fields:        typedStdio,
		skills: func(o Options) string {
			return o.skillDir(claudeDir(o), ".claude")
		},
		subAgent: func(o Options) (string, string) {
			return o.fileIn(claudeDir(o), ".claude", "agents", "strobe.md"), claudeAgent()
		},
	},
	{
		id: "codex", name: "Codex",
		dirs:          func(o Options) []string { return one(o.below("CODEX_HOME", ".codex")) },
		configs:       in("config.toml"),
		projectConfig: []string{".codex/config.toml"},
		projectSigns:  []string{".codex"},
		path:          []string{"mcp_servers", entryName},
		fields:        stdio,
		toml:          true,
		skills: func(o Options) string {
			return o.skillDir(filepath.Join(o.Home, ".agents"), ".agents")
		},
		subAgent: func(o Options) (string, string) {
			return o.fileIn(o.below("CODEX_HOME", ".codex"), ".codex", "agents", "strobe.toml"), codexAgent()
		},
	},
	{
		id: "opencode", name: "OpenCode",
		dirs:          func(o Options) []string { return one(filepath.Join(o.xdg(), "opencode")) },
		configs:       openCodeConfigs,
		projectConfig: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
		projectSigns:  []string{"opencode.json", "opencode.jsonc", ".opencode"},
		path:          []string{"mcp", entryName}, // or mcp.servers, where the file has that
		fields: func(command string) []field {
			return []field{{name: "type", text: "local"}, {name: "command", list: []string{command, "mcp"}}}
		},
		skills: func(o Options) string {
			return o.skillDir(filepath.Join(o.xdg(), "opencode"), ".opencode")
		},
		subAgent: func(o Options) (string, string) {
			return o.fileIn(filepath.Join(o.xdg(), "opencode"), ".opencode", "agents", "strobe.md"), openCodeAgent()
		},
	},
	{
		id: "cursor", name: "Cursor",
		dirs: home(".cursor"), configs: in("mcp.json"),
		projectConfig: []string{".cursor/mcp.json"}, projectSigns: []string{".cursor"},
		path: mcpServers, fields: stdio, note: elsewhere,
	},
	{
		id: "vscode", name: "VS Code",
		dirs: func(o Options) []string {
			return []string{filepath.Join(o.xdg(), "Code", "User"), filepath.Join(o.xdg(), "Code - Insiders", "User"),
				filepath.Join(o.xdg(), "VSCodium", "User")}
		},
		configs:       in("mcp.json"),
		projectConfig: []string{".vscode/mcp.json"}, projectSigns: []string{".vscode"},
		path: []string{"servers", entryName}, fields: typedStdio, note: elsewhere,
	},
	{
		id: "gemini", name: "Gemini CLI",
		dirs: home(".gemini"), configs: in("settings.json"),
		projectConfig: []string{".gemini/settings.json"}, projectSigns: []string{".gemini", "GEMINI.md"},
		path: mcpServers, fields: stdio, note: elsewhere,
	},
	{
		id: "windsurf", name: "Windsurf",
		dirs: home(".codeium", "windsurf"), configs: in("mcp_config.json"),
		path: mcpServers, fields: stdio, note: elsewhere,
	},
	{
		id: "zed", name: "Zed",
		dirs:          func(o Options) []string { return one(filepath.Join(o.xdg(), "zed")) },
		configs:       in("settings.json"),
		projectConfig: []string{".zed/settings.json"}, projectSigns: []string{".zed"},
		path: []string{"context_servers", entryName}, fields: stdio, note: elsewhere,
	},
	{
		id: "cline", name: "Cline",
		dirs: func(o Options) []string {
			ext := filepath.Join("User", "globalStorage", "saoudrizwan.claude-dev")
			return []string{filepath.Join(o.xdg(), "Code", ext), filepath.Join(o.xdg(), "Code - Insiders", ext),
				filepath.Join(o.xdg(), "VSCodium", ext), filepath.Join(o.Home, ".cline", "data")}
		},
		configs: in("settings", "cline_mcp_settings.json"),
		path:    mcpServers, fields: stdio, note: elsewhere,
	},
}

func claudeDir(o Options) string { return o.below("CLAUDE_CONFIG_DIR", ".claude") }

// claudeDirs: without a directory the file may be there.
func claudeDirs(o Options) []string {
	if file := filepath.Join(o.Home, ".claude.json"); !exists(claudeDir(o)) && exists(file) {
		return one(file)
	}
	return one(claudeDir(o))
}

// claudeConfigs: the file is beside the directory, and in it where a variable says where that is.
func claudeConfigs(o Options, _ string) []string {
	if dir := claudeDir(o); dir == o.Getenv("CLAUDE_CONFIG_DIR") {
		return one(filepath.Join(dir, ".claude.json"))
	}
	return one(filepath.Join(o.Home, ".claude.json"))
}

func openCodeConfigs(_ Options, dir string) []string {
	if file := filepath.Join(dir, "opencode.jsonc"); exists(file) && !exists(filepath.Join(dir, "opencode.json")) {
		return one(file)
	}
	return one(filepath.Join(dir, "opencode.json"))
}

// fileIn returns a file in the agent's directory of the user, or in that of the project.
func (o Options) fileIn(user, project string, name ...string) string {
	dir := user
	if o.Project != "" {
		dir = filepath.Join(o.Project, project)
	}
	return filepath.Join(append([]string{dir}, name...)...)
}

func (o Options) skillDir(user, project string) string { return o.fileIn(user, project, "skills") }

// found tells whether the user has the agent, or the project is used with it.
func (a *agent) found(o Options) bool {
	for _, dir := range a.dirs(o) {
		if exists(dir) {
			return o.Project == "" || a.projectConfig != nil
		}
	}
	for _, sign := range a.projectSigns {
		if o.Project != "" && exists(filepath.Join(o.Project, sign)) {
			return true
		}
	}
	return false
}

// place returns the agent's files. Of several directories those that exist are taken, or else the first.
func (a *agent) place(o Options) place {
	p := place{agent: a, project: o.Project, note: a.note}
	var files []string
	if o.Project != "" {
		if a.projectConfig == nil {
			p.note = "It has no configuration for one project: use it without --project."
			return p
		}
		file := filepath.Join(o.Project, a.projectConfig[0])
		for _, name := range a.projectConfig {
			if path := filepath.Join(o.Project, name); exists(path) {
				file = path
				break
			}
		}
		files = append(files, file)
	} else {
		dirs := a.dirs(o)
		for _, dir := range dirs {
			if exists(dir) {
				files = append(files, a.configs(o, dir)...)
			}
		}
		if len(files) == 0 {
			files = a.configs(o, dirs[0])
		}
	}
	for _, file := range files {
		c := config{file: file, path: a.path, fields: a.fields(o.Command), toml: a.toml}
		if a.id == "opencode" {
			c.path = openCodePath(file)
		}
		p.configs = append(p.configs, c)
	}
	if a.skills != nil {
		p.files = append(p.files, skillsIn(a.skills(o))...)
	}
	if a.subAgent != nil {
		file, text := a.subAgent(o)
		p.files = append(p.files, owned{file: file, what: "sub-agent", text: []byte(text)})
	}
	return p
}

// openCodePath: version 2 has servers in mcp.servers and reads the older mcp as well, all that version 1 reads.
// So the older place is taken, unless the file has the newer one.
func openCodePath(file string) []string {
	older := []string{"mcp", entryName}
	_, src, err := read(file)
	if err != nil {
		return older
	}
	v, err := jsonValue(src)
	if err != nil {
		return older
	}
	if servers, ok := lookup(v, []string{"mcp", "servers"}); ok {
		if m, ok := servers.(map[string]any); ok && m["command"] == nil && m["url"] == nil {
			return []string{"mcp", "servers", entryName}
		}
	}
	return older
}
