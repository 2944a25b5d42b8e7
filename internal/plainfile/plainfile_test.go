//go:build linux

package plainfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("text"), 0o600), syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink(at("pipe"), at("link")), os.Symlink(at("file"), at("good"))); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		at("file"): "", at("good"): "", at("pipe"): "a named pipe", at("link"): "a named pipe", at("socket"): "a socket",
		dir: "a directory", "/dev/zero": "a device", "/dev/stdin": "?",
		"/proc/self/maps": "made up by the kernel", at("none"): "no such file",
	} {
		f, err := OpenStored(path)
		if err == nil {
			f.Close()
		}
		if want != "?" && (err == nil) != (want == "") || err != nil && want != "?" && !strings.Contains(err.Error(), want) {
			t.Errorf("OpenStored(%s) = %v, want %q", path, err, want)
		}
	}
	if b, err := ReadFile(at("good")); string(b) != "text" || err != nil {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	var other *Error
	if _, err := fs.ReadFile(DirFS(dir), "link"); !errors.As(err, &other) {
		t.Errorf("a pipe in a folder: %v", err)
	}
	if b, err := fs.ReadFile(DirFS(dir), "file"); string(b) != "text" || err != nil {
		t.Errorf("a file in a folder: %q, %v", b, err)
	}
}
