//go:build linux

package session

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestFullDiskKeepsSessionsOpen: an ended session that the disk does not take is not closed, neither for others nor
// because nobody asks for it, and is whole once there is room.
func TestFullDiskKeepsSessionsOpen(t *testing.T) {
	strobetest.NeedRoot(t)
	home := t.TempDir()
	if err := syscall.Mount("strobe-test", home, "tmpfs", 0, "mode=0700,size=8m"); err != nil {
		strobetest.Lack(t, "this machine lets nobody mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) })
	f := &fixture{t: t, rt: &plainRuntime{}, home: home, root: t.TempDir()}
	f.reopen()
	defer func() {
		if err := f.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	f.mu.Lock()
	f.idleAfter = time.Millisecond
	f.mu.Unlock()
	go1 := filepath.Join(f.root, "go")
	if err := syscall.Mkfifo(go1, 0o600); err != nil {
		t.Fatal(err)
	}
	s := f.sh("read x <" + go1 + "; head -c 300000 /dev/zero | tr '\\0' x; echo held")
	filler, err := os.Create(filepath.Join(home, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err := filler.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if err := os.WriteFile(go1, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end", s.Ended)
	if f.Leave() {
		t.Error("a session that cannot be saved was given up")
	}
	f.closeIdle()
	f.mu.Lock()
	open := f.sessions[s.ID] == s
	f.mu.Unlock()
	if !open {
		t.Fatal("it was closed")
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	filler.Close()
	eventually(t, "it to be given up", f.Leave)
	again, err := f.Get(context.Background(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, again, event.Stdout); len(got) != 300_005 || got[300_000:] != "held\n" {
		t.Errorf("%d bytes of output are left, of 300,005", len(got))
	}
}
