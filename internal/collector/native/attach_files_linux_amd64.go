package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// file returns where a module's file can be read now. Of a program that was launched just now that is where it was. One
// that has run for a while may have been built anew since, or live in another mount namespace: then another file may be
// at that place.
func (p *process) file(l *loaded) (string, error) {
	name := strings.TrimSuffix(l.path, deletedMark)
	alive := livingThread(p.pid)
	inside := filepath.Join(fmt.Sprintf("/proc/%d/root", alive), name)
	if p.t.cmd.PID == 0 {
		if exe := fmt.Sprintf("/proc/%d/exe", alive); name != l.path {
			if at, err := os.Readlink(exe); err == nil && at == l.path {
				return exe, nil // what runs, and not what may be at its path by now
			}
		}
		if _, err := os.Stat(name); err != nil {
			return inside, nil
		}
		return name, nil
	}
	places := []string{name, inside}
	if name != l.path { // the number of a file that is gone may be another's by now
		places = nil
	}
	for _, path := range append(places, fmt.Sprintf("/proc/%d/exe", alive),
		fmt.Sprintf("/proc/%d/map_files/%x-%x", alive, l.first.lo, l.first.hi)) {
		if isFile(path, l.first.inode) && (path != name || sameFile(name, inside)) {
			return path, nil
		}
	}
	// The numbers of files in mappings differ from those of stat on some file systems (overlayfs, btrfs): believe the
	// name, if nothing says that the file was replaced.
	if name == l.path && !sameDevice(inside, l.first.dev) {
		if _, err := os.Stat(inside); err == nil {
			if sameFile(name, inside) {
				return name, nil
			}
			return inside, nil
		}
	}
	return "", fmt.Errorf("%s was replaced or deleted since process %d loaded it: start the program again to trace this "+
		"file's functions", name, p.pid)
}

func isFile(path string, inode uint64) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Ino == inode
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// sameDevice reports whether a file is on the device that a mapping names, major:minor in hexadecimal digits.
func sameDevice(path, dev string) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return false
	}
	return fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)) == dev
}
