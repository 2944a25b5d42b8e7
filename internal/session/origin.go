package session

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

// maxGitFile bounds what is read of a repository's packed-refs, the largest of its files that count here.
const maxGitFile = 16 << 20

// origin fills in what tells a recording from those of other programs, machines and states of the code.
func origin(m *store.Meta, set *settings.Settings) {
	m.Service = cmp.Or(set.Service, filepath.Base(m.Command))
	m.Host, _ = os.Hostname() // not known is ""
	m.BootID = oneLine("/proc/sys/kernel/random/boot_id")
	if dir := cmp.Or(m.ProjectRoot, m.Cwd); dir != "" {
		m.Commit = commitOf(dir)
	}
}

// commitOf returns the commit that is checked out where dir is, "" where that is no repository. It reads what git
// wrote instead of asking it: a launch does not wait for a process, and a repository that is not ours to trust cannot
// name one.
func commitOf(dir string) string {
	git := filepath.Join(dir, ".git")
	for {
		if _, err := os.Lstat(git); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir, git = up, filepath.Join(up, ".git")
	}
	if to, ok := strings.CutPrefix(oneLine(git), "gitdir: "); ok { // a worktree, or a submodule
		git = within(dir, to)
	}
	common := git
	if to := oneLine(filepath.Join(git, "commondir")); to != "" {
		common = within(git, to)
	}
	head := oneLine(filepath.Join(git, "HEAD"))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return commitID(head)
	}
	if !filepath.IsLocal(ref) {
		return ""
	}
	for _, d := range []string{git, common} {
		if id := commitID(oneLine(filepath.Join(d, ref))); id != "" {
			return id
		}
	}
	for line := range bytes.Lines(content(filepath.Join(common, "packed-refs"))) {
		if id, name, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok && name == ref {
			return commitID(id)
		}
	}
	return ""
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// commitID returns s if it is a hash.
func commitID(s string) string {
	if len(s) < 40 || len(s) > 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}

// oneLine is a short file without what is around its text; "" for what is no file.
func oneLine(path string) string { return strings.TrimSpace(string(content(path))) }

func content(path string) []byte {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return nil
	}
	return data
}
