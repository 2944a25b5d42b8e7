package testadapter

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestJVMSides(t *testing.T) {
	for message, want := range map[string][2]string{
		"the sum ==> expected: <4> but was: <3>":          {"4", "3"},
		"expected:<a[b]c> but was:<a[x]c>":                {"abc", "axc"},
		"expected:<[1]> but was:<[2, 3]>":                 {"[1]", "[2, 3]"},
		"expected:<[1, 2]> but was:<null>":                {"[1, 2]", "null"},
		"no such key expected [4] but found [3]":          {"4", "3"},
		"\nExpected: is \"x\"\n     but: was \"y\"":       {`is "x"`, `"y"`},
		"\nexpected: 1\n but was: 2":                      {"1", "2"},
		"java.lang.IllegalStateException: expected a row": {"", ""},
	} {
		if e, a := jvmSides(message); e != want[0] || a != want[1] {
			t.Errorf("%q: %q, %q", message, e, a)
		}
	}
}

func TestJVMCompilers(t *testing.T) {
	for line, want := range map[string]Failure{
		"[ERROR] /p/src/A.java:[3,5] ';' expected":              {File: "src/A.java", Line: 3, Column: 5, Message: "';' expected"},
		"/p/src/A.java:3: error: ';' expected":                  {File: "src/A.java", Line: 3, Message: "';' expected"},
		"[ERROR] file:///p/src/A.kt:[3,5] Unresolved reference": {File: "src/A.kt", Line: 3, Column: 5, Message: "Unresolved reference"},
		"e: file:///p/src/A.kt:3:5 Unresolved reference":        {File: "src/A.kt", Line: 3, Column: 5, Message: "Unresolved reference"},
		"e: /p/src/A.kt: (3, 5): Unresolved reference":          {File: "src/A.kt", Line: 3, Column: 5, Message: "Unresolved reference"},
	} {
		p := &Project{Root: "/p", FS: fstest.MapFS{}}
		x := &jvmRun{scripted: &scripted{p: p, r: &Request{}, res: newResults(p, func(Event) {})}}
		x.said(line)
		x.said(line) // Maven says it twice
		want.Kind = "compile"
		if len(x.compile) != 1 || x.compile[0].Message != want.Message || x.compile[0].File != want.File ||
			x.compile[0].Line != want.Line || x.compile[0].Column != want.Column {
			t.Errorf("%q: %+v", line, x.compile)
		}
	}
}

// TestJVMChoice: what a text means is found in the sources, which may be in modules and in Kotlin's shortened folders.
func TestJVMChoice(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	p := &Project{Root: "/p", FS: fstest.MapFS{
		"a/pom.xml": file(""), "b/pom.xml": file(""),
		"a/src/test/java/shop/CartTest.java":    file("package shop;\nclass CartTest {\n  @Test void adds() {}\n  @Test void addsAll() {}\n}\n"),
		"b/src/test/java/shop/CartTest.java":    file("package shop;\nclass CartTest {\n  @Test void empties() {}\n}\n"),
		"b/src/test/kotlin/SumTest.kt":          file("package shop.sums\nclass SumTest {\n    @Test\n    fun `adds two`() {}\n}\n"),
		"a/target/generated/shop/CartTest.java": file("package shop;\n"),
	}}
	s := newJVMSources(p, ".")
	for text, want := range map[string][]jvmTarget{
		"b::shop.CartTest#empties(int)[2]": {{class: "shop.CartTest", method: "empties", file: "b/src/test/java/shop/CartTest.java"}},
		"CartTest.adds":                    {{class: "shop.CartTest", method: "adds", file: "a/src/test/java/shop/CartTest.java"}},
		"shop.sums.SumTest":                {{class: "shop.sums.SumTest", file: "b/src/test/kotlin/SumTest.kt"}},
		"adds two":                         {{class: "shop.sums.SumTest", method: "adds two", file: "b/src/test/kotlin/SumTest.kt"}},
		"addsAll":                          {{class: "shop.CartTest", method: "addsAll", file: "a/src/test/java/shop/CartTest.java"}},
		"nothing":                          nil,
	} {
		if got := s.choice(text).targets; !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if got := s.line("b/src/test/kotlin/SumTest.kt", "adds two"); got != 4 {
		t.Errorf("line %d", got)
	}
	c := s.choice("shop.CartTest#adds")
	for id, want := range map[string]bool{"a::shop.CartTest#adds": true, "a::shop.CartTest#adds(int)[1]": true,
		"a::shop.CartTest#addsAll": false, "a::shop.CartTest": true, "a::shop.OtherTest#adds": false} {
		if c.means(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}
