package session

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/checkout"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

// origin fills in what tells a recording from those of other programs, machines and states of the code.
func origin(m *store.Meta, set *settings.Settings) {
	m.Service = cmp.Or(set.Service, filepath.Base(m.Command))
	m.Host, _ = os.Hostname() // not known is ""
	m.BootID = checkout.OneLine("/proc/sys/kernel/random/boot_id")
	if dir := cmp.Or(m.ProjectRoot, m.Cwd); dir != "" {
		m.Commit = checkout.Commit(dir)
	}
}
