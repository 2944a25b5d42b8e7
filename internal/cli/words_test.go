package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestInCommands(t *testing.T) {
	for in, want := range map[string]string{
		"Showing 5 of 120, oldest first; go on with afterEventId 134; newest: timeFrom \"-5s\"; in short: view tree " +
			"or stats.": "Showing 5 of 120, oldest first; go on with --after-event-id 134; newest: --time-from \"-5s\"; in " +
			"short: --view tree or stats.",
		"No calls; debug_query with eventType pause and waitMs waits " +
			"longer.": "No calls; strobe query --event-type pause --wait waits longer.",
		`To see calls: debug_launch {"command":"./a b","args":["-x"],"projectRoot":"/p","trace":["@usercode"]}, as before; ` +
			`debug_query {"view":"why","under":7,"waitMs":50}. debug_session {"action":"stop"}.`: "To see calls: strobe run " +
			"--project-root /p --trace @usercode -- './a b' -x, as before; strobe query ID --view why --under 7 --wait-ms 50. " +
			"strobe stop ID.",
		`debug_trace {"add":["ns::*"]} adds.`: "strobe trace ID --add 'ns::*' adds.",
		"debug_session list shows the ids.":   "strobe sessions shows the ids.",
		"a std::string camelCase in main.cc":  "a std::string camelCase in main.cc",
	} {
		if got := inCommands(in); got != want {
			t.Errorf("inCommands(%q)\n = %q, want\n   %q", in, got, want)
		}
	}
}

// TestNoHintSpeaksMCP: whatever an operation or an error says, the command line says in its own words.
func TestNoHintSpeaksMCP(t *testing.T) {
	seen := 0
	for _, dir := range []string{"service", "query", "session", "collector/native", "inspect", "testrun", "testsetup",
		"store", "fault", "symbol", "tracediff", "exception", "iochan", "scenario"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, "debug_") {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "_") || strings.HasPrefix(text, "json:") {
					return true
				}
				seen++
				if got := inCommands(text); strings.Contains(got, "debug_") && !strings.Contains(got, ".debug_") &&
					!strings.Contains(got, "debug_info") && !strings.Contains(got, "debug_line") {
					t.Errorf("%s: %q becomes %q", file, text, got)
				}
				return true
			})
		}
	}
	if seen < 50 {
		t.Errorf("only %d texts name a tool", seen)
	}
}

// TestHelpSpeaksCommands: the help of a command names no tool, and every command has a manual page.
func TestHelpSpeaksCommands(t *testing.T) {
	root := Root()
	pages := manPages(root)
	for c := range commands(root) {
		if page := pages[pageName(c)]; !strings.Contains(page, ".SH SYNOPSIS") {
			t.Errorf("%s has no manual page", c.CommandPath())
		}
		if c.Name() == "mcp" || c.Name() == "demo" {
			continue
		}
		texts := []string{c.Short, c.Long, c.Example}
		c.Flags().VisitAll(func(f *pflag.Flag) { texts = append(texts, f.Usage) })
		for _, text := range texts {
			if strings.Contains(text, "debug_") || camelWord.MatchString(text) && strings.Contains(text, "EventId") {
				t.Errorf("%s says %q", c.CommandPath(), text)
			}
		}
	}
}

// TestWrongUse: each is an error, and says how it is right. Some printed help and ended well.
func TestWrongUse(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"completion tcsh", "there are bash"}, {"help nope", `unknown command "nope"`}, {"nope", `unknown command "nope"`},
		{"qurey", "did you mean query?"},
		{"query --nope", "usage: strobe query ID"}, {"sessions a b", "usage: strobe sessions [ID]"},
		{"completion", "needs one of"},
	} {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		root := a.root()
		root.SetArgs(strings.Fields(x.args))
		if code := a.exitCode(t.Context(), root.ExecuteContext(t.Context())); code != exitError ||
			!strings.Contains(out.String(), x.want) || !strings.Contains(out.String(), "usage: ") {
			t.Errorf("strobe %s: %d, %s", x.args, code, out.String())
		}
	}
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out}
	root := a.root()
	root.SetArgs([]string{"--version"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), "strobe version ") {
		t.Errorf("strobe --version: %v, %s", err, out.String())
	}
}

// TestManPagesAreValid: groff has nothing to say against them.
func TestManPagesAreValid(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Log("no groff: pages are not checked by it")
		return
	}
	for name, page := range manPages(Root()) {
		cmd := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin, cmd.Env = strings.NewReader(page), append(os.Environ(), "LC_ALL=C")
		if b, err := cmd.CombinedOutput(); err != nil || len(b) > 0 {
			t.Errorf("%s: %v: %s", name, err, b)
		}
	}
}

// TestCompletionOfValues: shells know the values of lists, for every flag that takes one of a few.
func TestCompletionOfValues(t *testing.T) {
	for args, want := range map[string]string{
		"query --view ": "tree", "query --event-type ": "function_exit", "query --order ": "thread", "test --level ": "unit",
		"": "query", "help ": "query",
	} {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		root := a.root()
		root.SetArgs(append([]string{"__complete"}, strings.Split(args, " ")...))
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("completing %q: %v, %s, without %s", args, err, out.String(), want)
		}
	}
}
