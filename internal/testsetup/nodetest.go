package testsetup

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// nodeModule is what a first test imports.
type nodeModule struct {
	file   string // below the project's folder; "": nothing can be imported
	name   string // of what it exports
	single bool   // the module is that one thing: a default export, or module.exports
	esm    bool   // the project's modules are ES modules
	loads  bool   // without a bundler or compiler
}

var (
	esmExport = lazyregexp.MustCompile(
		`(?m)^export (?:declare )?(?:async )?(?:function\*?|const|let|class) ([A-Za-z_$][\w$]*)`)
	esmList    = lazyregexp.MustCompile(`(?m)^export \{\s*([A-Za-z_$][\w$]*)\s*[,}]`)
	esmDefault = lazyregexp.MustCompile(`(?m)^export default (?:async )?(?:function|class) ([A-Za-z_$][\w$]*)`)
	esmSyntax  = lazyregexp.MustCompile(`(?m)^(export|import) `)
	cjsField   = lazyregexp.MustCompile(`(?m)^(?:module\.)?exports\.([A-Za-z_$][\w$]*)\s*=`)
	cjsObject  = lazyregexp.MustCompile(`(?m)^module\.exports\s*=\s*\{\s*([A-Za-z_$][\w$]*)\s*[,:}]`)
	cjsSingle  = lazyregexp.MustCompile(
		`(?m)^module\.exports\s*=\s*(?:async )?(?:function |class )?([A-Za-z_$][\w$]*)\s*(?:;|$|\(|\{)`)
	nodeActs = lazyregexp.MustCompile(`\.listen\(|process\.exit\(|(?m)^(main|run|start)\(|^await `)
)

// nodeTarget is a module with something exported, the package's entry first. Modules that act when they are imported
// are left alone.
func (s *setup) nodeTarget() nodeModule {
	var pkg struct {
		module bool
		main   string
	}
	for _, p := range s.p.Packages() {
		if p.Dir == s.f.dir {
			pkg.module, pkg.main = p.Module, path.Clean(p.Main)
		}
	}
	none := nodeModule{esm: pkg.module, loads: true}
	files := slices.DeleteFunc(s.f.own(), func(name string) bool {
		return strings.Contains(path.Base(name), ".config.") || strings.HasSuffix(name, ".d.ts") ||
			nodeTestFolder.MatchString(name)
	})
	rank := func(name string) int {
		below := strings.TrimPrefix(strings.TrimPrefix(name, s.f.dir), "/")
		switch stem := strings.TrimSuffix(path.Base(below), path.Ext(below)); {
		case below == pkg.main:
			return 0
		case stem == "index" || stem == "mod":
			return 1 + strings.Count(below, "/")
		}
		return 4 + strings.Count(below, "/")
	}
	sorting.By(files, func(a, b string) int { return rank(a) - rank(b) })
	for _, file := range files[:min(len(files), maxTexts)] {
		text := s.p.Read(file)
		m := exported(text)
		m.file = strings.TrimPrefix(strings.TrimPrefix(file, s.f.dir), "/")
		own := esmSyntax.MatchString(text)
		none.esm = none.esm || own && !strings.HasSuffix(file, "package.json")
		m.esm = own || pkg.module && !strings.HasSuffix(file, ".cjs")
		m.loads = !own || pkg.module || strings.HasSuffix(file, ".mjs") || s.f.system == "deno" || s.f.system == ""
		if m.name != "" && !nodeActs.MatchString(text) {
			return m
		}
	}
	return none
}

// exported is the first name that a module gives.
func exported(text string) nodeModule {
	for _, form := range []struct {
		re     *regexp.Regexp
		single bool
	}{{esmExport.Get(), false}, {esmList.Get(), false}, {esmDefault.Get(), true}, {cjsField.Get(), false},
		{cjsObject.Get(), false}, {cjsSingle.Get(), true}} {
		if m := form.re.FindStringSubmatch(text); m != nil &&
			!slices.Contains([]string{"require", "default", "new", "test", "it", "expect", "assert"}, m[1]) {
			return nodeModule{name: m[1], single: form.single}
		}
	}
	return nodeModule{}
}

func (m nodeModule) braced() string {
	if m.single {
		return m.name
	}
	return "{ " + m.name + " }"
}

func greetingModule(typed, esm bool) string {
	text := "function greeting(name) {\n  return `Hello, ${name}!`;\n}\n"
	if typed {
		text = strings.Replace(text, "(name)", "(name: string): string", 1)
	}
	if esm {
		return "export " + text
	}
	return text + "\nmodule.exports = { greeting };\n"
}

// nodeTest plans the test's file, in the kind of modules that the project has.
func (s *setup) nodeTest() {
	typed := s.f.language == "typescript"
	t := s.nodeTarget()
	begin, check := "// Begin here: call it, and compare its result with what it must be.", ""
	if len(s.f.sources) == 0 {
		t = nodeModule{file: "src/greeting.js", name: "greeting", esm: t.esm || !s.p.Has(s.at("package.json")) ||
			typed, loads: true}
		if typed {
			t.file = "src/greeting.ts"
		}
		s.file(t.file, greetingModule(typed, t.esm))
		begin, check = "// This is a beginning: change both.", "greeting(\"Ada\")"
	}
	ext := ".js"
	switch {
	case typed:
		ext = ".ts"
	case strings.HasSuffix(t.file, ".mjs"):
		ext = ".mjs"
	}
	esm := t.esm || typed || s.want == "vitest" || s.want == "bun"
	if esm && ext == ".js" && s.want == "vitest" && !t.esm {
		ext = ".mjs" // Vitest itself cannot be required
	}
	if !t.loads && s.want != "vitest" && s.want != "bun" && !typed {
		t = nodeModule{} // a module's syntax in a package that is not said to have it: Node does not load it
		esm = false
	}
	name := orWord(t.name, "first")
	file := s.fresh("test/"+strings.ToLower(name), ".test"+ext)
	var lines []string
	load := func(what, from string) {
		if esm {
			lines = append(lines, fmt.Sprintf("import %s from %q;", what, from))
		} else {
			lines = append(lines, fmt.Sprintf("const %s = require(%q);", what, from))
		}
	}
	expects := false
	switch s.want {
	case "vitest":
		load("{ expect, test }", "vitest")
		expects = true
	case "bun":
		load("{ expect, test }", "bun:test")
		expects = true
	case "jest": // its functions are global, but TypeScript does not know that
		if typed {
			load("{ expect, test }", "@jest/globals")
		}
		expects = true
	case "node":
		load("test", "node:test")
		load("assert", "node:assert/strict")
	case "mocha":
		load("assert", "node:assert/strict")
	}
	if t.name != "" {
		rel, err := filepath.Rel("test", t.file)
		if err == nil && typed {
			rel = regexp.MustCompile(`\.[cm]?tsx?$`).ReplaceAllString(rel, "")
		}
		load(t.braced(), filepath.ToSlash(rel))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	call := "test"
	if s.want == "mocha" {
		call = "it"
	}
	lines = append(lines, fmt.Sprintf("%s(%q, () => {", call, name+" is there"), "  "+begin,
		"  "+nodeAssertion(t.name, check, expects), "});")
	s.file(file, strings.Join(lines, "\n")+"\n")
	if s.want == "jest" && typed && !s.p.Has(s.at("jest.config.js")) && !s.p.Has(s.at("jest.config.cjs")) &&
		!s.p.Has(s.at("jest.config.ts")) {
		s.file("jest.config.cjs", "module.exports = { preset: \"ts-jest\", testEnvironment: \"node\" };\n")
	}
}

// nodeAssertion is what a test says of a name: of a call that is known its result, else that it is there.
func nodeAssertion(name, call string, expects bool) string {
	switch {
	case call != "" && expects:
		return fmt.Sprintf("expect(%s).toBe(\"Hello, Ada!\");", call)
	case call != "":
		return fmt.Sprintf("assert.equal(%s, \"Hello, Ada!\");", call)
	case name != "" && expects:
		return fmt.Sprintf("expect(%s).toBeDefined();", name)
	case name != "":
		return fmt.Sprintf("assert.notEqual(%s, undefined);", name)
	case expects:
		return "expect(1 + 1).toBe(2);"
	}
	return "assert.equal(1 + 1, 2);"
}
