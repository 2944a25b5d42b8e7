package symbol

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/sorting"
)

const (
	// maxCacheBytes bounds the folder of indexes: hundreds of large programs. Each build of a program has its own, and is
	// seldom asked for again.
	maxCacheBytes = 64 << 20
	// staleNew is how old a file is that nobody finishes any more: its writer has died.
	staleNew = time.Hour
)

// noteUse puts an index behind those that were not used as lately. A cache that cannot be written to is none that we
// prune.
func noteUse(path string) {
	now := time.Now()
	os.Chtimes(path, now, now) //nolint:errcheck
}

// pruneCache deletes the indexes that were used longest ago until the rest takes three quarters of limit, if all take
// more than that. Who reads one at this moment has it open.
func pruneCache(dir string, limit int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		size int64
		used time.Time
	}
	var files []file
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(e.Name(), ".new-") {
			if time.Since(info.ModTime()) > staleNew {
				os.Remove(filepath.Join(dir, e.Name()))
			}
			continue
		}
		files = append(files, file{e.Name(), info.Size(), info.ModTime()})
		total += info.Size()
	}
	if total <= limit {
		return
	}
	sorting.By(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, f := range files[:max(len(files)-1, 0)] { // the newest stays, however large
		if total <= limit/4*3 {
			return
		}
		if os.Remove(filepath.Join(dir, f.name)) == nil {
			total -= f.size
		}
	}
}
