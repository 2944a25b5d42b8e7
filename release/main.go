// Command release makes what is given to users: static binaries, archives of them with manual pages and completion,
// Debian packages, npm packages that npx runs, the extension for Visual Studio Code, lists of what they are made of,
// and checksums.
//
// It stands outside the data path; `make release` runs it. Invariant: the same commit gives the same bytes, wherever
// and whenever it is built, by the same version of Go. Nothing is published.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is one making of everything.
type release struct {
	root, out string
	version   string    // as 1.2.3, or 0.0.0-20260102030405-0123456789ab between releases
	at        time.Time // of all files
	arches    []string  // as Go calls them
	gcflags   string    // of go build, separated by spaces
	ldflags   string
	xz        string // how hard dpkg-deb compresses

	man, completion map[string][]byte // by file name
	files           []string          // of the checksums
}

func main() {
	r := release{xz: "-z6"}
	only := flag.Bool("vsix", false, "make the extension alone")
	arches := flag.String("arches", "amd64,arm64", "architectures of Linux to build for")
	flag.StringVar(&r.out, "out", "out/release", "folder to fill, which must not exist")
	flag.StringVar(&r.version, "version", os.Getenv("VERSION"), "version (default: the tag, or the commit and its time)")
	flag.StringVar(&r.gcflags, "gcflags", "", "flags of go build for the compiler, -gcflags=PACKAGES=FLAGS each")
	flag.StringVar(&r.ldflags, "ldflags", "-s -w", "for the linker")
	flag.Parse()
	r.root, r.arches = ".", strings.Split(*arches, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := r.run
	if *only {
		run = r.extension
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(ctx context.Context) error {
	if err := r.when(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(r.out); err == nil {
		return fmt.Errorf("%s exists: a release fills a new folder", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "strobe-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	binaries := map[string][]byte{}
	for _, arch := range r.arches {
		path := filepath.Join(scratch, "strobe-"+arch)
		if err := r.build(ctx, arch, path); err != nil {
			return err
		}
		if binaries[arch], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	if err := r.texts(ctx, scratch); err != nil {
		return err
	}
	for _, arch := range r.arches {
		path := filepath.Join(scratch, "strobe-"+arch)
		err := errors.Join(r.archive(arch, binaries[arch]), r.debian(ctx, arch, binaries[arch], scratch),
			r.npmBinary(arch, binaries[arch]), r.materials(arch, path, binaries[arch]))
		if err != nil {
			return err
		}
	}
	if err := errors.Join(r.npmWrapper(), r.vsix()); err != nil {
		return err
	}
	return r.checksums()
}

// when finds out version and time from git, where they are not given.
func (r *release) when(ctx context.Context) error {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		said, err := output(ctx, r.root, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return fmt.Errorf("ask git when the commit was made (or set SOURCE_DATE_EPOCH): %w", err)
		}
		epoch = strings.TrimSpace(said)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.at = time.Unix(seconds, 0).UTC()
	if r.version == "" {
		tag, err := output(ctx, r.root, nil, "git", "describe", "--tags", "--exact-match")
		if err != nil {
			hash, err := output(ctx, r.root, nil, "git", "rev-parse", "--short=12", "HEAD")
			if err != nil {
				return fmt.Errorf("ask git for the commit (or give -version): %w", err)
			}
			tag = "0.0.0-" + r.at.Format("20060102150405") + "-" + hash
		}
		r.version = strings.TrimSpace(tag)
	}
	r.version = strings.TrimPrefix(r.version, "v")
	return nil
}

// build makes a static binary. What is of this machine or this moment stays out of it.
func (r *release) build(ctx context.Context, arch, path string) error {
	link := r.ldflags + " -buildid= -X github.com/strobe-debug/strobe/internal/daemon.linkedVersion=v" + r.version
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=",
		"GOWORK=off", "GOEXPERIMENT="}
	args := append([]string{"build", "-trimpath", "-buildvcs=false"}, strings.Fields(r.gcflags)...)
	_, err := output(ctx, r.root, env, "go", append(args, "-ldflags", link, "-o", path, "./cmd/strobe")...)
	return err
}

// texts takes manual pages and completion from the binary for this machine, which is built where it is not among them.
func (r *release) texts(ctx context.Context, scratch string) error {
	own := filepath.Join(scratch, "strobe-"+runtime.GOARCH)
	if !slices.Contains(r.arches, runtime.GOARCH) {
		if err := r.build(ctx, runtime.GOARCH, own); err != nil {
			return err
		}
	}
	env := []string{"STROBE_HOME=" + filepath.Join(scratch, "home"), "HOME=" + scratch}
	man := filepath.Join(scratch, "man")
	if _, err := output(ctx, scratch, env, own, "man", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	r.man, r.completion = map[string][]byte{}, map[string][]byte{}
	for _, p := range pages {
		if r.man[p.Name()], err = os.ReadFile(filepath.Join(man, p.Name())); err != nil {
			return err
		}
	}
	for shell, name := range map[string]string{"bash": "strobe.bash", "zsh": "_strobe", "fish": "strobe.fish"} {
		text, err := output(ctx, scratch, env, own, "completion", shell)
		if err != nil {
			return err
		}
		r.completion[name] = []byte(text)
	}
	return nil
}

// write puts a file into the release.
func (r *release) write(name string, data []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	r.files = append(r.files, name)
	return os.Chtimes(path, r.at, r.at)
}

func (r *release) checksums() error {
	slices.Sort(r.files)
	var b strings.Builder
	for _, name := range r.files {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	return r.write("SHA256SUMS", []byte(b.String()))
}

// archive is what one unpacks by hand.
func (r *release) archive(arch string, binary []byte) error {
	name := "strobe-" + r.version + "-linux-" + arch
	files := []file{{"strobe", 0o755, binary}}
	for _, doc := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, doc))
		if err != nil {
			return err
		}
		files = append(files, file{doc, 0o644, data})
	}
	for page, text := range r.man {
		files = append(files, file{"man/man1/" + page, 0o644, text})
	}
	for shell, text := range r.completion {
		files = append(files, file{"completion/" + shell, 0o644, text})
	}
	data, err := r.tarball(name+"/", files)
	if err != nil {
		return err
	}
	return r.write(name+".tar.gz", data)
}

// output runs a command and returns what it printed; its error says what it wrote to standard error.
func output(ctx context.Context, dir string, env []string, name string, arg ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var e *exec.ExitError
	if errors.As(err, &e) {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, arg[:min(len(arg), 2)]...), " "), err,
			e.Stderr)
	}
	return string(out), err
}

// file is a file of a package.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}
