package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/value"
)

// TestSecretsCostNothing compares what is recorded of functions without secrets: names must not change it.
func TestSecretsCostNothing(t *testing.T) {
	m := open(t, strobetest.Build(t, "exceptions", "gcc-O1"))
	names, err := secret.New("")
	if err != nil {
		t.Fatal(err)
	}
	with, without, n := NewWalks(nil, names), NewWalks(nil, nil), 0
	for _, f := range m.Functions() {
		if !f.HasDWARF {
			continue
		}
		a, _ := Compile(m, &f, Options{Depth: 3, Walks: with})
		b, _ := Compile(m, &f, Options{Depth: 3, Walks: without})
		if n++; !reflect.DeepEqual(a.Plan, b.Plan) {
			t.Errorf("%s: %+v with names, %+v without", f.Name, a.Plan, b.Plan)
		}
	}
	if n == 0 || !reflect.DeepEqual(with.Programs(0), without.Programs(0)) {
		t.Errorf("programs of %d functions differ", n)
	}
}

// tokens are functions that are given a secret (s_) or what parsers call so (p_).
var tokens = map[string]string{
	"cpp": `#include <string>
#include <vector>
#include <optional>
#include <memory>
struct Token { int kind; const char *text; };
struct Wrapped { std::string s; };
#define F(name, type) __attribute__((noinline)) void name(type token) { __asm__("" :: "r"(&token)); }
F(p_int, int) F(p_struct, Token) F(p_pointer, const Token *) F(p_ref, Token &) F(p_many, std::vector<Token>)
F(p_some, std::optional<Token>) F(p_owned, std::unique_ptr<Token>) F(p_char, char)
F(s_text, const char *) F(s_string, const std::string &) F(s_some, std::optional<std::string>)
F(s_many, std::vector<std::string>) F(s_bytes, std::vector<unsigned char>) F(s_wrapped, Wrapped) F(s_void, void *)
int main() {
  Token t{1, "x"};
  p_int(1); p_struct(t); p_pointer(&t); p_ref(t); p_many({t}); p_some(t); p_owned(nullptr); p_char(1);
  s_text("x"); s_string("x"); s_some("x"); s_many({"x"}); s_bytes({1}); s_wrapped({"x"}); s_void(&t);
}
`,
	"rust": `pub struct Token { pub kind: u32, pub text: String }
pub enum Kind { Word(u32), End }
pub struct Wrapped(String);
macro_rules! f { ($n:ident, $t:ty) => { #[inline(never)] fn $n(token: $t) { std::hint::black_box(token); } } }
f!(p_int, u32); f!(p_struct, Token); f!(p_ref, &Token); f!(p_many, Vec<Token>); f!(p_some, Option<&Token>);
f!(p_enum, Kind); f!(p_char, char);
f!(s_str, &str); f!(s_string, String); f!(s_some, Option<String>); f!(s_bytes, Vec<u8>); f!(s_wrapped, Wrapped);
f!(s_boxed, Box<str>);
fn main() {
  let t = || Token { kind: 1, text: "x".into() };
  p_int(1); p_struct(t()); p_ref(&t()); p_many(vec![t()]); p_some(None); p_enum(Kind::Word(1)); p_enum(Kind::End);
  p_char('x'); s_str("x"); s_string("x".into()); s_some(None); s_bytes(vec![1]); s_wrapped(Wrapped("x".into()));
  s_boxed("x".into());
}
`,
	"go": `package main

type Token struct { Kind int; Text string }

//go:noinline
func p_int(token int) {}
//go:noinline
func p_struct(token Token) {}
//go:noinline
func p_pointer(token *Token) {}
//go:noinline
func p_many(token []Token) {}
//go:noinline
func s_text(token string) {}
//go:noinline
func s_bytes(token []byte) {}
//go:noinline
func s_many(token []string) {}

func main() {
	p_int(1); p_struct(Token{}); p_pointer(nil); p_many(nil); s_text(""); s_bytes(nil); s_many(nil)
}
`,
}

// TestTokens: what parsers call tokens is shown, texts of that name are not.
func TestTokens(t *testing.T) {
	names, err := secret.New("")
	if err != nil {
		t.Fatal(err)
	}
	for lang, source := range tokens {
		var bin string
		switch lang {
		case "cpp":
			bin = strobetest.BuildSource(t, lang, "gcc-O0", "tokens", source, "-std=c++17")
		case "rust":
			bin = strobetest.BuildSource(t, lang, "rust-debug", "tokens", source)
		default:
			file := filepath.Join(t.TempDir(), "tokens.go")
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			bin = strings.TrimSuffix(file, ".go")
			if out, err := exec.Command("go", "build", "-o", bin, file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		m, n := open(t, bin), 0
		fns := m.Functions()
		for i := range fns {
			f := &fns[i]
			name := f.Name[max(strings.LastIndexAny(f.Name, ".:")+1, 0):]
			name, _, _ = strings.Cut(name, "(")
			if !f.HasDWARF || !strings.HasPrefix(name, "p_") && !strings.HasPrefix(name, "s_") {
				continue
			}
			how := Compile
			if lang == "go" {
				how = CompileGo
			}
			c, err := how(m, f, Options{Depth: 3, Walks: NewWalks(nil, names)})
			if err != nil || len(c.Layout.Args) != 1 {
				t.Errorf("%s %s: %v, %+v", lang, f.Name, err, c)
				continue
			}
			n++
			is := c.Layout.Types[c.Layout.Args[0].Type].Class == value.ClassRedacted
			if want := name[0] == 's'; is != want {
				t.Errorf("%s %s: redacted %v", lang, f.Name, is)
			}
		}
		if n < 7 {
			t.Errorf("%s: %d functions", lang, n)
		}
	}
}
