package iochan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// listeners returns the TCP sockets that processes listen on, as the kernel tells of each one's network.
func listeners(pids []int) (all []listener) {
	tables := map[string]map[string]listener{} // by network namespace
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d", pid)
		space, err := os.Readlink(dir + "/ns/net")
		if err != nil {
			continue // it has ended, or is not ours to see
		}
		if tables[space] == nil {
			tables[space] = map[string]listener{}
			for _, name := range []string{"/net/tcp", "/net/tcp6"} {
				if b, err := os.ReadFile(dir + name); err == nil {
					parseListeners(string(b), tables[space])
				}
			}
		}
		files, err := os.ReadDir(dir + "/fd")
		if err != nil {
			continue
		}
		for _, f := range files {
			to, err := os.Readlink(filepath.Join(dir, "fd", f.Name()))
			if err != nil {
				continue
			}
			inode, ok := strings.CutPrefix(strings.TrimSuffix(to, "]"), "socket:[")
			if l, listens := tables[space][inode]; ok && listens {
				all = append(all, l)
			}
		}
	}
	return all
}
