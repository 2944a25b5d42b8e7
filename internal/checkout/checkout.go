// Package checkout owns what is known of the code that is checked out where a program or its tests run: repository,
// commit, branch.
//
// It stands beside the data path. It reads what git wrote instead of asking it: a launch does not wait for a process,
// and a repository that is not ours to trust cannot name one.
package checkout

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"

	"os"

	"github.com/strobe-debug/strobe/internal/plainfile"
)

// maxFile bounds what is read of a repository's packed-refs, the largest of its files that count here.
const maxFile = 16 << 20

// Root returns the top folder of the repository that dir is in; "": it is in none.
func Root(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Branch returns the branch that is checked out where dir is, "" where that is no repository, or a commit by itself.
func Branch(dir string) string {
	_, _, head := heads(dir)
	branch, _ := strings.CutPrefix(head, "ref: refs/heads/")
	if branch == head {
		return ""
	}
	return branch
}

// Commit returns the commit that is checked out where dir is, "" where that is no repository.
func Commit(dir string) string {
	git, common, head := heads(dir)
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return commitID(head)
	}
	if !filepath.IsLocal(ref) {
		return ""
	}
	for _, d := range []string{git, common} {
		if id := commitID(OneLine(filepath.Join(d, ref))); id != "" {
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

// heads are git's folder for what is checked out, that for all of the repository, and what HEAD says.
func heads(dir string) (git, common, head string) {
	if dir = Root(dir); dir == "" {
		return "", "", ""
	}
	git = filepath.Join(dir, ".git")
	if to, ok := strings.CutPrefix(OneLine(git), "gitdir: "); ok { // a worktree, or a submodule
		git = within(dir, to)
	}
	common = git
	if to := OneLine(filepath.Join(git, "commondir")); to != "" {
		common = within(git, to)
	}
	return git, common, OneLine(filepath.Join(git, "HEAD"))
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

// OneLine is a short file without what is around its text; "" for what is no file.
func OneLine(path string) string { return strings.TrimSpace(string(content(path))) }

func content(path string) []byte {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	return data
}
