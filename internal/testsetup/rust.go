package testsetup

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

var (
	rustTest = lazyregexp.MustCompile(`(?m)^\s*#\[(\w+::)*(test|rstest|test_case)\b`)
	// A plain function: one with type parameters is not named without them.
	rustPublic = lazyregexp.MustCompile(`(?m)^pub (?:const |unsafe |async )*fn (\w+)\(([^)]*)\)`)
	rustKinds  = lazyregexp.MustCompile(`(?m)^\s*crate-type\s*=\s*\[([^\]]*)\]`)
	rustMacro  = lazyregexp.MustCompile(`(?m)^\s*proc-macro\s*=\s*true`)
	rustAny    = lazyregexp.MustCompile(`(?m)^(?:pub(?:\([^)]*\))? )?(?:const |unsafe |async )*fn (\w+)\(([^)]*)\)`)
)

func rustFamily() *family {
	return &family{
		name: "rust", sources: regexp.MustCompile(`\.rs$`), markers: []marker{{name: "Cargo.toml", system: "cargo"}},
		isTest:     func(name string, text func() string) bool { return rustTest.MatchString(text()) },
		language:   func(*testadapter.Project, *found) string { return "rust" },
		frameworks: func(*setup) []string { return []string{"cargo", "nextest"} },
		plan:       (*setup).rust,
	}
}

func (s *setup) rust() error {
	s.need("cargo", `f=$(mktemp) && curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$f" && sh "$f" -y`,
		"cargo")
	s.runs("cargo test", "cargo test {name}")
	if s.want == "nextest" {
		s.need("cargo-nextest", "cargo install cargo-nextest --locked", "")
		s.runs("cargo nextest run", "cargo nextest run {name}")
	}
	if s.has {
		return nil
	}
	s.miss("a test: no source has #[test]")
	if s.f.system == "" {
		s.newCrate()
		return nil
	}
	dir, manifest := s.member()
	if dir == "" {
		s.miss("a package: Cargo.toml is a workspace without members that have sources")
		return nil
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(dir, s.f.dir), "/")
	rel = path.Join(".", rel)
	lib := orWord(tomlField(manifest, "lib", "path"), "src/lib.rs")
	crate := strings.ReplaceAll(orWord(tomlField(manifest, "lib", "name"), tomlField(manifest, "package", "name")), "-",
		"_")
	kinds := rustKinds.FindStringSubmatch(tomlTable(manifest, "lib"))
	switch main := path.Join(rel, "src/main.rs"); {
	case s.p.Has(path.Join(dir, lib)) && rustMacro.MatchString(manifest):
		s.change(path.Join(rel, lib), rustInline("")) // its functions are called by the compiler alone
	case s.p.Has(path.Join(dir, lib)) && kinds != nil && !strings.Contains(kinds[1], `"lib"`) &&
		!strings.Contains(kinds[1], `"rlib"`):
		// no crate of Rust can link it
		s.change(path.Join(rel, lib), rustInline(rustName(rustAny.Get(), s.p.Read(path.Join(dir, lib)))))
	case s.p.Has(path.Join(dir, lib)):
		s.rustIntegration(rel, crate, s.p.Read(path.Join(dir, lib)))
	case s.p.Has(s.at(main)):
		name := rustName(rustAny.Get(), s.p.Read(s.at(main)))
		s.change(main, rustInline(name))
	default:
		s.change(path.Join(rel, lib), greetingRust)
		s.rustIntegration(rel, crate, greetingRust)
	}
	return nil
}

// member is the package that gets the test: the manifest's own, or the first of a workspace that has sources.
func (s *setup) member() (dir, manifest string) {
	manifest = s.p.Read(s.at("Cargo.toml"))
	if tomlTable(manifest, "package") != "" {
		return path.Clean(s.f.dir), manifest
	}
	for _, name := range s.p.Find(s.f.dir, regexp.MustCompile(`^Cargo\.toml$`), 100) {
		dir := path.Dir(name)
		if text := s.p.Read(name); tomlTable(text, "package") != "" && len(inside(s.f.sources, dir)) > 0 {
			return dir, text
		}
	}
	return "", ""
}

// rustIntegration is a test in tests/, which sees the crate as its users do.
func (s *setup) rustIntegration(rel, crate, lib string) {
	name := rustName(rustPublic.Get(), lib)
	file := s.fresh(path.Join(rel, "tests/first"), ".rs")
	switch name {
	case "":
		s.file(file, fmt.Sprintf("use %s as _;\n\n#[test]\nfn first() {\n    // Begin here: use what the crate offers, and "+
			"compare its results with what they must be.\n    assert_eq!(1 + 1, 2);\n}\n", crate))
	case "greeting":
		s.file(file, fmt.Sprintf("use %s::greeting;\n\n#[test]\nfn greets_by_name() {\n    assert_eq!(greeting(\"Ada\"), "+
			"\"Hello, Ada!\");\n}\n", crate))
	default:
		s.file(file, fmt.Sprintf("use %s::%s;\n\n#[test]\nfn %s_is_there() {\n    // Begin here: call %s, and assert_eq! "+
			"its result with what it must be.\n    let _function = %s;\n}\n", crate, name, name, name, name))
	}
}

// rustInline is a test beside the code: nothing can import a program's own functions.
func rustInline(name string) string {
	body := "        assert_eq!(1 + 1, 2);\n"
	use := ""
	if name != "" {
		use, body = "    use super::*;\n\n", fmt.Sprintf("        let _function = %s;\n", name)
	}
	return fmt.Sprintf("\n#[cfg(test)]\nmod tests {\n%s    #[test]\n    fn %s_is_there() {\n        // Begin here: call "+
		"it, and assert_eq! its result with what it must be.\n%s    }\n}\n", use, orWord(name, "first"), body)
}

// newCrate makes a package of sources that have none, or of nothing.
func (s *setup) newCrate() {
	name := slug(path.Base(path.Join(s.p.Root, s.f.dir)), "_")
	manifest := fmt.Sprintf("[package]\nname = %q\nversion = \"0.1.0\"\nedition = \"2021\"\n", name)
	s.miss("Cargo.toml")
	base := func(at string) bool { return s.p.Has(s.at(at)) }
	switch own := s.f.own(); {
	case len(own) == 0:
		s.file("Cargo.toml", manifest)
		s.file("src/lib.rs", greetingRust)
		s.rustIntegration(".", name, greetingRust)
	case base("src/lib.rs"):
		s.file("Cargo.toml", manifest)
		s.rustIntegration(".", name, s.p.Read(s.at("src/lib.rs")))
	case base("src/main.rs") || base("main.rs"):
		main := "src/main.rs"
		if base("main.rs") {
			main = "main.rs"
			manifest += fmt.Sprintf("\n[[bin]]\nname = %q\npath = \"main.rs\"\n", name)
		}
		s.file("Cargo.toml", manifest)
		s.change(main, rustInline(rustName(rustAny.Get(), s.p.Read(s.at(main)))))
	default:
		lib := own[0]
		for _, at := range own {
			if path.Base(at) == "lib.rs" {
				lib = at
			}
		}
		text := s.p.Read(lib)
		lib = strings.TrimPrefix(strings.TrimPrefix(lib, s.f.dir), "/")
		s.file("Cargo.toml", manifest+fmt.Sprintf("\n[lib]\npath = %q\n", lib))
		s.rustIntegration(".", name, text)
	}
}

const greetingRust = "pub fn greeting(name: &str) -> String {\n    format!(\"Hello, {name}!\")\n}\n"

// rustName is a function that can be named as a value.
func rustName(form *regexp.Regexp, text string) string {
	for _, m := range form.FindAllStringSubmatchIndex(text, 100) {
		name, arguments := text[m[2]:m[3]], text[m[4]:m[5]]
		before := strings.TrimRight(text[:m[0]], "\n")
		attribute := before[strings.LastIndex(before, "\n")+1:] // of a function that may be left out, or that is C's
		if name != "main" && !strings.Contains(arguments, "impl ") && !strings.HasPrefix(attribute, "#[") {
			return name
		}
	}
	return ""
}

// tomlTable is the text of a table, "" where there is none.
func tomlTable(text, table string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
			in = trimmed == "["+table+"]" || strings.HasPrefix(trimmed, "["+table+"] ")
		}
		if in {
			b.WriteString(line)
		}
	}
	return b.String()
}

// tomlField is a string of a table.
func tomlField(text, table, field string) string {
	m := regexp.MustCompile(`(?m)^\s*` + field + `\s*=\s*["']([^"']+)["']`).FindStringSubmatch(tomlTable(text, table))
	if m == nil {
		return ""
	}
	return m[1]
}

// slug makes a name of any text: letters and digits, joined by a mark.
func slug(text, mark string) string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	name := strings.Join(words, mark)
	if name == "" || name[0] >= '0' && name[0] <= '9' || slices.Contains([]string{"test", "core", "std", "main"}, name) {
		name = strings.TrimSuffix("project"+mark+name, mark)
	}
	return name
}
