package agentlink

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Files puts an agent's files where an interpreter can load them: in a folder named by their contents, so that what the
// interpreter makes of them beside it is there the next time. Safe for concurrent use.
type Files struct {
	from fs.FS
	root string
	to   string

	mu  sync.Mutex
	dir string
}

// NewFiles is of the files below root of an embedded file system; they go below to.
func NewFiles(from fs.FS, root, to string) *Files { return &Files{from: from, root: root, to: to} }

// Dir returns the folder, with every file in it.
func (f *Files) Dir() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir != "" {
		if _, err := os.Stat(f.dir); err == nil {
			return f.dir, nil
		}
	}
	contents := map[string][]byte{}
	sum := sha256.New()
	err := fs.WalkDir(f.from, f.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(f.from, name)
		if err != nil {
			return err
		}
		sum.Write([]byte(name))
		sum.Write(b)
		contents[name[len(f.root)+1:]] = b
		return nil
	})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(f.to, hex.EncodeToString(sum.Sum(nil)[:8]))
	for name, b := range contents {
		if err := put(filepath.Join(dir, filepath.FromSlash(path.Clean(name))), b); err != nil {
			return "", err
		}
	}
	f.dir = dir
	return dir, nil
}

// put writes a file whole or not at all; one that is there has these contents.
func put(name string, b []byte) error {
	if info, err := os.Stat(name); err == nil && info.Size() == int64(len(b)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".tmp-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
