package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of what is run.
const (
	buildLimit = 20 * time.Minute
	runLimit   = 20 * time.Second
)

// build makes the program as it came and with the bug, proves the bug, and returns the folder of the latter.
func (b *bug) build(work string) (seeded string, err error) {
	clean := filepath.Join(work, b.program.Name, "clean")
	if err := b.program.build(work, clean); err != nil {
		return "", err
	}
	seeded = filepath.Join(work, b.program.Name, b.Name)
	patch := b.input("bug.patch")
	text, err := os.ReadFile(patch)
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(work, b.program.Name, b.Name+".built")
	if have, err := os.ReadFile(stamp); err != nil || !bytes.Equal(have, text) {
		if err := os.RemoveAll(seeded); err != nil {
			return "", err
		}
		// Times are kept, so that only what the patch changes is built again.
		steps := append([]string{"patch -s -p1 < " + quote(patch)}, b.program.Build...)
		if err := shell(filepath.Dir(clean), "cp -a clean "+quote(b.Name)); err != nil {
			return "", err
		}
		if err := shell(seeded, steps...); err != nil {
			return "", err
		}
		if err := os.WriteFile(stamp, text, 0o644); err != nil {
			return "", err
		}
	}
	return seeded, b.prove(clean, seeded)
}

// prove compares what the program as it came and the changed one write.
func (b *bug) prove(clean, seeded string) error {
	for _, in := range []struct {
		name string
		same bool
	}{{b.Pass, true}, {b.Fail, false}} {
		want, err := b.output(clean, in.name)
		if err != nil {
			return err
		}
		got, err := b.output(seeded, in.name)
		if err != nil {
			return err
		}
		if (want == got) != in.same {
			return fmt.Errorf("input %s is no proof of the bug: it writes %.300q, and without the bug %.300q", in.name, got,
				want)
		}
	}
	return nil
}

// argv is the command for an input.
func (b *bug) argv(dir string) []string {
	out := []string{filepath.Join(dir, b.program.Command[0])}
	if !strings.Contains(b.program.Command[0], "/") && b.program.Registry == "pypi" {
		out[0] = b.program.Command[0]
		if real, err := exec.Command(out[0], "-c", "import sys; print(sys.executable)").Output(); err == nil {
			out[0] = strings.TrimSpace(string(real)) // it may be a script that looks for one
		}
	}
	for _, a := range append(append([]string{}, b.program.Command[1:]...), b.Args...) {
		out = append(out, strings.ReplaceAll(a, "{input}", filepath.Join(filepath.Dir(dir), "input")))
	}
	return out
}

// lay puts an input where both runs read it: a name that differs would be a difference.
func (b *bug) lay(dir, input string) error {
	text, err := os.ReadFile(b.input(input))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(dir), "input"), text, 0o644)
}

// output is what a run writes and how it ends.
func (b *bug) output(dir, input string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	if err := b.lay(dir, input); err != nil {
		return "", err
	}
	argv := b.argv(dir)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if b.program.Stdin {
		f, err := os.Open(b.input(input))
		if err != nil {
			return "", err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("run %s: %w", argv[0], err)
	}
	return strings.ReplaceAll(all.String(), dir, "") + cmd.ProcessState.String(), nil
}

// build fetches and builds a program as it came, once.
func (p *program) build(work, clean string) error {
	stamp := clean + ".built"
	want := p.Package + " " + p.Version + "\n" + strings.Join(p.Build, "\n")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return nil
	}
	if err := os.RemoveAll(clean); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(clean), 0o755); err != nil {
		return err
	}
	if err := p.fetch(work, clean); err != nil {
		return fmt.Errorf("fetch %s %s: %w", p.Package, p.Version, err)
	}
	if err := shell(clean, p.Build...); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

// fetch puts the source of a package where dir says, by the registry's ordinary client.
func (p *program) fetch(work, dir string) error {
	name := quote(p.Package)
	switch p.Registry {
	case "debian":
		// Lists of sources of its own, from the mirrors that this machine has for its packages.
		apt := filepath.Join(work, "apt")
		if err := os.MkdirAll(filepath.Join(apt, "lists", "partial"), 0o755); err != nil {
			return err
		}
		client := "apt-get -o Dir::Etc::sourcelist=" + quote(filepath.Join(apt, "src.sources")) +
			" -o Dir::Etc::sourceparts=- -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::State::lists=" +
			quote(filepath.Join(apt, "lists"))
		return shell(filepath.Dir(dir),
			"sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > "+
				quote(filepath.Join(apt, "src.sources")),
			"ls "+quote(filepath.Join(apt, "lists"))+"/*Sources >/dev/null 2>&1 || "+client+" -qq update",
			client+" -qq source --download-only "+name+"="+quote(p.Version),
			"dpkg-source --no-check -x "+name+"_*.dsc "+quote(dir)+" >/dev/null")
	case "crates.io":
		return shell(filepath.Dir(dir), "rm -rf get && cargo new --quiet --vcs none get",
			"cd get && cargo add --quiet "+name+"@="+quote(p.Version)+" && cargo fetch --quiet",
			`cp -a "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/`+name+"-"+quote(p.Version)+" "+quote(dir))
	case "go":
		return shell(filepath.Dir(dir), "go mod download "+name+"@"+quote(p.Version),
			`cp -r "$(go env GOMODCACHE)"/`+name+"@"+quote(p.Version)+" "+quote(dir), "chmod -R u+w "+quote(dir))
	case "local":
		return shell(filepath.Dir(dir), "cp -r "+quote(filepath.Join(p.dir, p.Package))+" "+quote(dir))
	case "pypi":
		return shell(filepath.Dir(dir), "python3 -m pip install --quiet --no-deps --no-compile --target "+quote(dir)+" "+
			name+"=="+quote(p.Version))
	}
	return fmt.Errorf("registry %q is none that is known", p.Registry)
}

// shell runs commands in a folder with the flags of a distribution's build without optimization.
func shell(dir string, commands ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", strings.Join(commands, "\n"))
	cmd.Dir = dir
	// Paths stay in the debug information: what was built as it came is the program's own source, too.
	cmd.Env = append(os.Environ(), "DEB_BUILD_OPTIONS=noopt nostrip", "DEB_BUILD_MAINT_OPTIONS=reproducible=-all")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", strings.Join(commands, "; "), dir, err, out[max(0, len(out)-2000):])
	}
	return nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
