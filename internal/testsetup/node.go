package testsetup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func nodeFamily() *family {
	return &family{
		name: "node", sources: regexp.MustCompile(`\.[cm]?[jt]sx?$`),
		markers: []marker{{name: "deno.json", system: "deno"}, {name: "deno.jsonc", system: "deno"},
			{name: "package.json", system: "npm"}, {name: "bunfig.toml", system: "bun"}},
		isTest: isNodeTest, language: nodeLanguage, frameworks: nodeFrameworks, known: []string{"playwright"},
		plan: (*setup).node,
	}
}

// isNodeTest: by the name that every framework knows, or in a folder of tests and with tests in it.
func isNodeTest(name string, text func() string) bool {
	if testadapter.JSTests.MatchString(path.Base(name)) || testadapter.DenoTests.MatchString(path.Base(name)) {
		return true
	}
	return nodeTestFolder.MatchString(name) && nodeTestCall.MatchString(text())
}

var (
	nodeTestFolder = lazyregexp.MustCompile(`(^|/)(test|tests|__tests__|spec)/`)
	nodeTestCall   = lazyregexp.MustCompile(`(?m)^\s*(describe|it|test|Deno\.test)\(`)
)

func nodeLanguage(p *testadapter.Project, f *found) string {
	typed := 0
	for _, name := range f.sources {
		if nodeTyped.MatchString(name) {
			typed++
		}
	}
	if typed > 0 && 2*typed >= len(f.sources) || len(f.sources) == 0 &&
		(f.system == "deno" || p.Has(path.Join(f.dir, "tsconfig.json"))) {
		return "typescript"
	}
	return "javascript"
}

var nodeTyped = lazyregexp.MustCompile(`\.[cm]?tsx?$`)

func nodeFrameworks(s *setup) []string {
	all := []string{"vitest", "jest", "mocha", "node", "bun"}
	if s.f.system == "deno" || s.r.Framework == "deno" && s.f.system == "" {
		return []string{"deno"}
	}
	pkg, module := s.nodePackage(), s.nodeTarget()
	bun := s.bun(pkg)
	best := "node" // needs nothing installed
	switch bundled := pkg.Deps["vite"] != ""; {
	case bun:
		best = "bun"
	case bundled, s.f.language == "typescript", module.esm && !module.loads:
		best = "vitest"
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == best })
	return append([]string{best}, all...)
}

// bun says whether the project is Bun's: by its lock file, its configuration or its types.
func (s *setup) bun(pkg testadapter.Package) bool {
	return s.f.system == "bun" || pkg.Runs["bun"] != "" || s.p.Has(s.at("bun.lock")) || s.p.Has(s.at("bun.lockb")) ||
		s.p.Has(s.at("bunfig.toml")) || pkg.Deps["bun-types"]+pkg.Deps["@types/bun"] != ""
}

// nodePackage is the package of the project's folder; empty where there is none. Of a workspace's root without sources
// of its own it is the first member with some, and the project's folder becomes its.
func (s *setup) nodePackage() testadapter.Package {
	all := s.p.Packages()
	for _, pkg := range all {
		if pkg.Dir != s.f.dir {
			continue
		}
		if !pkg.Spaces || s.f.dir != "." {
			return pkg
		}
		var members []testadapter.Package
		for _, m := range all {
			if m.Dir != "." && len(inside(s.f.sources, m.Dir)) > 0 {
				members = append(members, m)
			}
		}
		mine := slices.ContainsFunc(s.f.own(), func(name string) bool {
			return !slices.ContainsFunc(members, func(m testadapter.Package) bool {
				return strings.HasPrefix(name, m.Dir+"/")
			}) && !strings.Contains(path.Base(name), ".config.")
		})
		if mine || len(members) == 0 {
			return pkg
		}
		for _, m := range members[1:] {
			s.f.also = appendNew(s.f.also, m.Dir)
		}
		s.f.dir, s.Detected.Dir = members[0].Dir, members[0].Dir
		s.f.sources, s.f.tests = inside(s.f.sources, s.f.dir), inside(s.f.tests, s.f.dir)
		s.Detected.TestFiles, s.Detected.Tests = len(s.f.tests), s.f.tests[:min(len(s.f.tests), shownTests)]
		return members[0]
	}
	return testadapter.Package{Dir: s.f.dir}
}

// manager is a package manager: how it runs here, and how it adds and installs.
type manager struct{ name, run, add, install string }

// nodeManager is the project's package manager, by its lock file, here or above, then by packageManager; npm where none
// is named.
func (s *setup) nodeManager(pkg testadapter.Package) manager {
	all := []struct{ lock, name, add, install string }{
		{"package-lock.json", "npm", "install --save-dev", "ci"}, {"npm-shrinkwrap.json", "npm", "install --save-dev", "ci"},
		{"pnpm-lock.yaml", "pnpm", "add --save-dev", "install"},
		{"yarn.lock", "yarn", "add --dev", "install"}, {"bun.lock", "bun", "add --dev", "install"},
		{"bun.lockb", "bun", "add --dev", "install"},
	}
	chosen := manager{name: "npm", add: "install --save-dev", install: "install"}
	declared, _, _ := strings.Cut(pkg.Manager, "@")
	if declared == "" && s.bun(pkg) {
		declared = "bun"
	}
	for _, m := range all {
		if m.name == declared {
			chosen = manager{name: m.name, add: m.add, install: "install"}
		}
	}
	for at, done := s.f.dir, false; !done; at = path.Dir(at) {
		for _, m := range all {
			if s.p.Has(path.Join(at, m.lock)) {
				chosen, done = manager{name: m.name, add: m.add, install: m.install}, true
				break
			}
		}
		done = done || at == "."
	}
	chosen.run = chosen.name
	if chosen.name != "npm" && !s.installed(chosen.name) {
		s.miss("%s, which keeps this project's packages, is not in PATH: npx fetches it", chosen.name)
		program, version := chosen.name, ""
		if name, v, ok := strings.Cut(pkg.Manager, "@"); ok && name == program { // yarn@4.1.0+sha512.…
			v, _, _ = strings.Cut(v, "+")
			version = "@" + v
		}
		switch berry := s.p.Has(s.at(".yarnrc.yml")) || version != "" && !strings.HasPrefix(version, "@1"); {
		case program == "yarn" && berry: // since version 2
			program = "@yarnpkg/cli-dist"
		case program == "yarn" && version == "":
			version = "@1"
		}
		chosen.run = "npx --yes " + program + version
	}
	if s.f.system != "deno" {
		s.Detected.BuildSystem = chosen.name
	}
	return chosen
}

func (s *setup) node() error {
	if s.want == "deno" {
		return s.deno()
	}
	pkg := s.nodePackage()
	m := s.nodeManager(pkg)
	switch s.want {
	case "bun":
		s.need("bun", "npm install --global bun", "")
	default:
		s.need("node", "", "nodejs npm")
	}
	s.install(pkg, m)
	script := s.nodeScript()
	name := s.nodeTestScript(pkg, script)
	run := m.run + " run " + name
	if name == "test" {
		run = m.run + " test"
		if m.name == "bun" {
			run = "bun test"
		}
	}
	one := map[string]string{"vitest": "npx vitest run -t {name}", "jest": "npx jest -t {name}",
		"mocha": "npx mocha --grep {name}", "node": "node --test --test-name-pattern={name}", "bun": "bun test -t {name}",
		"playwright": "npx playwright test -g {name}"}
	s.runs(run, one[s.want])
	if s.has {
		return nil
	}
	s.miss("a test: there is no *.test.js or the like")
	s.nodeTest()
	return nil
}

// packagesOf are what a framework's tests need from the registry.
func (s *setup) packagesOf() []string {
	typed := s.f.language == "typescript"
	switch {
	case s.want == "node" && typed:
		return []string{"tsx"} // Node takes types off by itself only since version 22.18
	case s.want == "node", s.want == "bun":
		return nil
	case s.want == "playwright":
		return []string{"@playwright/test"}
	case s.want == "jest" && typed:
		return []string{"jest", "@jest/globals", "ts-jest", "typescript"}
	case s.want == "mocha" && typed:
		return []string{"mocha", "tsx", "@types/mocha"}
	}
	return []string{s.want}
}

// install plans what is in package.json but not installed, and what is not even named there.
func (s *setup) install(pkg testadapter.Package, m manager) {
	var add []string
	declared := false
	for _, name := range s.packagesOf() {
		switch {
		case s.p.NodeModule(s.f.dir, name), s.p.Has(s.at(".pnp.cjs")):
		case s.declares(name):
			s.miss("%s is in package.json and not installed: no node_modules/%s", name, name)
			declared = true
		case name != s.want && s.want == "jest" && s.has, name != s.want && s.want == "mocha" && s.has:
			// It has tests: what they are compiled with is the project's own affair.
		default:
			s.miss("%s is not in package.json", name)
			add = append(add, name)
		}
	}
	if declared || s.lacksModules(pkg) {
		s.step(m.run + " " + m.install)
	}
	if len(add) > 0 {
		s.step(m.run + " " + m.add + " " + strings.Join(add, " "))
	}
	if s.want == "playwright" && !s.p.NodeModule(s.f.dir, "@playwright/test") {
		s.step("npx playwright install") // the browsers
	}
}

// declares says whether the package, or one above it, names a dependency.
func (s *setup) declares(name string) bool {
	for _, pkg := range s.p.Packages() {
		if (pkg.Dir == "." || pkg.Dir == s.f.dir) && pkg.Deps[name] != "" {
			return true
		}
	}
	return false
}

// lacksModules says that dependencies are named and nothing is installed: what the test imports may need them.
func (s *setup) lacksModules(pkg testadapter.Package) bool {
	for name := range pkg.Deps {
		if !s.p.NodeModule(s.f.dir, name) && !s.p.Has(s.at(".pnp.cjs")) {
			s.miss("node_modules: %s is not installed", firstKey(pkg.Deps))
			return true
		}
	}
	return false
}

func firstKey(m map[string]string) string {
	least := ""
	for name := range m {
		if least == "" || name < least {
			least = name
		}
	}
	return least
}

// nodeScript is the command of package.json's script test.
func (s *setup) nodeScript() string {
	typed := s.f.language == "typescript"
	switch {
	case s.want == "vitest":
		return "vitest run"
	case s.want == "jest" && s.nodeTarget().esm && !typed:
		return "NODE_OPTIONS=--experimental-vm-modules jest"
	case s.want == "jest":
		return "jest"
	case s.want == "mocha" && typed:
		return "mocha --import=tsx 'test/**/*.test.ts'"
	case s.want == "mocha":
		return "mocha --recursive"
	case s.want == "node" && typed:
		return "tsx --test"
	case s.want == "node":
		return "node --test"
	}
	return s.want + " test"
}

// nodeTestScript plans the script and is its name: one that runs the framework already, else test where that is free.
func (s *setup) nodeTestScript(pkg testadapter.Package, command string) string {
	if have := pkg.Runs[s.want]; have != "" {
		return have
	}
	name := "test"
	if have := pkg.Scripts["test"]; have != "" && !strings.Contains(have, "no test specified") {
		name = "test:" + cmp.Or(map[string]string{"node": "unit"}[s.want], s.want)
	}
	scripts := map[string]any{"scripts": map[string]string{name: command}}
	if s.p.Has(s.at("package.json")) {
		s.ConfigChanges[s.at("package.json")] = indented(scripts)
		return name
	}
	s.miss("package.json")
	manifest := map[string]any{"name": slug(path.Base(path.Join(s.p.Root, s.f.dir)), "-"), "private": true,
		"scripts": scripts["scripts"]}
	if len(s.f.sources) == 0 || s.nodeTarget().esm {
		manifest["type"] = "module"
	}
	s.Files[s.at("package.json")] = indented(manifest)
	return name
}

// indented is JSON as it stands in configuration files.
func indented(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // maps of strings always encode
	}
	return b.String()
}

// deno plans a test of a Deno project.
func (s *setup) deno() error {
	if s.installed("npm") {
		s.need("deno", "npm install --global deno", "")
	} else {
		// a pipe into sh ends well where curl did not
		s.need("deno", `f=$(mktemp) && curl -fsSL https://deno.land/install.sh -o "$f" && sh "$f"`, "")
	}
	s.runs("deno test", "deno test --filter {name}")
	config := "deno.json"
	if s.p.Has(s.at("deno.jsonc")) {
		config = ""
	}
	if config != "" && !strings.Contains(s.p.Read(s.at(config)), "deno test") {
		tasks := indented(map[string]any{"tasks": map[string]string{"test": "deno test"}})
		if s.p.Has(s.at(config)) {
			s.ConfigChanges[s.at(config)] = tasks
		} else {
			s.Files[s.at(config)] = tasks
		}
	}
	if s.has {
		return nil
	}
	s.miss("a test: there is no *_test.ts")
	t := s.nodeTarget()
	name, imports, check, comment := orWord(t.name, "first"), "", "assert.equal(1 + 1, 2);",
		"// Begin here: call it, and compare its result with what it must be."
	if t.name != "" {
		imports, check = fmt.Sprintf("import %s from %q;\n", t.braced(), "./"+t.file),
			fmt.Sprintf("assert.notEqual(%s, undefined);", t.name)
	}
	ext := ".ts"
	if s.f.language == "javascript" {
		ext = ".js"
	}
	if len(s.f.sources) == 0 {
		s.file("greeting"+ext, greetingModule(ext == ".ts", true))
		name, imports, check = "greeting", fmt.Sprintf("import { greeting } from %q;\n", "./greeting"+ext),
			`assert.equal(greeting("Ada"), "Hello, Ada!");`
	}
	s.file(s.fresh(strings.ToLower(name), "_test"+ext),
		fmt.Sprintf("import assert from \"node:assert/strict\";\n%s\nDeno.test(%q, () => {\n  %s\n  %s\n});\n", imports,
			name+" is there", comment, check))
	return nil
}
