package testadapter_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func mavenSuite(t *testing.T, name string) *testadapter.Project {
	strobetest.NeedCommand(t, "mvn", "javac")
	return strobetest.ProjectAt(strobetest.Suite(t, name))
}

// TestMavenSuite: everything that happens in tests of JUnit 5, told by name, place and sides, and nothing of the
// project changes but what Maven builds. JUnit 4 and TestNG have another way in.
func TestMavenSuite(t *testing.T) {
	t.Parallel()
	suites := []string{"junit5", "junit4"}
	if strobetest.Soaks(t, "TestNG") {
		suites = append(suites, "testng")
	}
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			p := mavenSuite(t, "maven-"+suite)
			before := p.Read("pom.xml")
			a := testadapter.Maven{}
			if d := a.Detect(p); d.Confidence != 88 || d.Dir != "" {
				t.Errorf("Detect = %+v", d)
			}
			events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
			golden(t, "maven/"+suite+".txt", told(events), p.Root, "ROOT")
			if p.Read("pom.xml") != before {
				t.Error("pom.xml has changed")
			}
		})
	}
}

// TestMavenSelects: one case of a parametrised test, a method by its class's short name, and names that nothing has,
// for which Maven does not run.
func TestMavenSelects(t *testing.T) {
	t.Parallel()
	const cart = "com.example.CartTest#"
	want := map[string][]string{cart + "prices(int)[2]": {cart + "prices(int)[2]"}, "no such test": nil}
	if strobetest.Soaks(t, "other ways to name tests") {
		want["CartTest.total"] = []string{cart + "total"}
		want["isZer"] = []string{"com.example.CartTest$Empty#isZero"}
		want["BrokenTest"] = []string{"com.example.BrokenTest"}
		selects(t, testadapter.Maven{}, mavenSuite(t, "maven-junit4"),
			map[string][]string{"TableTest#isOdd[1]": {"com.example.TableTest#isOdd[1]"}})
	}
	selects(t, testadapter.Maven{}, mavenSuite(t, "maven-junit5"), want)
}

// TestMavenDoesNotCompile: what javac says is told once, with its place.
func TestMavenDoesNotCompile(t *testing.T) {
	t.Parallel()
	p := mavenSuite(t, "maven-junit4")
	name := filepath.Join(p.Root, "src/test/java/com/example/OldTest.java")
	if err := os.WriteFile(name, []byte("package com.example;\nclass OldTest {\n  int n = there;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := ended(strobetest.RunAdapter(t, testadapter.Maven{}, p, testadapter.Request{}))
	got := all["(build)"]
	if len(all) != 1 || got == nil || len(got.Failures) != 1 {
		t.Fatalf("%v", keys(all))
	}
	f := got.Failures[0]
	if f.Kind != "compile" || f.File != "src/test/java/com/example/OldTest.java" || f.Line != 3 ||
		!strings.HasPrefix(f.Message, "cannot find symbol; symbol: variable there") {
		t.Errorf("%+v", f)
	}
}

// TestSoakMavenModules: a test of a module below the root has its folder in its ID, by which it runs alone.
func TestSoakMavenModules(t *testing.T) {
	strobetest.Soak(t)
	root := t.TempDir()
	pom := `<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>all</artifactId><version>1</version>
<packaging>pom</packaging><modules><module>old</module><module>new</module></modules></project>`
	if err := os.WriteFile(filepath.Join(root, "pom.xml"), []byte(pom), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, suite := range map[string]string{"old": "maven-junit4", "new": "maven-junit5"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(strobetest.Suite(t, suite))); err != nil {
			t.Fatal(err)
		}
	}
	selects(t, testadapter.Maven{}, strobetest.ProjectAt(root), map[string][]string{
		"old::com.example.OldTest#adds": {"old::com.example.OldTest#adds"},
		"adds":                          {"new::com.example.CartTest#adds", "old::com.example.OldTest#adds"},
	})
}

// TestSoakGradle: the same of Gradle, as old as Debian's is.
func TestSoakGradle(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedCommand(t, "gradle")
	p := mavenSuite(t, "maven-junit4")
	build := "apply plugin: 'java'\nrepositories { mavenCentral() }\ndependencies { testCompile 'junit:junit:4.13.2' }\n"
	if err := os.WriteFile(filepath.Join(p.Root, "build.gradle"), []byte(build), 0o600); err != nil {
		t.Fatal(err)
	}
	events := strobetest.RunAdapter(t, testadapter.Gradle{}, p, testadapter.Request{})
	golden(t, "maven/gradle-junit4.txt", told(events), p.Root, "ROOT")
	selects(t, testadapter.Gradle{}, p, map[string][]string{
		"TableTest#isOdd[1]": {"com.example.TableTest#isOdd[1]"}, "OldTest.adds": {"com.example.OldTest#adds"}})
}

// TestJVMListenerIsMade: the jar is of the sources beside it, by the compiler that the Makefile names.
func TestJVMListenerIsMade(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "javac", "make")
	if v, err := exec.Command("javac", "-version").CombinedOutput(); err != nil || !bytes.Contains(v, []byte("javac 17.")) {
		t.Logf("not compared: %s", v)
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("jvmlistener")); err != nil {
		t.Fatal(err)
	}
	make := exec.Command("make", "-s", "-C", dir, "OUT=made.jar")
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "made.jar"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("reporters/strobe_jvm.jar")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("reporters/strobe_jvm.jar is not of jvmlistener: make -C internal/testadapter/jvmlistener")
	}
}
