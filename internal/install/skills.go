package install

import (
	"embed"
	"path/filepath"
	"strings"
)

//go:embed skills
var skillFiles embed.FS

//go:embed subagent.md
var subAgentPrompt string

// subAgentDescription is what an agent decides by whether to hand work over.
const subAgentDescription = "Finds out why a program misbehaves by running it under Strobe: crashes, wrong results, " +
	"hangs, tests that fail. Give it the command, the project's root and what is wrong. " +
	"It returns the cause with event ids."

// tools are those that the sub-agent has.
var tools = []string{"debug_launch", "debug_trace", "debug_query", "debug_breakpoint", "debug_continue", "debug_memory",
	"debug_session", "debug_test"}

// skillsIn returns the skills as files of a directory of skills.
func skillsIn(dir string) []owned {
	entries, err := skillFiles.ReadDir("skills")
	if err != nil {
		return nil // embedded: it is there
	}
	var files []owned
	for _, e := range entries {
		text, err := skillFiles.ReadFile("skills/" + e.Name() + "/SKILL.md")
		if err == nil {
			files = append(files, owned{file: filepath.Join(dir, e.Name(), "SKILL.md"), what: "skill", text: text})
		}
	}
	return files
}

func claudeAgent() string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = "mcp__" + entryName + "__" + t
	}
	return "---\nname: strobe\ndescription: " + quote(subAgentDescription) + "\ntools: " + strings.Join(names, ", ") +
		"\n---\n\n" + subAgentPrompt
}

func openCodeAgent() string {
	return "---\ndescription: " + quote(subAgentDescription) + "\nmode: subagent\npermission:\n  \"*\": deny\n  \"" +
		entryName + "_*\": allow\n---\n\n" + subAgentPrompt
}

// codexAgent: Codex has no list of tools for a sub-agent; its sandbox keeps it from writing.
func codexAgent() string {
	return "name = \"strobe\"\ndescription = " + quote(subAgentDescription) +
		"\nsandbox_mode = \"read-only\"\ndeveloper_instructions = '''\n" + subAgentPrompt + "'''\n"
}
