package stuck

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/goroutine"
)

// Of a version of Go that is not known, a small program is built once with the toolchain of the tests: its debug
// information has what test programs lack. That takes some seconds, which no look at a test waits for.

// Layouts are the layouts that were measured, by version. Safe for concurrent use.
type Layouts struct {
	Home string // they are kept below it
	// Begin runs what takes a while, and whose end its owner waits for.
	Begin func(func(ctx context.Context))

	mu   sync.Mutex
	have map[string]*goroutine.Layout // nil: it is being measured
	lack map[string]error
}

// buildMost is how long the small program may take to be built, with the whole runtime.
const buildMost = 5 * time.Minute

// Source gives the layouts of versions that are not in goroutine's table, measured with the go command that lookPath
// finds. An error is told until one is measured, and where it cannot be.
func (l *Layouts) Source(lookPath func(string) (string, error), env []string) goroutine.Source {
	env = slices.Clip(env)
	return func(version string) (*goroutine.Layout, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.have == nil {
			l.have, l.lack = map[string]*goroutine.Layout{}, map[string]error{}
		}
		if err := l.lack[version]; err != nil {
			return nil, err
		}
		if have, ok := l.have[version]; ok {
			if have == nil {
				return nil, errors.New("its structures are being measured")
			}
			return have, nil
		}
		l.have[version] = nil
		l.Begin(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, buildMost)
			defer cancel()
			have, err := measureGo(ctx, l.Home, version, lookPath, env)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.have[version], l.lack[version] = have, err
		})
		return nil, errors.New("its structures are being measured")
	}
}

// measureGo builds a program with the toolchain of a version and reads its layout, which is kept below home.
func measureGo(ctx context.Context, home, version string, lookPath func(string) (string, error),
	env []string) (*goroutine.Layout, error) {
	file := filepath.Join(home, "go-layouts", strings.Map(func(c rune) rune {
		if c == '/' || c == ' ' {
			return '_'
		}
		return c
	}, version)+".json")
	if b, err := os.ReadFile(file); err == nil {
		l := &goroutine.Layout{}
		if json.Unmarshal(b, l) == nil && l.GID != 0 {
			return l, nil
		}
	}
	goCommand, err := lookPath("go")
	if err != nil {
		return nil, fmt.Errorf("no toolchain measures its structures: %w", err)
	}
	dir, err := os.MkdirTemp("", "strobe-go-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "program")
	err = errors.Join(os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module program\n"), 0o600))
	if err != nil {
		return nil, err
	}
	release, experiments, _ := strings.Cut(version, " X:")
	cmd := exec.CommandContext(ctx, goCommand, "build", "-o", path, ".")
	cmd.Dir = dir
	cmd.Env = append(env, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOEXPERIMENT="+
		experiments)
	if strings.HasPrefix(release, "go") {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+release) // the tests' own is there already
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build a program that has its structures: %w: %s", err, cut(string(bytes.TrimSpace(out)), 200))
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the program that has its structures: %w", err)
	}
	if info.GoVersion != version {
		return nil, fmt.Errorf("the toolchain at hand is %s", info.GoVersion)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the program that has its structures: %w", err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		return nil, fmt.Errorf("read the program that has its structures: %w", err)
	}
	l, err := goroutine.LayoutOf(d)
	if err != nil {
		return nil, err
	}
	if b, err := json.Marshal(l); err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		os.WriteFile(file, b, 0o600) //nolint:errcheck // it is measured again
	}
	return l, nil
}

// cut shortens text and says by how much.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s…(+%d bytes)", strings.ToValidUTF8(s[:limit], ""), len(s)-limit)
}
