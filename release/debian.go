package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// debianName is not strobe: Debian had another program of that name.
const debianName = "strobe-debug"

// debianVersion writes a version so that one between releases sorts before the next.
func debianVersion(v string) string {
	base, rest, ok := strings.Cut(v, "-")
	if !ok {
		return v
	}
	return base + "~" + strings.ReplaceAll(rest, "-", ".")
}

const debianControl = `Package: strobe-debug
Version: %s
Architecture: %s
Maintainer: Strobe authors <strobe@users.noreply.github.com>
Installed-Size: %d
Section: devel
Priority: optional
Homepage: https://github.com/strobe-debug/strobe
Conflicts: strobe
Description: see what a program does, call by call
 Strobe runs programs under observation, or attaches to running ones, and
 answers questions about what they did: calls with arguments and results,
 output, crashes, threads. It is a command, a debugger for editors and an
 MCP server for coding agents.
`

const debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: strobe
Source: https://github.com/strobe-debug/strobe

Files: *
Copyright: 2026 Strobe authors
License: MIT

License: MIT
`

// debian makes a package by dpkg-deb.
func (r *release) debian(ctx context.Context, arch string, binary []byte, scratch string) error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	copyright := debianCopyright
	_, text, _ := strings.Cut(string(licence), "\n\n") // behind its title
	_, text, _ = strings.Cut(text, "\n\n")             // and the line that Copyright has
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if line = strings.TrimSpace(line); line == "" {
			line = "."
		}
		copyright += " " + line + "\n"
	}
	version := debianVersion(r.version)
	changes, err := zipped(fmt.Appendf(nil, "%s (%s) unstable; urgency=medium\n\n  * See the commits.\n\n"+
		" -- Strobe authors <strobe@users.noreply.github.com>  %s\n", debianName, version, r.at.Format(
		"Mon, 02 Jan 2006 15:04:05 -0700")))
	if err != nil {
		return err
	}
	doc := "usr/share/doc/" + debianName + "/"
	files := []file{{"usr/bin/strobe", 0o755, binary}, {doc + "copyright", 0o644, []byte(copyright)},
		{doc + "changelog.gz", 0o644, changes},
		{"usr/share/bash-completion/completions/strobe", 0o644, r.completion["strobe.bash"]},
		{"usr/share/zsh/vendor-completions/_strobe", 0o644, r.completion["_strobe"]},
		{"usr/share/fish/vendor_completions.d/strobe.fish", 0o644, r.completion["strobe.fish"]},
		// A program of Go is linked statically, so that it runs in any container that it observes.
		{"usr/share/lintian/overrides/" + debianName, 0o644, []byte(debianName +
			": statically-linked-binary [usr/bin/strobe]\n")}}
	for page, text := range r.man {
		data, err := zipped(text)
		if err != nil {
			return err
		}
		files = append(files, file{"usr/share/man/man1/" + page + ".gz", 0o644, data})
	}
	size := 0
	for _, f := range files {
		size += (len(f.data) + 1023) / 1024
	}
	files = append(files, file{"DEBIAN/control", 0o644, fmt.Appendf(nil, debianControl, version, arch, size)})
	tree := filepath.Join(scratch, "deb-"+arch)
	if err := unpacked(tree, files); err != nil {
		return err
	}
	name := debianName + "_" + version + "_" + arch + ".deb"
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.at.Unix(), 10)}
	built := filepath.Join(scratch, name)
	if _, err := output(ctx, scratch, env, "dpkg-deb", "--root-owner-group", "-Zxz", r.xz, "--threads-max=1", "--build",
		tree, built); err != nil {
		return err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	return r.write(name, data)
}

// unpacked writes files below dir, whatever the umask is.
func unpacked(dir string, files []file) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		for d := filepath.Dir(path); len(d) >= len(dir); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
	}
	return nil
}
