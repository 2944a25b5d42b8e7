package dap

import (
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/service"
)

// maxCompletions bounds what is proposed for one word.
const maxCompletions = 200

// replWords are what may follow each command of the repl.
var replWords = map[string][]string{"": {"help", "input ", "query ", "trace "}, "trace": {"add ", "remove "},
	"query": {"channel", "crash", "events", "function_enter", "function_exit", "logpoint", "pause", "stats", "stderr",
		"stdout", "tree"}}

// completing is one word that is to be completed.
type completing struct {
	word  string
	found []proto.CompletionItem
}

// add proposes a text if the word begins it, or as a function, a part of its name.
func (c *completing) add(text string, kind proto.CompletionItemType) {
	label := strings.TrimSpace(text)
	if len(c.found) >= maxCompletions || kind != "function" && !strings.HasPrefix(label, c.word) ||
		slices.ContainsFunc(c.found, func(i proto.CompletionItem) bool { return i.Label == label }) {
		return
	}
	c.found = append(c.found, proto.CompletionItem{Label: label, Text: text, Type: kind,
		Length: len(utf16.Encode([]rune(c.word)))})
}

// completion is a proposal with its beginning, which may be 0.
type completion struct {
	proto.CompletionItem
	Start int `json:"start"`
}

// completions proposes what may stand at a place of a line of the repl: commands and what they take, variables of the
// frame, members of what stands before a point or an arrow, functions.
func completions(ctx context.Context, s *Server, in *run, a *proto.CompletionsArguments) (any, error) {
	units := utf16.Encode([]rune(a.Text))
	at := min(max(a.Column-s.client.columnBase, 0), len(units))
	lines := strings.Split(string(utf16.Decode(units[:at])), "\n")
	c := in.complete(ctx, strings.TrimLeft(lines[len(lines)-1], " \t"), a.FrameId)
	out := struct {
		Targets []completion `json:"targets"`
	}{make([]completion, len(c.found))}
	for i, item := range c.found {
		out.Targets[i] = completion{item, at - item.Length + s.client.columnBase}
	}
	return out, nil
}

// complete finds what goes on with a line. What cannot be read proposes nothing.
func (r *run) complete(ctx context.Context, line string, frame int) *completing {
	words := strings.Split(line, " ")
	c := &completing{word: words[len(words)-1]}
	switch known := replWords[words[0]]; {
	case len(words) > 2 && words[0] == "trace" && words[1] == "add":
		for _, p := range []string{"@usercode", "@file:", "@exceptions"} {
			c.add(p, "keyword")
		}
		r.code(ctx, c, "functions", "function")
		return c
	case len(words) > 2 && words[0] == "trace" && words[1] == "remove":
		var t struct{ ActivePatterns []string }
		if r.s.ask(ctx, "debug_trace", map[string]any{"sessionId": r.id}, &t) == nil {
			for _, p := range t.ActivePatterns {
				c.add(p, "text")
			}
		}
		return c
	case len(words) == 2 && known != nil || len(words) > 2 && words[0] == "query":
		for _, w := range known {
			c.add(w, "keyword")
		}
		return c
	case len(words) > 1 && words[0] == "input":
		return c
	case len(words) == 1:
		for _, w := range replWords[""] {
			c.add(w, "keyword")
		}
	}
	r.expression(ctx, c, line, frame)
	return c
}

// code proposes names of the program's code. A program of an interpreter has none.
func (r *run) code(ctx context.Context, c *completing, what string, kind proto.CompletionItemType) {
	args := map[string]any{"count": maxCompletions}
	if c.word != "" {
		args["name"] = c.word
	}
	code, err := r.asksCode(ctx, what, args)
	if err != nil {
		return
	}
	for _, name := range code.Names {
		c.add(name, kind)
	}
}

// expression proposes what may go on with one: a member of what stands before, or a name.
func (r *run) expression(ctx context.Context, c *completing, line string, frame int) {
	end := len(line)
	for end > 0 && inName(line[end-1]) {
		end--
	}
	c.word = line[end:]
	before := line[:end]
	base, is := strings.CutSuffix(before, "->")
	if !is {
		base, is = strings.CutSuffix(before, ".")
	}
	switch {
	case is && frame != 0:
		from := len(base)
		for from > 0 && (inName(base[from-1]) || strings.ContainsRune(".>-:[]", rune(base[from-1]))) {
			from--
		}
		base = strings.TrimLeft(base[from:], ".>-:]")
		for _, v := range r.reach(ctx, frame, base) {
			c.addVariable(v.Name, "property")
		}
	case is:
	case frame != 0:
		for _, v := range r.inScope(ctx, frame) {
			c.addVariable(v.Name, "variable")
		}
		fallthrough
	default:
		if c.word != "" {
			r.code(ctx, c, "globals", "variable")
		}
	}
}

// reach finds the parts of a value by its path from a variable of the frame. Nothing is evaluated: in a program of an
// interpreter that would run its code for a key that was pressed.
func (r *run) reach(ctx context.Context, frame int, path string) []collector.Variable {
	all := r.inScope(ctx, frame)
	for _, name := range strings.Split(strings.NewReplacer("->", ".", "[", ".[").Replace(path), ".") {
		i := slices.IndexFunc(all, func(v collector.Variable) bool { return v.Name == name })
		if i < 0 || all[i].Ref == 0 {
			return nil
		}
		all = r.members(ctx, all[i].Ref)
	}
	return all
}

// inScope are the variables that a frame has.
func (r *run) inScope(ctx context.Context, frame int) (all []collector.Variable) {
	var v service.ViewResult
	if r.view(ctx, "scopes", map[string]any{"ref": frame}, &v) != nil {
		return nil
	}
	for _, sc := range v.Scopes {
		if !sc.Slow {
			all = append(all, r.members(ctx, sc.Ref)...)
		}
	}
	return all
}

// members are the first variables of a scope, or parts of a value.
func (r *run) members(ctx context.Context, ref collector.Ref) []collector.Variable {
	var v service.ViewResult
	if r.view(ctx, "variables", map[string]any{"ref": ref, "count": maxCompletions}, &v) != nil {
		return nil
	}
	return v.Variables
}

// addVariable proposes what has a name that can be written.
func (c *completing) addVariable(name string, kind proto.CompletionItemType) {
	if name != "" && strings.IndexFunc(name, func(c rune) bool { return c < 0x80 && !inName(byte(c)) }) < 0 {
		c.add(name, kind)
	}
}

// inName reports whether a byte may be part of a name.
func inName(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
