package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// recorded is a store with n calls that is still open.
func recorded(t *testing.T, n int) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "s.db"), Meta{SessionID: "app-1", Command: "/bin/app"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f, th := s.Function(event.Function{Name: "f"}), s.Thread(event.Thread{PID: 1, TID: 1})
	var batch []event.Event
	for i := range int64(n) {
		batch = append(batch, event.Event{TS: 2 * i, Kind: event.FunctionEnter, Func: f, Thread: th},
			event.Event{TS: 2*i + 1, Kind: event.FunctionExit, Func: f, Thread: th},
			event.Event{TS: 2*i + 1, Kind: event.Stdout, Thread: th, Payload: []byte("line\n")})
	}
	if err := s.Put(batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestImport: a copy of a session that is being written is whole, and what comes back has a name of its own.
func TestImport(t *testing.T) {
	s := recorded(t, 20_000)
	dir := t.TempDir()
	given, taken := filepath.Join(dir, "given.db"), filepath.Join(dir, "taken.db")
	if err := s.Copy(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(given)
	if err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), given, taken); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(given); string(after) != string(before) {
		t.Error("the file that was given has changed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("files: %v", left)
	}
	if err := SetSessionID(t.Context(), taken, "app-1-2"); err != nil {
		t.Fatal(err)
	}
	got, err := Open(taken)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if m := got.Meta(); m.SessionID != "app-1-2" || m.Command != "/bin/app" {
		t.Errorf("meta %+v", m)
	}
	if got, want := got.Stats().Events, s.Stats().Events; got != want {
		t.Errorf("%v events, want %v", got, want)
	}
	if err := Import(t.Context(), given, taken); err == nil {
		t.Error("an import went over a file")
	}
	if _, err := os.Stat(taken); err != nil {
		t.Error("an import that was refused took a file away")
	}
}

// TestImportRefuses: nothing but an intact session is taken in, and nothing is left of the others.
func TestImportRefuses(t *testing.T) {
	s := recorded(t, 20_000)
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	if err := s.Copy(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(stmts ...string) func(string) {
		return func(path string) {
			db, err := openSQL(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, stmt := range stmts {
				if _, err := db.ExecContext(context.Background(), stmt); err != nil {
					t.Fatalf("%s: %v", stmt, err)
				}
			}
		}
	}
	bytes := func(edit func(b []byte) []byte) func(string) {
		return func(path string) {
			if err := os.WriteFile(path, edit(append([]byte{}, data...)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		make func(string)
		code fault.Code
		says string
	}{
		"no database":     {bytes(func([]byte) []byte { return []byte("hello, this is some text and no database") }), fault.ValidationError, "strobe"},
		"empty":           {bytes(func([]byte) []byte { return nil }), fault.ValidationError, "no session"},
		"cut off":         {bytes(func(b []byte) []byte { return b[:len(b)/2] }), fault.ValidationError, ""},
		"another's":       {changed("PRAGMA application_id=7"), fault.ValidationError, "not of the kind"},
		"newer":           {changed("PRAGMA user_version=99"), fault.Unsupported, "schema 99"},
		"a trigger":       {changed("CREATE TRIGGER x AFTER UPDATE ON meta BEGIN DELETE FROM meta; END"), fault.ValidationError, "trigger x"},
		"a view":          {changed("DROP TABLE tail", "CREATE VIEW tail AS SELECT 1 id, 2 header, 3 hot, 4 cold"), fault.ValidationError, "view tail"},
		"a table is gone": {changed("DROP TABLE tail"), fault.ValidationError, "tables"},
		"events are gone": {changed("DELETE FROM chunk_cold"), fault.ValidationError, ""},
		"outputs changed": {changed("DELETE FROM outputs WHERE seq % 2 = 0"), fault.ValidationError, "outputs"},
		"blocks damaged":  {changed("UPDATE chunk_hot SET data=zeroblob(length(data))"), fault.ValidationError, "problem"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, to := filepath.Join(dir, "given.db"), filepath.Join(dir, "to")
			bytes(func(b []byte) []byte { return b })(path)
			c.make(path)
			err := Import(t.Context(), path, to)
			if fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Import = %v, want %s that says %q", err, c.code, c.says)
			}
			if _, err := os.Stat(to); !os.IsNotExist(err) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
}
