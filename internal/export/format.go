package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// Format is one form that a session is written in. It has one of stream, file and folder.
type Format struct {
	Name      string
	Extension string // of its files, with the dot
	About     string // what it is and what opens it, in half a line
	stream    func(ctx context.Context, s *session, w *bufio.Writer) error
	file      func(ctx context.Context, s *session, path string) error // makes path, which does not exist
	folder    func(ctx context.Context, s *session, dir string) error  // fills dir, which is empty
}

// Formats are all forms, the first one is the default. A new one is a file of its own and a line here.
var Formats = []*Format{chrome, perfetto, speedscope, otlp, sqlite, tables, file}

// Find returns the form of that name. Error: VALIDATION_ERROR, with the names that there are.
func Find(name string) (*Format, error) {
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fault.New(fault.ValidationError, "Use one of "+strings.Join(Names(), ", ")+".", "no export format %q",
		name)
}

// Names are the names of all forms.
func Names() []string {
	var names []string
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// Write writes what st holds to w. Error: VALIDATION_ERROR for a form that needs a file.
func (f *Format) Write(ctx context.Context, st *store.Store, w io.Writer) (*Report, error) {
	return f.write(ctx, st, w, "")
}

// write is Write with the folder for what has no room in memory; "": the system's.
func (f *Format) write(ctx context.Context, st *store.Store, w io.Writer, scratch string) (*Report, error) {
	if f.folder != nil {
		return nil, fault.New(fault.ValidationError, "Name a folder with -o FOLDER.",
			"format %s is a folder of tables, not a stream", f.Name)
	}
	if f.stream == nil {
		return nil, fault.New(fault.ValidationError, "Name a file with -o FILE"+f.Extension+".",
			"format %s is written into a file, not into a stream", f.Name)
	}
	return f.run(ctx, st, func(s *session) error {
		s.scratch = scratch
		out := bufio.NewWriterSize(w, 256<<10)
		if err := f.stream(ctx, s, out); err != nil {
			_ = out.Flush() // what there is may be a whole document; the error that counts is the first
			return err
		}
		return out.Flush()
	})
}

// WriteFile writes what st holds into a new file, which takes the place of what path was when it is complete: an export
// that fails leaves that as it was. What is no regular file, such as a named pipe, is written to as it is. The file is
// its owner's alone, since arguments and output may be secret.
func (f *Format) WriteFile(ctx context.Context, st *store.Store, path string) (r *Report, err error) {
	switch info, err := os.Stat(path); {
	case f.folder != nil && err == nil:
		if err := ownFolder(path, info); err != nil {
			return nil, err
		}
	case err == nil && info.IsDir():
		return nil, fault.New(fault.ValidationError, "Name a file in it.", "%s is a directory", path)
	case err == nil && st.IsFile(info):
		return nil, fault.New(fault.ValidationError, "Give another file with -o.", "%s is the session itself", path)
	case err == nil && !info.Mode().IsRegular():
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("write export: %w", err)
		}
		defer func() { _ = w.Close() }() // what counts is flushed, and was told
		return f.Write(ctx, st, w)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".strobe-export-")
	if err != nil {
		return nil, fmt.Errorf("write export beside %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	part := filepath.Join(dir, "part")
	if f.folder != nil {
		return f.writeFolder(ctx, st, part, path)
	} else if f.file != nil {
		r, err = f.run(ctx, st, func(s *session) error { return f.file(ctx, s, part) })
	} else {
		r, err = f.writePart(ctx, st, part)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(part, 0o600), os.Rename(part, path)); err != nil {
		return nil, fmt.Errorf("put export in its place: %w", err)
	}
	return r, nil
}

// writeFolder fills part, and puts it where path is.
func (f *Format) writeFolder(ctx context.Context, st *store.Store, part, path string) (*Report, error) {
	if err := os.Mkdir(part, 0o700); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	r, err := f.run(ctx, st, func(s *session) error { return f.folder(ctx, s, part) })
	if err != nil {
		return nil, err
	}
	err = os.Rename(path, part+".old") // goes with the folder around it
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, os.Rename(part, path)); err != nil {
		return nil, fmt.Errorf("put export in its place: %w", err)
	}
	return r, nil
}

// ownFolder reports an error unless path is a folder that holds nothing but tables of an earlier export.
func ownFolder(path string, info os.FileInfo) error {
	if !info.IsDir() {
		return fault.New(fault.ValidationError, "Name a folder with -o.", "%s is a file", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, err)
	}
	for _, e := range entries {
		if !slices.Contains(Tables, strings.TrimSuffix(e.Name(), ".parquet")) {
			return fault.New(fault.ValidationError, "Name a folder that is not there with -o.",
				"%s has %s in it, which is no table of an export", path, e.Name())
		}
	}
	return nil
}

func (f *Format) writePart(ctx context.Context, st *store.Store, part string) (*Report, error) {
	w, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	r, err := f.write(ctx, st, w, filepath.Dir(part))
	return r, errors.Join(err, w.Close())
}

func (f *Format) run(ctx context.Context, st *store.Store, write func(*session) error) (*Report, error) {
	s, err := read(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	defer s.close()
	s.report.Format = f.Name
	if err := write(s); errors.Is(err, syscall.ENOSPC) {
		return nil, fault.New(fault.StorageFull, "Free disk space, or name a file on another disk with -o.",
			"export session as %s: %w", f.Name, err)
	} else if err != nil {
		return nil, fmt.Errorf("export session as %s: %w", f.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("export session as %s: %w", f.Name, err)
	}
	return s.done(), nil
}
