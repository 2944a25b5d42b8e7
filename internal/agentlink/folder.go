package agentlink

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

const (
	folderName = collector.AgentFolder // and something random
	// folderYoung is the age up to which a folder without a socket may be one that is being made.
	folderYoung = time.Minute
)

// sweepFolders removes folders of links whose process was killed: nobody listens at their sockets any more. They are in
// memory, with all that was not read.
func sweepFolders(base string) {
	dirs, err := filepath.Glob(filepath.Join(base, folderName+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < folderYoung {
			continue
		}
		conn, err := net.Dial("unix", filepath.Join(dir, "control"))
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(dir) // of another user it fails, and stays
		}
	}
}
