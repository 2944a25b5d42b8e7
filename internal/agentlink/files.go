package agentlink

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/strobe-debug/strobe/internal/packed"
)

// Files puts an agent's files where an interpreter can load them: in a folder named by their contents, so that what the
// interpreter makes of them beside it is there the next time. Safe for concurrent use.
type Files struct {
	packed []byte
	to     string

	mu  sync.Mutex
	dir string
}

// NewFiles is of files that packed.Pack packed; they go below to.
func NewFiles(agent []byte, to string) *Files { return &Files{packed: agent, to: to} }

// Dir returns the folder, with every file in it.
func (f *Files) Dir() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir != "" {
		if _, err := os.Stat(f.dir); err == nil {
			return f.dir, nil
		}
	}
	contents, err := packed.Unpack(f.packed)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(f.packed)
	dir := filepath.Join(f.to, hex.EncodeToString(sum[:8]))
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
