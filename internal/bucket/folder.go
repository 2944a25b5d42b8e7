package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
)

// folder is a bucket of files. What is on its way there has a name that begins with a dot.
type folder struct{ root string }

// partPrefix is of files that are not whole yet.
const partPrefix = ".strobe-part-"

func openFolder(dir string) (Bucket, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder: %w", err)
	}
	return &folder{dir}, nil
}

func (f *folder) Where() string { return f.root }

func (f *folder) path(key string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(key)) {
		return "", fault.New(fault.ValidationError, "", "key %q leads out of the folder", key)
	}
	return filepath.Join(f.root, filepath.FromSlash(key)), nil
}

func (f *folder) Put(ctx context.Context, key, file string) (made bool, err error) {
	to, err := f.path(key)
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(to); err == nil {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, f.refused(err)
	}
	part, err := os.CreateTemp(filepath.Dir(to), partPrefix)
	if err != nil {
		return false, f.refused(err)
	}
	defer func() { err = errors.Join(err, os.Remove(part.Name())) }()
	if err := copyInto(ctx, part, file); err != nil {
		return false, f.refused(err)
	}
	// A link fails where the name is taken, unlike a rename.
	switch err := os.Link(part.Name(), to); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, f.refused(err)
	}
	return true, nil
}

func copyInto(ctx context.Context, to *os.File, file string) (err error) {
	defer func() { err = errors.Join(err, to.Close()) }()
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := io.Copy(to, readerOf(ctx, from)); err != nil {
		return err
	}
	return errors.Join(to.Chmod(0o644), to.Sync())
}

// readerOf ends with ctx.
func readerOf(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// refused says what a user can do about an error of the file system.
func (f *folder) refused(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "Give a folder that you may write.", "write to %s: %w", f.root, err)
	case errors.Is(err, syscall.ENOSPC):
		return fault.New(fault.StorageFull, "Free disk space there.", "write to %s: %w", f.root, err)
	}
	return fmt.Errorf("write to %s: %w", f.root, err)
}

func (f *folder) Get(ctx context.Context, key string, w io.Writer) error {
	from, err := f.path(key)
	if err != nil {
		return err
	}
	r, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	defer r.Close()
	if _, err := io.Copy(w, readerOf(ctx, r)); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}

func (f *folder) List(_ context.Context, prefix string) (keys []string, err error) {
	dir := filepath.Join(f.root, filepath.FromSlash(path.Dir(prefix+"x")))
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), partPrefix) {
			return err
		}
		rel, err := filepath.Rel(f.root, p)
		if key := filepath.ToSlash(rel); strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.root, err)
	}
	slices.Sort(keys)
	return keys, nil
}
