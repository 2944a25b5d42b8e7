package jvm

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// jarOf packs the classes below a folder, with a manifest.
func jarOf(t *testing.T, dir, manifest string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tool.jar")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := zip.NewWriter(out)
	w, err := z.Create("META-INF/MANIFEST.MF")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(manifest)); err != nil {
		t.Fatal(err)
	}
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOwn: of a program that is a jar, with no source below the root, @usercode is what lies about its main class, and
// not the library that is packed with it. Keeps out: a tool of which nothing is traced by default.
func TestOwn(t *testing.T) {
	in := strobetest.Javas(t)[0]
	src, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"org/tool/cli/Main.java": `package org.tool.cli; public class Main { public static void main(String[] a) {
			org.tool.Work.twice(21); } }`,
		"org/tool/Work.java": `package org.tool; public class Work { public static int twice(int n) {
			return org.other.Lib.add(n, n); } }`,
		"org/other/Lib.java": `package org.other; public class Lib { public static int add(int a, int b) {
			return a + b; } }`,
	} {
		path := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	strobetest.Javac(t, in, "-d", dir, "-sourcepath", src, filepath.Join(src, "org/tool/cli/Main.java"))
	jar := jarOf(t, dir, "Manifest-Version: 1.0\r\nMain-Class: org.tool.cli.M\r\n ain\r\n")
	for _, args := range [][]string{{"-jar", jar}, {"-cp", jar, "org.tool.cli.Main"}} {
		b := under(t, in, t.TempDir(), []string{"@usercode"}, args...)
		if out, err := b.cmd.CombinedOutput(); err != nil || plain(string(out)) != "" {
			t.Fatalf("%v: %s", err, out)
		}
		b.member.Close(t.Context())
		got := b.book.Calls()
		if !strings.Contains(got, `org.tool.Work.twice {"arg0":21}`) || !strings.Contains(got, "org.tool.cli.Main.main") ||
			strings.Contains(got, "org.other") {
			t.Errorf("%s: %s", args[0], got)
		}
	}
	b := under(t, in, src, []string{"@usercode"}, "-jar", jar) // the sources tell
	if out, err := b.cmd.CombinedOutput(); err != nil || plain(string(out)) != "" {
		t.Fatalf("%v: %s", err, out)
	}
	b.member.Close(t.Context())
	if got := b.book.Calls(); !strings.Contains(got, "org.other.Lib.add") {
		t.Errorf("with sources: %s", got)
	}
}

func TestMainClass(t *testing.T) {
	for args, want := range map[string]string{
		"java -agentpath:x -cp a.jar -Xmx1g org.h2.tools.RunScript -url x": "org/h2",
		"java -p mods -m app/com.shop.web.api.Main":                        "com/shop/web",
		"java --add-exports a/b=c clojure.main -e 1":                       "clojure",
		"java Main":             "",
		"java @args":            "?",
		"java Main.java":        "?",
		"java -jar /none.jar x": "?",
	} {
		got, ok := ownPackage(&agentlink.Hello{PID: os.Getpid(), Argv: strings.Fields(args)})
		if !ok {
			got = "?"
		}
		if got != want {
			t.Errorf("ownPackage(%s) = %s, want %s", args, got, want)
		}
	}
}
