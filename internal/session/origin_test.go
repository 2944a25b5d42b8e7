package session

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

func TestOrigin(t *testing.T) {
	m := store.Meta{Command: "/usr/bin/shop", Cwd: t.TempDir()}
	origin(&m, &settings.Settings{})
	if m.Service != "shop" || m.Commit != "" || m.Host == "" || m.BootID == "" {
		t.Errorf("origin %+v", m)
	}
	origin(&m, &settings.Settings{Service: "till"})
	if m.Service != "till" {
		t.Errorf("service %q, want the setting's", m.Service)
	}
}
