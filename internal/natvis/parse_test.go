package natvis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `<?xml version="1.0" encoding="utf-8"?>
<AutoVisualizer xmlns="http://schemas.microsoft.com/vstudio/debugger/natvis/2010">
  <Intrinsic Name="twice" Expression="n * 2"><Parameter Name="n" Type="int"/></Intrinsic>
  <Type Name="ns::Box&lt;*,int&gt;" Priority="High">
    <AlternativeType Name="ns::Case&lt;*&gt;"/>
    <DisplayString Condition="p == 0">empty</DisplayString>
    <DisplayString>{{ size={twice(size),d} text={p,[size]su} }}</DisplayString>
    <Expand>
      <Item Name="[size]" ExcludeView="simple">size</Item>
      <CustomListItems>
        <Variable Name="i" InitialValue="0"/>
        <Loop Condition="i &lt; size">
          <If Condition="i == 3"><Break/></If>
          <Elseif Condition="i == 2"><Exec>i += 2, j--</Exec></Elseif>
          <Else><Item Name="[{i}]">p[i],x</Item></Else>
          <Exec>i++</Exec>
        </Loop>
      </CustomListItems>
      <Strange/>
    </Expand>
  </Type>
  <UIVisualizer/>
</AutoVisualizer>`

func TestParse(t *testing.T) {
	f, err := Parse("a.natvis", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Types) != 1 || len(f.Problems) != 1 || f.Problems[0].Line != 19 ||
		!strings.Contains(f.Problems[0].What, "Strange") {
		t.Fatalf("types %d, problems %v", len(f.Types), f.Problems)
	}
	ty := f.Types[0]
	if ty.Priority != 2 || len(ty.Names) != 2 || len(ty.Displays) != 2 || ty.Displays[0].Cond != "p == 0" ||
		len(ty.Expand) != 2 {
		t.Fatalf("read as %+v", ty)
	}
	parts := ty.Displays[1].Parts
	if len(parts) != 5 || parts[0].Text != "{ size=" || parts[1].Expr.Format.Spec != "d" ||
		parts[3].Expr.Format != (Format{Size: "size", Spec: "su"}) {
		t.Errorf("the text is %+v", parts)
	}
	if x, err := ty.Inline(parts[1].Expr.Text); err != nil || x != "((size) * 2)" {
		t.Errorf("twice(size) is %q, %v", x, err)
	}
	if ty.Expand[0].Views.In("simple") || !ty.Expand[0].Views.In("") {
		t.Errorf("views %+v", ty.Expand[0].Views)
	}
	loop := ty.Expand[1].Code
	if len(loop) != 1 || loop[0].Kind != Loop || len(loop[0].Body) != 2 || loop[0].Body[0].Kind != If ||
		len(loop[0].Body[0].Else) != 1 ||
		len(loop[0].Body[0].Else[0].Body) != 2 || loop[0].Body[0].Else[0].Body[0].Expr != "(i) + (2)" ||
		loop[0].Body[1].Expr != "i + 1" {
		t.Errorf("the loop is %+v", loop)
	}
}

func TestNames(t *testing.T) {
	s := NewSet(&File{Types: []*Type{{Names: []Pattern{NewPattern("a::B<*, C<*>, *>")}},
		{Names: []Pattern{NewPattern("L<* *>")}}}})
	for _, c := range []struct{ name, bound string }{
		{"a::B<int, C<std::vector<int, X> >, d, e<f>>", "int|std::vector<int,X>|d|e<f>"},
		{"a::lts_2020::B<x,C<y>>", "x|y"},
		{"a::B<x,D<y>>", "none"},
		{"a::Bb<x,C<y>>", "none"},
		{"L<char const*>", "char const*"},
		{"L<char>", "none"},
	} {
		got := "none"
		for _, f := range s.Lookup(c.name) {
			if f.Type.File == nil {
				got = ""
			}
			var texts []string
			for _, b := range f.Bound {
				texts = append(texts, b.Text)
			}
			got = strings.Join(texts, "|")
		}
		if got != c.bound {
			t.Errorf("Lookup(%q) binds %s, want %s", c.name, got, c.bound)
		}
	}
}

// TestHostile reads what nobody would write.
func TestHostile(t *testing.T) {
	bomb := `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><AutoVisualizer><Type ` +
		`Name="&b;"/></AutoVisualizer>`
	deep := "<AutoVisualizer>" + strings.Repeat("<Type Name='x'>", 1000) + strings.Repeat("</Type>", 1000) +
		"</AutoVisualizer>"
	for _, text := range []string{bomb, deep, "", "<a/>", strings.Repeat("x", MaxFile+1)} {
		if f, err := Parse("x", []byte(text)); err == nil {
			t.Errorf("%.60q is read as %+v", text, f)
		}
	}
	loop := &Type{File: &File{Intrinsics: []Intrinsic{{Name: "f", Expr: "f() + f()"}, {Name: "g", Expr: "h() * h() * h()"},
		{Name: "h", Expr: "g() * g()"}}}}
	for _, text := range []string{"f()", "g()", "f(1)", "f("} {
		if x, err := loop.Inline(text); err == nil {
			t.Errorf("Inline(%q) = %q", text, x)
		}
	}
}

func TestLibrary(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := func(name string) string { return `<AutoVisualizer><Type Name="` + name + `"/></AutoVisualizer>` }
	write(filepath.Join(home, "a.natvis"), one("A"))
	write(filepath.Join(root, "sub", "b.natvis"), one("B"))
	write(filepath.Join(root, ".git", "c.natvis"), one("C"))
	write(filepath.Join(root, "bad.natvis"), "<AutoVisualizer><Type")
	l := NewLibrary(home)
	s := l.For(root)
	if len(s.Lookup("A")) != 1 || len(s.Lookup("B")) != 1 || len(s.Lookup("C")) != 0 || len(s.Problems()) != 1 {
		t.Errorf("files %v, problems %v", s.Paths(), s.Problems())
	}
	if l.For(root) != s {
		t.Error("nothing changed, and the set is another")
	}
	write(filepath.Join(root, "sub", "b.natvis"), one("Bigger"))
	if s = l.For(root); len(s.Lookup("Bigger")) != 1 || len(s.Lookup("B")) != 0 {
		t.Errorf("after a change: %v", s.Paths())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add(
		[]byte(
			"<AutoVisualizer><Type Name='a<*'><Expand><ArrayItems><Size>{{[</Size></ArrayItems></Expand></Type></AutoVisualizer>"))
	f.Add([]byte("\xff\xfe<\x00A\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err != nil {
			return
		}
		s := NewSet(file)
		for _, ty := range file.Types {
			for _, n := range ty.Names {
				s.Lookup(n.String())
			}
			for _, d := range ty.Displays {
				for _, p := range d.Parts {
					if p.Expr != nil {
						_, _ = ty.Inline(p.Expr.Text)
					}
				}
			}
		}
	})
}
