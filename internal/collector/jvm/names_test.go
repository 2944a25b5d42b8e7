package jvm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestContinuations: of the classes that Kotlin's compiler makes for suspend functions none is traced, others are.
func TestContinuations(t *testing.T) {
	in := strobetest.Javas(t)[0]
	src, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"ContinuationImpl.java": "package kotlin.coroutines.jvm.internal; public class ContinuationImpl { void go() { } }",
		"Work.java":             "class Work extends kotlin.coroutines.jvm.internal.ContinuationImpl { void resume() { } }",
	} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	strobetest.Javac(t, in, "-d", dir, filepath.Join(src, "ContinuationImpl.java"), filepath.Join(src, "Work.java"))
	set := agentlink.Set{Rules: []agentlink.Rule{{On: "name", Glob: "**"}}}
	for name, traced := range map[string]bool{"Work": false, "kotlin/coroutines/jvm/internal/ContinuationImpl": true} {
		b, err := os.ReadFile(filepath.Join(dir, name+".class"))
		if err != nil {
			t.Fatal(err)
		}
		r := newProcess(newSources()).weave(set, &question{Name: name, Bytes: b})
		if (len(r.Bytes) > 0) != traced {
			t.Errorf("%s becomes %d bytes", name, len(r.Bytes))
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"java/util/Map$Entry": "java.util.Map.Entry", "Main": "Main", "a/B$1": "a.B$1", "a/B$1$C": "a.B$1.C",
		"a/B$": "a.B$", "a/$B": "a.$B", "a/B$$C": "a.B$$C",
	} {
		if got := shown(in); got != want {
			t.Errorf("shown(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"total": "total", "<init>": "new", "<clinit>": "static", "lambda$main$0": "main.lambda$0",
		"lambda$new$12": "new.lambda$12", "lambda$": "lambda$", "lambda$x": "lambda$x",
	} {
		if got := methodName(in); got != want {
			t.Errorf("methodName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("shop.Order.total")
	f.Fuzz(func(t *testing.T, name string) {
		shown(name)
		methodName(name)
	})
}
