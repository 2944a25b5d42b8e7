package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// record is what is remembered of a file that was written.
type record struct {
	Agent   string   `json:"agent"`
	Project string   `json:"project,omitempty"`
	SHA     string   `json:"sha256"` // of what was written
	Backup  string   `json:"backup,omitempty"`
	Created bool     `json:"created,omitempty"` // it was not there before
	Dirs    []string `json:"dirs,omitempty"`    // made for it
	Made    int      `json:"made,omitempty"`    // objects around the entry that were not there
}

type state struct {
	Files   map[string]*record `json:"files"`
	dir     string
	changed bool
	left    []string // directories that were made for files that are gone
}

func loadState(dir string) (*state, error) {
	st := &state{dir: dir, Files: map[string]*record{}}
	b, err := plainfile.ReadFile(st.file())
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err == nil {
		err = json.Unmarshal(b, st)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s, where the installed files are remembered: %w", st.file(), err)
	}
	if st.Files == nil {
		st.Files = map[string]*record{}
	}
	return st, nil
}

func (st *state) file() string { return filepath.Join(st.dir, "install.json") }

func (st *state) save(dryRun bool) error {
	if dryRun || !st.changed {
		return nil
	}
	b, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return err
	}
	_, old, err := read(st.file())
	if err != nil {
		return err
	}
	return replace(st.file(), old, append(b, '\n'))
}

// record returns what is remembered of a file, to be filled in; it counts once the file is written.
func (st *state) record(path string, p place, made int) *record {
	if rec := st.Files[path]; rec != nil {
		rec.Made += made
		return rec
	}
	return &record{Agent: p.agent.id, Project: p.project, Made: made}
}

func (st *state) forget(o Options, path string) {
	if _, ok := st.Files[path]; ok && !o.DryRun {
		delete(st.Files, path)
		st.changed = true
	}
}

func (st *state) projects() []string {
	var all []string
	for _, rec := range st.Files {
		if rec.Project != "" && !slices.Contains(all, rec.Project) {
			all = append(all, rec.Project)
		}
	}
	slices.Sort(all)
	return all
}

// keptBackups is how many backups of one file are kept.
const keptBackups = 5

// backup keeps a file's bytes. They may hold secrets: nobody else may read them.
func (st *state) backup(path string, src []byte) (string, error) {
	dir := filepath.Join(st.dir, "backups")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	prefix := sum([]byte(path))[:8] + "-" + filepath.Base(path) + "-"
	name := filepath.Join(dir, prefix+time.Now().UTC().Format("20060102T150405.000000"))
	if err := os.WriteFile(name, src, 0o600); err != nil {
		return "", fmt.Errorf("keep a backup of %s: %w", path, err)
	}
	old, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err == nil && len(old) > keptBackups {
		slices.Sort(old)
		for _, name := range old[:len(old)-keptBackups] {
			os.Remove(name)
		}
	}
	return name, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// maxConfigBytes bounds what is read of a configuration.
const maxConfigBytes = 64 << 20

// read returns a file's bytes, nil where it is not there, and the file that a link leads to.
func read(path string) (real string, b []byte, err error) {
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", nil, fmt.Errorf("%s is a link to what is not there", path)
		}
		return path, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if info, err := os.Stat(real); err == nil && info.Size() > maxConfigBytes {
		return "", nil, fmt.Errorf("%s has more than %d MB", path, maxConfigBytes>>20)
	}
	if b, err = plainfile.ReadFile(real); err == nil && b == nil {
		b = []byte{}
	}
	return real, b, err
}

// unchanged says whether a file still has the bytes that were read.
func unchanged(path string, old []byte) error {
	now, err := plainfile.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && old == nil:
		return nil
	case err != nil:
		return err
	case old == nil || !bytes.Equal(now, old):
		return fmt.Errorf("%s was changed by somebody else meanwhile and is left alone. Run it again", path)
	}
	return nil
}

// replace writes a whole file in one step: whoever reads it sees the old one or the new one. Mode and owner stay.
func replace(path string, old, src []byte) error {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(path)
	if err == nil {
		mode = info.Mode().Perm()
		if mode&0o200 == 0 {
			return fmt.Errorf("%s is read-only and is left alone", path)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".strobe-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // after the rename it is not there
	_, err = f.Write(src)
	if err == nil {
		err = f.Chmod(mode)
	}
	if info != nil {
		sameOwner(f, info)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = unchanged(path, old)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func removeFile(path string, old []byte) error {
	if err := unchanged(path, old); err != nil {
		return err
	}
	return os.Remove(path)
}

// makeDirs makes a directory and returns those that were not there, the outermost first.
func makeDirs(dir string) ([]string, error) {
	var missing []string
	for d := dir; !exists(d) && d != filepath.Dir(d); d = filepath.Dir(d) {
		missing = append([]string{d}, missing...)
	}
	return missing, os.MkdirAll(dir, 0o755)
}

// removeDirs takes directories away that were made for a file, if nothing else is in them.
func removeDirs(dirs []string) {
	sorting.By(dirs, func(a, b string) int { return len(b) - len(a) }) // the inner ones first
	for _, d := range dirs {
		_ = os.Remove(d) // one that has something in it stays
	}
}
