package daemon

import (
	"runtime/debug"
	"sync"
)

// linkedVersion is set by the linker for releases.
var linkedVersion string

// Version returns this build's version: the linked one, the module's, or dev with the commit.
var Version = sync.OnceValue(func() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
})
