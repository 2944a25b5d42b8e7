package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/doctor"
)

func TestCheckSettings(t *testing.T) {
	home := t.TempDir()
	t.Chdir(t.TempDir())
	if r := checkSettings(home); r.Status != doctor.OK || !strings.Contains(r.Detail, "each for 7 days") {
		t.Errorf("without a file: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"storage.retainDays": 3, "sampling.rate": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := checkSettings(home)
	if r.Status != doctor.Warn || !strings.Contains(r.Detail, "sampling.rate = 7 is ignored") || r.Fix == "" {
		t.Errorf("with a wrong value: %+v", r)
	}
}
