package acceptance

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// upService writes that it is up, and to a file when it is asked to end.
const upService = `trap 'echo "$1" >> ended; exit 0' TERM
echo "$1 is up"
while :; do sleep 0.02; done
`

// TestUp: programs of a group come up in the order of what they need, their output has their names, an interrupt ends
// them in the reverse order, and what was recorded stays. Where one does not come up, the others are ended.
func TestUp(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("service.sh", upService)
	write("up.yaml", `services:
  apple: {command: sh, args: [service.sh, apple], depends: [pear, job], readyWhen: {output: apple is up}}
  pear: {command: sh, args: [service.sh, pear], readyWhen: {output: pear is up}}
  job: {command: sh, args: [-c, "echo done; echo $WHAT"], env: {WHAT: seeded}, readyWhen: {exits: true}, trace: []}
`)
	write("bad.yaml", `services:
  first: {command: sh, args: [service.sh, first], readyWhen: {output: first is up}}
  second: {command: sh, args: [-c, "echo no luck; exit 3"], depends: [first], readyWhen: {output: up}}
`)
	s := strobetest.Start(t, nil)
	cmd := exec.Command(s.Bin, "up", filepath.Join(dir, "up.yaml"))
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // the same pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := "\n"
	for lines := bufio.NewScanner(out); lines.Scan(); said += lines.Text() + "\n" {
		if strings.Contains(lines.Text(), "all are ready") {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("strobe up: %v: %s", err, said)
	}
	for _, want := range []string{"\npear  | pear is up\n", "\napple | apple is up\n", "\njob   | done\n",
		"\njob   | seeded\n", "strobe request "} {
		if !strings.Contains(said, want) {
			t.Errorf("output lacks %q: %s", want, said)
		}
	}
	ended := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "ended"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " ")
	}
	if got := ended(); got != "apple pear" {
		t.Errorf("ended %s, want apple pear", got)
	}
	refused(t, s, "debug_launch", args{"group": "bad.yaml", "projectRoot": dir}, "LAUNCH_FAILED")
	if got := ended(); got != "apple pear first" {
		t.Errorf("ended %s, want apple pear first", got)
	}
	refused(t, s, "debug_launch", args{"group": "none.yaml", "projectRoot": dir}, "VALIDATION_ERROR")
	refused(t, s, "debug_launch", args{"group": "up.yaml", "command": "sh", "projectRoot": dir}, "VALIDATION_ERROR")
}
