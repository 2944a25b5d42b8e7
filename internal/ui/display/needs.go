package display

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// need is a program that a display takes, and Debian's package that has it.
type need struct{ program, pkg string }

var needs = []need{{"Xvfb", "xvfb"}, {"dbus-daemon", "dbus"}, {"at-spi-bus-launcher", "at-spi2-core"}}

// beside are folders with programs that stand in no PATH.
var beside = []string{"/usr/libexec", "/usr/lib/at-spi2-core", "/usr/lib/at-spi2", "/usr/libexec/at-spi2"}

// find returns a program's path, "" where there is none.
func find(program string) string {
	if p, err := exec.LookPath(program); err == nil {
		return p
	}
	for _, dir := range beside {
		p := filepath.Join(dir, program)
		if info, err := os.Stat(p); err == nil && info.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// Missing says what has to be installed for a display; nil: nothing.
func Missing() error {
	if why := platformLacks(); why != nil {
		return why
	}
	var programs, packages []string
	for _, n := range needs {
		if find(n.program) == "" {
			programs, packages = append(programs, n.program), append(packages, n.pkg)
		}
	}
	if programs == nil {
		return nil
	}
	packages = append(packages, "openbox", "libatk-adaptor")
	return fault.New(fault.UINotAvailable, "Install them: apt-get install "+strings.Join(packages, " ")+
		" (openbox and libatk-adaptor are for windows and old GTK programs), or launch with display user.",
		"a display of its own needs %s", strings.Join(programs, ", "))
}
