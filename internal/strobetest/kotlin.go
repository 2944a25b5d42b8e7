package strobetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kotlinPom has the compiler of a version and its coroutines.
const kotlinPom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>strobe</groupId><artifactId>kotlin</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-compiler-embeddable</artifactId>
<version>%s</version></dependency>
<dependency><groupId>org.jetbrains.kotlinx</groupId><artifactId>kotlinx-coroutines-core-jvm</artifactId>
<version>1.7.3</version></dependency>
</dependencies></project>
`

// Kotlin compiles a source by a version of Kotlin's compiler, which Maven fetches, and returns the class path that what
// it makes runs with.
func Kotlin(t testing.TB, in Interpreter, version, source string) string {
	t.Helper()
	NeedCommand(t, "mvn")
	dir := t.TempDir()
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, fmt.Appendf(nil, kotlinPom, version), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := Fetch(func() *exec.Cmd {
		return exec.Command("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	}); err != nil {
		t.Fatalf("Kotlin %s: %v\n%s", version, err, out)
	}
	classes := filepath.Join(dir, "classes")
	only := func(name string) string {
		found, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", name, found, err)
		}
		return found[0]
	}
	path := strings.Join([]string{only("kotlin-stdlib-" + version + ".jar"),
		only("kotlinx-coroutines-core-jvm-*.jar")}, string(filepath.ListSeparator))
	out, err := exec.Command(in.Path, "-cp", filepath.Join(dir, "*"), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
		"-no-stdlib", "-no-reflect", "-nowarn", "-cp", path, "-d", classes, source).CombinedOutput()
	if err != nil {
		t.Fatalf("kotlinc %s: %v\n%s", version, err, out)
	}
	return classes + string(filepath.ListSeparator) + path
}
