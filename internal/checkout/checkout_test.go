package checkout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommit: what is read of a repository is what git says of it, in all the forms in which it keeps that.
func TestCommit(t *testing.T) {
	root := t.TempDir()
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b",
			"-c", "init.defaultBranch=trunk/one"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := Commit(root); got != "" {
		t.Errorf("a folder that is no repository has commit %q", got)
	}
	repo := filepath.Join(root, "repo")
	below := filepath.Join(repo, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	git(repo, "init", "-q")
	if got := Commit(repo); got != "" {
		t.Errorf("a repository without a commit has %q", got)
	}
	git(repo, "commit", "-q", "--allow-empty", "-m", "one")
	check := func(what, dir, branch string) {
		t.Helper()
		if got := Branch(dir); got != branch {
			t.Errorf("%s: branch %q, want %q", what, got, branch)
		}
		if got, want := Commit(dir), git(dir, "rev-parse", "HEAD"); got != want {
			t.Errorf("%s: commit %q, git says %q", what, got, want)
		}
	}
	check("a branch", below, "trunk/one")
	git(repo, "pack-refs", "--all")
	check("packed", below, "trunk/one")
	git(repo, "commit", "-q", "--allow-empty", "-m", "two")
	check("packed, and gone on", below, "trunk/one")
	tree := filepath.Join(root, "tree")
	git(repo, "worktree", "add", "-q", "-b", "other", tree, "HEAD~1")
	check("a worktree", tree, "other")
	git(repo, "checkout", "-q", "--detach", "HEAD~1")
	check("no branch", below, "")
}
