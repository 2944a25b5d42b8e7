package install

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var jsonPath = []string{"mcpServers", "strobe"}

// jsonCases are files as products' pages show them and as people write them, with what an install makes of them: §
// stands where our bytes go, and ¶ for a comma of ours.
var jsonCases = []struct{ name, file string }{
	{"empty object", "{§}"},
	{"with a line", "{§\n}\n"},
	{"beside others", "{\n  \"a\": 1¶§\n}\n"},
	{"beside a server", "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\"\n    }¶§\n  }\n}\n"},
	{"trailing commas", "{\n  \"mcpServers\": {\n    \"x\": {},§\n  },\n}\n"},
	{"comments", "// top\n{\n  \"mcpServers\": {\n    /* one */ \"x\": {}¶ /* two */ // three§\n    // four\n  } // " +
		"five\n}\n// six"},
	{"comments only", "{\n  // nothing yet§\n}\n"},
	{"one line", `{"a":1,"mcpServers":{"x":{"command":"y"}¶§},"b":[1,2,{"c":"}"}]}`},
	{"one line, trailing", `{"mcpServers":{"x":{},§}}`},
	{"tabs", "{\n\t\"mcpServers\": {\n\t\t\"x\": {}¶§\n\t}\n}"},
	{"CRLF", "{\r\n    \"mcpServers\": {\r\n        \"x\": {}¶§\r\n    }\r\n}\r\n"},
	{"mark", "\xef\xbb\xbf{\n  \"a\": 1¶§\n}"},
	{"closing on the line", "{\n  \"a\": 1¶§ }"},
	{"names with escapes", "{\"mcp\\u0053ervers\": {\"a\\\"}\": \"{\\\\\"¶§}}"},
	{"empty servers", "{\n  \"mcpServers\": {§},\n  \"b\": 1\n}\n"},
}

func fieldsOf(command string) []field { return stdio(command) }

func TestSetJSON(t *testing.T) {
	for _, c := range jsonCases {
		old := strings.NewReplacer("§", "", "¶", "").Replace(c.file)
		out, made, err := setJSON([]byte(old), jsonPath, fieldsOf("/bin/strobe"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := checkJSON([]byte(old), out, jsonPath); err != nil {
			t.Errorf("%s: %v in\n%s", c.name, err, out)
		}
		before, after, _ := strings.Cut(strings.ReplaceAll(c.file, "¶", ","), "§")
		text := string(out)
		if !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after) {
			t.Errorf("%s: other bytes than ours changed:\n%s", c.name, cmp.Diff(before+"§"+after, text))
			continue
		}
		if ins := text[len(before) : len(text)-len(after)]; !strings.Contains(ins, `"strobe": {`) ||
			strings.Contains(c.file, "\r\n") && strings.Count(ins, "\n") != strings.Count(ins, "\r\n") {
			t.Errorf("%s: inserted %q", c.name, ins)
		}
		again, _, err := setJSON(out, jsonPath, fieldsOf("/bin/strobe"))
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s: twice is not once: %v\n%s", c.name, err, again)
		}
		back, err := removeJSON(out, jsonPath, made)
		if c.name == "with a line" {
			old = "{}\n" // which it was cannot be told from the file
		}
		if c.name == "comments only" || c.name == "empty object" || err != nil {
			err = checkJSON([]byte(old), back, jsonPath)
		} else if string(back) != old {
			t.Errorf("%s: removed, it is not what it was:\n%s", c.name, cmp.Diff(old, string(back)))
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What a user has added to our entry stays when the binary has moved.
func TestUpdateJSON(t *testing.T) {
	const old = "{\"mcpServers\": {\n  \"strobe\": { // mine\n    \"command\":   \"/old/strobe\", \"env\": {\"A\": " +
		"\"b\"},\n    \"args\": [ \"mcp\" ] } } }"
	out, _, err := setJSON([]byte(old), jsonPath, fieldsOf("/new/strobe"))
	if want := strings.Replace(old, "/old/strobe", "/new/strobe", 1); err != nil || string(out) != want {
		t.Errorf("setJSON = %s, %v; want %s", out, err, want)
	}
}

func TestDamagedJSON(t *testing.T) {
	for _, file := range []string{
		"{", "{\"a\": 1", "{\"a\" 1}", "{\"a\": 1,, \"b\": 2}", "{'a': 1}", "{a: 1}", "[1, 2]", "1", "{\"a\": tru}", "{} {}",
		"{\"a\": \"\n\"}", "/* ", "{\"a\": 1} // \xff", "{\"mcpServers\": []}", "{\"mcpServers\": {}, \"mcpServers\": {}}",
		"{\"mcpServers\": {\"strobe\": 1}}", "{\"mcpServers\": {\"strobe\": {\"args\": [], \"args\": []}}}",
		strings.Repeat("[", 1000000), strings.Repeat("{\"a\":", 100000),
	} {
		if out, _, err := setJSON([]byte(file), jsonPath, fieldsOf("/bin/strobe")); err == nil {
			t.Errorf("setJSON(%.40q) = %q, want an error", file, out)
		}
	}
}

var tomlPath = []string{"mcp_servers", "strobe"}

var tomlCases = []struct{ name, file string }{
	{"empty", "§"},
	{"no newline", "model = \"x\"§"},
	{"as documented", "model = \"gpt-5.1\"  # overrides\n\n[mcp_servers.docs]\ncommand = \"docs\"\nargs = [\"a\", # " +
		"one\n  \"b\"]\n\n[mcp_servers.docs.env]\nK = \"\"\"\n[mcp_servers.strobe]\n\"\"\"\n§"},
	{"last comment", "[features]\na = true\n# end\n\n§"},
	{"CRLF", "a = 1\r\n\r\n[b]\r\nc = '''x\r\n[y]'''\r\n§"},
	{"mark", "\xef\xbb\xbfa = 1\n§"},
	{"lists of tables", "[[a]]\nb = {c = [1, 2], d = \"]\"}\n[[a]]\nb.c = 2020-01-01 10:00:00 # when\n§"},
}

func TestSetTOML(t *testing.T) {
	for _, c := range tomlCases {
		old := strings.ReplaceAll(c.file, "§", "")
		out, err := setTOML([]byte(old), tomlPath, fieldsOf("/bin/strobe"))
		if err == nil {
			err = checkTOML([]byte(old), out, tomlPath)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.HasPrefix(string(out), old) || !strings.Contains(string(out[len(old):]), "[mcp_servers.strobe]") {
			t.Errorf("%s: other bytes than ours changed:\n%s", c.name, cmp.Diff(old, string(out)))
		}
		again, err := setTOML(out, tomlPath, fieldsOf("/bin/strobe"))
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s: twice is not once: %v\n%s", c.name, err, again)
		}
		moved, err := setTOML(out, tomlPath, fieldsOf("/opt/strobe"))
		if want := strings.Replace(string(out), "/bin/strobe", "/opt/strobe", 1); err != nil || string(moved) != want {
			t.Errorf("%s: the binary moved: %v\n%s", c.name, err, cmp.Diff(want, string(moved)))
		}
		back, err := removeTOML(out, tomlPath)
		if err != nil || strings.TrimRight(string(back), "\r\n") != strings.TrimRight(old, "\r\n") {
			t.Errorf("%s: removed, it is not what it was: %v\n%s", c.name, err, cmp.Diff(old, string(back)))
		}
	}
}

// A table of ours that others stand behind, with tables below it and what the user added.
func TestUpdateTOML(t *testing.T) {
	const before, after = "# top\na = 1\n\n", "# of the next\n[z]\nb = 2\n"
	const mine = "[ mcp_servers . \"strobe\" ] # ours\n  command   = '/old/strobe' # where\nstartup_timeout_sec = " +
		"20\nargs = [\n  \"mcp\",\n]\n[mcp_servers.strobe.env]\nA = \"b\"\n"
	file := []byte(before + mine + after)
	out, err := setTOML(file, tomlPath, fieldsOf("/new/strobe"))
	if want := strings.Replace(string(file), "'/old/strobe'", `"/new/strobe"`, 1); err != nil || string(out) != want {
		t.Errorf("setTOML: %v\n%s", err, cmp.Diff(want, string(out)))
	}
	if err := checkTOML(file, out, tomlPath); err != nil {
		t.Error(err)
	}
	back, err := removeTOML(out, tomlPath)
	if want := strings.TrimSuffix(before, "\n") + after; err != nil || string(back) != want {
		t.Errorf("removeTOML: %v\n%s", err, cmp.Diff(want, string(back)))
	}
}

func TestDamagedTOML(t *testing.T) {
	for _, file := range []string{
		"a = ", "[a", "a = 1\na = 2\n", "[a]\n[a]\n", "a = \"x\nb = 1\n", "mcp_servers = 1\n", "mcp_servers = {}\n", "\xff",
		"mcp_servers.strobe.command = \"strobe-old\"\n", "[mcp_servers]\nstrobe = {command = \"x\"}\n",
		"mcp_servers.a.command = \"x\"\n[x",
	} {
		out, err := setTOML([]byte(file), tomlPath, fieldsOf("/bin/strobe"))
		if err == nil {
			err = checkTOML([]byte(file), out, tomlPath)
		}
		if err == nil {
			t.Errorf("setTOML(%q) = %q, want an error", file, out)
		}
	}
}

// checkEdits checks what must hold for every file: nothing panics, and what is written is the old value and our entry.
func checkEdits(t *testing.T, src []byte) {
	c := config{path: jsonPath, fields: fieldsOf("/bin/strobe")}
	for _, c.toml = range []bool{false, true} {
		if c.toml {
			c.path = tomlPath
		}
		out, made, err := c.set(src)
		if err != nil {
			continue // it is left alone
		}
		before, err := c.entry(src)
		if err != nil {
			t.Fatalf("toml %v: %q does not parse and became %q", c.toml, src, out)
		}
		if before == nil && !within(src, out) {
			t.Fatalf("toml %v: %q has lost bytes: %q", c.toml, src, out)
		}
		if e, err := c.entry(out); err != nil || !c.ours(e) {
			t.Fatalf("toml %v: %q became %q: entry %v, %v", c.toml, src, out, e, err)
		}
		again, _, err := c.set(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("toml %v: twice is not once: %v: %q, then %q", c.toml, err, out, again)
		}
		back, err := c.without(out, made)
		if err != nil {
			if strings.Contains(err.Error(), errNoTable.Error()) {
				continue // it was there before, in a form of its own
			}
			t.Fatalf("toml %v: remove from %q: %v", c.toml, out, err)
		}
		if e, err := c.entry(back); err != nil || e != nil {
			t.Fatalf("toml %v: %q is removed and still there: %q, %v", c.toml, out, back, err)
		}
		if before == nil && !blank(src) && // of which {} is left
			!bytes.Equal(inked(src), inked(back)) {
			t.Fatalf("toml %v: %q came back as %q", c.toml, src, back)
		}
	}
}

// within tells whether part is what is left of whole when bytes are taken out.
func within(part, whole []byte) bool {
	for _, c := range whole {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// inked is a file without its blanks.
func inked(src []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, src)
}

func FuzzEdit(f *testing.F) {
	clean := strings.NewReplacer("§", "", "¶", "")
	for _, c := range jsonCases {
		f.Add([]byte(clean.Replace(c.file)))
	}
	for _, c := range tomlCases {
		f.Add([]byte(clean.Replace(c.file)))
	}
	f.Fuzz(checkEdits)
}

// damage changes a file as a bad disk, a merge or a hurried hand does.
func damage(r *rand.Rand, src []byte) []byte {
	out := bytes.Clone(src)
	for range 1 + r.IntN(4) {
		if len(out) == 0 {
			return out
		}
		i := r.IntN(len(out))
		j := i + r.IntN(min(20, len(out)-i))
		switch r.IntN(5) {
		case 0:
			out = append(out[:i:i], out[j:]...)
		case 1:
			out = append(out[:j:j], out[i:]...)
		case 2:
			out[i] = byte(r.IntN(256))
		case 3:
			out = out[:i]
		default:
			const marks = "{}[],:\"'/*#=\n\\ "
			out = append(out[:i:i], append([]byte{marks[r.IntN(len(marks))]}, out[i:]...)...)
		}
	}
	return out
}

func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	clean := strings.NewReplacer("§", "", "¶", "")
	for range 5000 {
		file := jsonCases[r.IntN(len(jsonCases))].file
		if r.IntN(2) == 0 {
			file = tomlCases[r.IntN(len(tomlCases))].file
		}
		checkEdits(t, damage(r, []byte(clean.Replace(file))))
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"/usr/bin/strobe", "/a b/\"s\"", "/<&>/ü", "/\x7f/\t"} {
		f := field{name: "command", text: s}
		v, err := parseTOML([]byte(fmt.Sprintf("command = %s\n", f.toml())))
		if err != nil || v["command"] != s || !utf8.ValidString(f.json()) {
			t.Errorf("%q is %s in TOML: %v, %v", s, f.toml(), v, err)
		}
	}
}
