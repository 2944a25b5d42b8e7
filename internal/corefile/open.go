package corefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// maxUnpacked bounds what a compressed core may become. Zeros, of which cores are full, take no space.
const maxUnpacked = 16 << 30

// openFile opens a core, and unpacks it into a file without a name if it is compressed.
func (x *Files) openFile(path string) (*os.File, int64, error) {
	f, err := plainfile.OpenStored(path)
	var other *plainfile.Error
	switch {
	case errors.As(err, &other):
		return nil, 0, fault.New(fault.LaunchFailed, "Give the core file itself.", "core: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fault.New(fault.LaunchFailed,
			"Check the path. `coredumpctl dump -o core PID` fetches one that systemd keeps; ulimit -c unlimited before the "+
				"run lets the kernel write one.",
			"core %s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, 0, fault.New(fault.PermissionDenied, "Make it readable for this user (chmod, or a copy).", "core: %w",
			err)
	case err != nil:
		return nil, 0, fault.New(fault.LaunchFailed, "Check the path.", "core: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	unpacked, err := x.unpack(f, path)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if unpacked == nil {
		return f, info.Size(), nil
	}
	err = f.Close()
	size, err2 := unpacked.Seek(0, io.SeekEnd)
	if err = errors.Join(err, err2); err != nil {
		return nil, 0, errors.Join(err, unpacked.Close())
	}
	return unpacked, size, nil
}

// unpack returns the contents of a compressed file, nil for one that is not compressed.
func (x *Files) unpack(f *os.File, path string) (*os.File, error) {
	var magic [6]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.LaunchFailed, "Check the disk.", "read core: %w", err)
	}
	var from io.Reader
	switch {
	case bytes.HasPrefix(magic[:n], []byte("\x28\xb5\x2f\xfd")):
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, unpackFault(path, err)
		}
		defer d.Close()
		from = d
	case bytes.HasPrefix(magic[:n], []byte("\x1f\x8b")):
		if from, err = gzip.NewReader(f); err != nil {
			return nil, unpackFault(path, err)
		}
	case bytes.HasPrefix(magic[:n], []byte("\x04\x22\x4d\x18")):
		return nil, packed(path, "lz4", "lz4 -d")
	case bytes.HasPrefix(magic[:n], []byte("\xfd7zXZ")):
		return nil, packed(path, "xz", "xz -dk")
	case bytes.HasPrefix(magic[:n], []byte("BZh")):
		return nil, packed(path, "bzip2", "bzip2 -dk")
	default:
		return nil, nil
	}
	out, err := os.CreateTemp(x.tempDir, "core-*")
	if err != nil {
		return nil, fmt.Errorf("make a file for the unpacked core: %w", err)
	}
	err = os.Remove(out.Name()) // what has no name is gone when it is closed
	if err == nil {
		err = sparseCopy(out, from)
	}
	if err != nil {
		return nil, errors.Join(unpackFault(path, err), out.Close())
	}
	return out, nil
}

func packed(path, how, with string) error {
	return fault.New(fault.Unsupported, fmt.Sprintf("Run `%s %s` and give what it writes.", with, path),
		"the core is compressed with %s", how)
}

func unpackFault(path string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New(fault.LaunchFailed, "Unpack it by hand to see what is wrong with it: `zstd -d` or `gunzip`.",
		"unpack core %s: %w", path, err)
}

// sparseCopy writes what is not zero.
func sparseCopy(out *os.File, from io.Reader) error {
	b, zeros := make([]byte, 256<<10), make([]byte, 256<<10)
	var at int64
	for {
		n, err := io.ReadFull(from, b)
		if at+int64(n) > maxUnpacked {
			return fault.New(fault.Unsupported, "Unpack it by hand and give the unpacked file.",
				"the core has over %d GB unpacked", int64(maxUnpacked)>>30)
		}
		if !bytes.Equal(b[:n], zeros[:n]) {
			if _, err := out.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && atEnd(from):
			return out.Truncate(at)
		case err != nil:
			return err
		}
	}
}

// atEnd tells a short last block from compressed data that are cut off.
func atEnd(from io.Reader) bool {
	var one [1]byte
	_, err := from.Read(one[:])
	return errors.Is(err, io.EOF)
}

// absolute makes the core's path one that holds wherever the daemon stands.
func absolute(path, base string) string {
	if strings.HasPrefix(path, "/") || base == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
