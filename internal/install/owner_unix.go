//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// sameOwner gives a file the owner of the one that it replaces, where that is allowed.
func sameOwner(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // a user may write a file of another and not give it away
	}
}
