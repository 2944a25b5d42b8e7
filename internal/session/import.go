package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/store"
)

const (
	// importing ends the name of a file that is not yet a session. A daemon that begins takes such ones away.
	importing = ".importing"
	// maxImportName is for an id that comes with a file: long enough for ours with a number.
	maxImportName = 100
)

// Import takes in a session file that was recorded elsewhere, as a retained session: a checked copy, under its own id
// if that is free, else with a number behind it. The file itself stays as it is. Errors: VALIDATION_ERROR for what is
// no session or is damaged, UNSUPPORTED for one of a newer strobe, STORAGE_FULL.
func (m *Manager) Import(ctx context.Context, path string) (_ Info, err error) {
	if !filepath.IsAbs(path) {
		return Info{}, fault.New(fault.ValidationError, "Give the file's absolute path.", "path %q is not absolute", path)
	}
	if err := m.checkImport(path); err != nil {
		return Info{}, err
	}
	if err := m.makeRoom(ctx); err != nil {
		return Info{}, err
	}
	f, err := os.CreateTemp(m.dir, "*"+importing)
	if err != nil {
		return Info{}, fmt.Errorf("make file for an import: %w", err)
	}
	part := f.Name()
	f.Close()
	defer func() { err = errors.Join(err, store.RemoveFile(part)) }()
	if err := store.Import(ctx, path, part); err != nil {
		return Info{}, err
	}
	st, err := store.Open(part)
	if err != nil {
		return Info{}, err
	}
	name := st.Meta().SessionID
	if err := st.Close(); err != nil {
		return Info{}, fmt.Errorf("read what is imported: %w", err)
	}
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), ".db")
	}
	id, err := m.reserveNamed(ctx, fileName(name, maxImportName), math.MaxInt)
	if err != nil {
		return Info{}, err
	}
	defer m.settled(id)
	if err := store.SetSessionID(ctx, part, id); err != nil {
		return Info{}, err
	}
	return m.takeIn(ctx, id, part)
}

// checkImport refuses what is no file, or more than is kept at all.
func (m *Manager) checkImport(path string) error {
	f, err := plainfile.OpenStored(path)
	if err != nil {
		return fault.New(fault.ValidationError, "Give the path of a session's file, as strobe export --format session "+
			"writes it.", "open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if set, _ := m.cfg.Settings.Load(""); info.Size() > set.StorageMaxBytes {
		return fault.New(fault.StorageFull, "Raise storage.maxBytes in settings.json.",
			"%s has %d bytes, and all sessions together may take %d", path, info.Size(), set.StorageMaxBytes)
	}
	return nil
}

// takeIn puts a checked file in its place and lists it.
func (m *Manager) takeIn(ctx context.Context, id, part string) (Info, error) {
	path := m.path(id)
	own, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // whoever else has that name keeps it
	if err != nil {
		return Info{}, fmt.Errorf("make file of session %s: %w", id, err)
	}
	if err := errors.Join(own.Close(), os.Chmod(part, 0o600), os.Rename(part, path)); err != nil {
		return Info{}, errors.Join(fmt.Errorf("make file of session %s: %w", id, err), store.RemoveFile(path))
	}
	info, err := m.inspect(id)
	if err == nil {
		info.Retained, info.ImportedAt = true, time.Now().UnixNano()
		err = m.index.Register(ctx, info)
	}
	if err != nil {
		return Info{}, errors.Join(fmt.Errorf("list session %s: %w", id, err), store.RemoveFile(path))
	}
	m.log.Info("session was imported", "session", id, "events", info.EventCount)
	m.lookSoon()
	return info, nil
}

// dropImports removes what imports that were cut off have left.
func (m *Manager) dropImports(entries []os.DirEntry) {
	for _, e := range entries {
		if name, _, ok := strings.Cut(e.Name(), importing); ok {
			if err := store.RemoveFile(filepath.Join(m.dir, name+importing)); err != nil {
				m.log.Warn("remove what an import left", "file", e.Name(), "err", err)
			}
		}
	}
}
