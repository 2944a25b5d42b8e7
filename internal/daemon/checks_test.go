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
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"storage.retainDays": 3, "sampling.rate": 7}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := checkSettings(home)
	if r.Status != doctor.Warn || !strings.Contains(r.Detail, "sampling.rate = 7 is ignored") || r.Fix == "" {
		t.Errorf("with a wrong value: %+v", r)
	}
}

// TestCheckTypes names the descriptions that are in force: of the project, of the user, and those built in; and what of
// them is wrong.
func TestCheckTypes(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Chdir(project)
	r := checkTypes(home)
	if r.Status != doctor.OK || !strings.HasPrefix(r.Detail,
		"project: none; $STROBE_HOME/natvis: none; built in: absl, boost, ") {
		t.Errorf("without files: %+v", r)
	}
	const good = `<AutoVisualizer><Type Name="a"><DisplayString>x</DisplayString></Type></AutoVisualizer>`
	for name, text := range map[string]string{
		filepath.Join(project, "sub", "mine.natvis"):  good,
		filepath.Join(home, "natvis", "other.natvis"): good,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = checkTypes(home)
	if want := "project: sub/mine.natvis (1); $STROBE_HOME/natvis: other.natvis (1); built in: "; r.Status != doctor.OK ||
		!strings.HasPrefix(r.Detail, want) {
		t.Errorf("with two files: %+v, want %s", r, want)
	}
	if err := os.WriteFile(filepath.Join(project, "bad.natvis"), []byte("<AutoVisualizer><Unheard/></AutoVisualizer>"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if r = checkTypes(home); r.Status != doctor.Warn || !strings.Contains(r.Detail, "bad.natvis: not understood") ||
		r.Fix == "" {
		t.Errorf("with a wrong one: %+v", r)
	}
}
