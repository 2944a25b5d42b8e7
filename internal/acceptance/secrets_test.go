//go:build linux

package acceptance

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const (
	// theSecret is in the environment of programs that pass it on under names that say so.
	theSecret    = "kXq7secretvalueZt9"
	theNeighbour = "neighbour" // beside it, under names that say nothing
)

// keeper is a program of testdata/secrets that is ready to run.
type keeper struct {
	command string
	args    []string
}

func keeperIn(t *testing.T, lang string) keeper {
	t.Helper()
	dir := filepath.Join(strobetest.Root(t), "internal", "acceptance", "testdata", "secrets")
	source := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	made := t.TempDir()
	build := func(name string, args ...string) {
		t.Helper()
		strobetest.NeedCommand(t, name)
		cmd := exec.Command(name, args...)
		cmd.Dir = made
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	switch lang {
	case "c":
		return keeper{strobetest.BuildSource(t, "c", "gcc-O0", "keeper", source("keeper.c")), nil}
	case "cpp":
		return keeper{strobetest.BuildSource(t, "cpp", "gcc-O0", "keeper", source("keeper.cpp")), nil}
	case "rust":
		return keeper{strobetest.BuildSource(t, "rust", "rust-debug", "keeper", source("keeper.rs")), nil}
	case "go":
		file := filepath.Join(made, "keeper.go")
		if err := os.WriteFile(file, []byte(source("keeper.go.txt")), 0o600); err != nil {
			t.Fatal(err)
		}
		build("go", "build", "-o", "keeper", file)
		return keeper{filepath.Join(made, "keeper"), nil}
	case "python":
		pythons := strobetest.Pythons(t)
		return keeper{pythons[len(pythons)-1].Path, []string{filepath.Join(dir, "keeper.py")}}
	case "node":
		return keeper{strobetest.Node(t).Path, []string{filepath.Join(dir, "keeper.cjs")}}
	}
	build("javac", "-g", "-d", made, filepath.Join(dir, "Keeper.java"))
	javas := strobetest.Javas(t)
	return keeper{javas[len(javas)-1].Path, []string{"-cp", made, "Keeper"}}
}

// secretValues is how many the calls of a program have at least.
var secretValues = map[string]int64{"c": 10, "cpp": 8, "rust": 8, "go": 8, "python": 17, "node": 8, "java": 8}

// TestSecretsAreNowhere runs programs of every language that hold a secret, and looks for its bytes in all that is below
// STROBE_HOME then. With the switch off they are there: the test would find them.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	for _, lang := range []string{"c", "cpp", "rust", "go", "python", "node", "java"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			k := keeperIn(t, lang)
			for _, keep := range []bool{false, true} {
				home := strobetest.Home(t)
				set := []byte(`{"secrets.names": "iban, -creds"}`)
				if err := os.WriteFile(filepath.Join(home, "settings.json"), set, 0o600); err != nil {
					t.Fatal(err)
				}
				s := strobetest.Connect(t, home)
				extra := map[string]any{"trace": []string{"@file:eeper"}, "env": map[string]string{"KEEPER_PASSWORD": theSecret}}
				if keep {
					extra["keepSecrets"] = true
				}
				l := s.Launch(t, k.command, filepath.Dir(k.command), k.args, extra)
				st := s.WaitEnd(t, l.SessionID, time.Minute)
				if want := secretValues[lang]; keep && st.Redacted != 0 || !keep && st.Redacted < want {
					t.Errorf("keep %v: %d values were left out, want %d", keep, st.Redacted, want)
				}
				said := strings.Contains(s.Query(t, l.SessionID, map[string]any{"view": "summary"}).Text,
					fmt.Sprintf("%d values left out as secrets", st.Redacted))
				if said == keep {
					t.Errorf("keep %v: the summary says that values were left out: %v", keep, said)
				}
				tree := s.Query(t, l.SessionID, map[string]any{"view": "tree", "maxTokens": 20000}).Tree
				if !keep && !strings.Contains(tree, "password=<redacted>") {
					t.Errorf("login's password does not read as redacted:\n%s", tree)
				}
				s.Call(t, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID, "retain": true}, nil)
				s.StopDaemon(t)
				secret, neighbour := holders(t, s.Home, theSecret), holders(t, s.Home, theNeighbour)
				if found := len(secret) > 0; found != keep {
					t.Errorf("keep %v: the secret is in %v", keep, secret)
				}
				if len(neighbour) == 0 {
					t.Errorf("keep %v: the neighbour is nowhere", keep)
				}
			}
		})
	}
}

// holders lists the files below a folder that hold a text: in their bytes, or what a session's blocks are when decoded.
func holders(t *testing.T, home, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(text)) {
			found = append(found, path)
		}
		if strings.HasPrefix(path, filepath.Join(home, "sessions")) && strings.HasSuffix(path, ".db") && eventHolds(t, path, text) {
			found = append(found, path+", decoded")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// eventHolds reports whether an event of a session holds a text.
func eventHolds(t *testing.T, path, text string) (found bool) {
	t.Helper()
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	err = sn.Scan(t.Context(), store.Filter{}, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		found = found || bytes.Contains(r.Payload, []byte(text))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
