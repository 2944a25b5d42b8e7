//go:build unix

package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// given makes a session's file as a colleague gives it away.
func given(t *testing.T, id string, started time.Time) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "given.db")
	st, err := store.Create(path, store.Meta{SessionID: id, Command: "/opt/app", StartedAt: started.UnixNano()},
		store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SetResult(store.Result{Status: "exited", EndedAt: started.UnixNano() + 1e9}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// An imported session has a free id, whatever it was called, is kept from the day on which it came, and is there for
// the next daemon.
func TestImport(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	path := given(t, "app-2020-01-01-10h00", time.Now().Add(-100*24*time.Hour))
	var ids []string
	for range 3 {
		i, err := f.Import(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if !i.Retained || i.Status != "exited" || i.Command != "/opt/app" {
			t.Errorf("%+v", i)
		}
		s, err := f.Get(ctx, i.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.st.Meta().SessionID; got != i.ID {
			t.Errorf("session %s says that it is %s", i.ID, got)
		}
		ids = append(ids, i.ID)
	}
	want := []string{"app-2020-01-01-10h00", "app-2020-01-01-10h00-2", "app-2020-01-01-10h00-3"}
	if !slices.Equal(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
	set, _ := f.cfg.Settings.Load("")
	if err := f.sweepNow(ctx, set, time.Now().Add(6*24*time.Hour)); err != nil ||
		f.kept() != strings.Join(want, " ") {
		t.Errorf("after six days: %q, %v", f.kept(), err)
	}
	left := filepath.Join(f.dir, "77"+importing)
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if _, err := f.Get(ctx, want[2]); err != nil {
		t.Errorf("for the next daemon: %v", err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what an import left is still there")
	}
	if err := f.sweepNow(ctx, set, time.Now().Add(8*24*time.Hour)); err != nil || f.kept() != "" {
		t.Errorf("after eight days: %q, %v", f.kept(), err)
	}
}

// Names that are none for a file, files that are none, imports side by side.
func TestImportOddly(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	i, err := f.Import(ctx, given(t, "../../etc/x y", time.Now()))
	if err != nil || filepath.Dir(i.Path) != f.dir || i.ID != "_.._etc_x_y" {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err = f.Import(ctx, given(t, "", time.Now())); err != nil || i.ID != "given" {
		t.Errorf("without an id: %+v, %v", i, err)
	}
	for _, path := range []string{"given.db", t.TempDir(), "/dev/zero", "/proc/self/maps", "/no/such.db"} {
		if _, err := f.Import(ctx, path); fault.CodeOf(err) != fault.ValidationError {
			t.Errorf("%s: %v", path, err)
		}
	}
	path := given(t, "side", time.Now())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.Import(ctx, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := f.List(ctx)
	if err != nil || len(list) != 10 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
	f.set(`{"storage.maxBytes": 1048576}`)
	big := filepath.Join(t.TempDir(), "big.db")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Import(ctx, big); fault.CodeOf(err) != fault.StorageFull {
		t.Errorf("more than is kept: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.dir, "*"+importing+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
