//go:build unix

package session

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// elf returns a minimal ELF header with one program header.
func elf(class byte, machine, kind uint16, interp string) []byte {
	b := make([]byte, elfHeaderSize+elfPhdrSize)
	copy(b, "\x7fELF")
	b[4], b[5], b[6] = class, 1, 1
	binary.LittleEndian.PutUint16(b[16:], kind)
	binary.LittleEndian.PutUint16(b[18:], machine)
	binary.LittleEndian.PutUint64(b[32:], elfHeaderSize)
	binary.LittleEndian.PutUint16(b[54:], elfPhdrSize)
	binary.LittleEndian.PutUint16(b[56:], 1)
	if interp != "" {
		binary.LittleEndian.PutUint32(b[64:], elfInterp)
		binary.LittleEndian.PutUint64(b[72:], uint64(len(b)))
		binary.LittleEndian.PutUint64(b[96:], uint64(len(interp)+1))
		b = append(append(b, interp...), 0)
	}
	return b
}

func TestResolveRefuses(t *testing.T) {
	root := t.TempDir()
	put := func(name string, mode os.FileMode, data string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), mode); err != nil {
			t.Fatal(err)
		}
	}
	native := uint16(62)
	if runtime.GOARCH == "arm64" {
		native = 183
	}
	put("plain", 0o644, "#!/bin/sh\n")
	put("empty", 0o755, "")
	put("noshebang", 0o755, "echo hello\n")
	put("noterp", 0o755, "#!/no/such/interp -x\n")
	put("crlf", 0o755, "#!/bin/sh\r\necho\r\n")
	put("blank", 0o755, "#!  \n")
	put("windows.exe", 0o755, "MZ\x90\x00")
	put("elf32", 0o755, string(elf(1, 3, elfTypeExec, "")))
	put("mips", 0o755, string(elf(2, 8, elfTypeExec, "")))
	put("object.o", 0o755, string(elf(2, native, elfTypeRel, "")))
	put("core", 0o755, string(elf(2, native, elfTypeCore, "")))
	put("noloader", 0o755, string(elf(2, native, elfTypeDyn, "/lib/no-such-ld.so")))
	put("cut", 0o755, string(elf(2, native, elfTypeDyn, "/lib/x")[:70]))
	put("cut8", 0o755, "\x7fELF\x02\x01")
	put("loop1", 0o755, "#!"+root+"/loop2\n")
	put("loop2", 0o755, "#!"+root+"/loop1\n")
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(root, "dir"), 0o755)
	os.Symlink("nowhere", filepath.Join(root, "dangling"))

	for _, tc := range []struct {
		name string
		r    LaunchRequest
		code fault.Code
		text string
	}{
		{"empty command", LaunchRequest{}, fault.ValidationError, "command is empty"},
		{"missing", LaunchRequest{Command: "./plian"}, fault.LaunchFailed, "Did you mean plain"},
		{"dangling", LaunchRequest{Command: "./dangling"}, fault.LaunchFailed, "does not exist"},
		{"not executable", LaunchRequest{Command: "./plain"}, fault.PermissionDenied, "chmod +x"},
		{"directory", LaunchRequest{Command: "./dir"}, fault.LaunchFailed, "is a directory"},
		{"fifo", LaunchRequest{Command: "./fifo"}, fault.LaunchFailed, "not a regular file"},
		{"empty file", LaunchRequest{Command: "./empty"}, fault.LaunchFailed, "is empty"},
		{"no shebang", LaunchRequest{Command: "./noshebang"}, fault.LaunchFailed, "/bin/sh"},
		{"no interpreter", LaunchRequest{Command: "./noterp"}, fault.LaunchFailed, "/no/such/interp"},
		{"CRLF", LaunchRequest{Command: "./crlf"}, fault.LaunchFailed, "carriage return"},
		{"blank shebang", LaunchRequest{Command: "./blank"}, fault.LaunchFailed, "is empty"},
		{"script loop", LaunchRequest{Command: "./loop1"}, fault.LaunchFailed, "too many interpreters"},
		{"PE", LaunchRequest{Command: "./windows.exe"}, fault.Unsupported, "another system"},
		{"32 bit", LaunchRequest{Command: "./elf32"}, fault.Unsupported, "32-bit"},
		{"other arch", LaunchRequest{Command: "./mips"}, fault.Unsupported, "mips"},
		{"object", LaunchRequest{Command: "./object.o"}, fault.LaunchFailed, "object file"},
		{"core", LaunchRequest{Command: "./core"}, fault.LaunchFailed, "core dump"},
		{"no loader", LaunchRequest{Command: "./noloader"}, fault.LaunchFailed, "no-such-ld.so"},
		{"cut", LaunchRequest{Command: "./cut"}, fault.LaunchFailed, "truncated"},
		{"cut in the ident", LaunchRequest{Command: "./cut8"}, fault.LaunchFailed, "truncated"},
		{"not in PATH", LaunchRequest{Command: "sleeep"}, fault.LaunchFailed, "sleep"},
		{"empty PATH", LaunchRequest{Command: "sleep", Env: map[string]string{"PATH": ""}}, fault.LaunchFailed,
			"PATH is empty"},
		{"in cwd only", LaunchRequest{Command: "noshebang"}, fault.LaunchFailed, "./noshebang"},
		{"found but not executable", LaunchRequest{Command: "plain", Env: map[string]string{"PATH": root}},
			fault.PermissionDenied, "not executable"},
		{"cwd missing", LaunchRequest{Command: "true", Cwd: "dri"}, fault.ValidationError, "Did you mean dir"},
		{"cwd is a file", LaunchRequest{Command: "true", Cwd: "plain"}, fault.ValidationError, "not a directory"},
		{"root missing", LaunchRequest{Command: "true", ProjectRoot: root + "/none"}, fault.ValidationError, "projectRoot"},
		{"root is a file", LaunchRequest{Command: "true", ProjectRoot: root + "/plain"}, fault.ValidationError,
			"projectRoot"},
		{"root relative", LaunchRequest{Command: "true", ProjectRoot: "src"}, fault.ValidationError, "absolute"},
		{"NUL", LaunchRequest{Command: "true", Args: []string{"a\x00b"}}, fault.ValidationError, "args[0]"},
		{"env name", LaunchRequest{Command: "true", Env: map[string]string{"A=B": "x"}}, fault.ValidationError, "A=B"},
		{"symbols missing", LaunchRequest{Command: "true", SymbolsPath: "none"}, fault.ValidationError, "symbolsPath"},
	} {
		if tc.r.ProjectRoot == "" {
			tc.r.ProjectRoot = root
		}
		_, err := resolve(&tc.r)
		if err == nil || fault.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %s with %q", tc.name, err, tc.code, tc.text)
		} else if fault.From(err).Hint == "" {
			t.Errorf("%s: no hint", tc.name)
		}
	}
}

func TestResolvePathOrder(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"a", "b"} {
		os.Mkdir(filepath.Join(root, d), 0o755)
	}
	os.WriteFile(filepath.Join(root, "a", "tool"), []byte("#!/bin/sh\n"), 0o644) // not executable: goes on
	os.WriteFile(filepath.Join(root, "b", "tool"), []byte("#!/bin/sh\n"), 0o755)
	cmd, err := resolve(&LaunchRequest{Command: "tool", ProjectRoot: root, Env: map[string]string{"PATH": "/none:a:b"},
		Args: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Path != filepath.Join(root, "b", "tool") || !slices.Equal(cmd.Args, []string{"tool", "1"}) || cmd.Dir != root {
		t.Errorf("resolve = %+v", cmd)
	}
	if !slices.Contains(cmd.Env, "PATH=/none:a:b") || !slices.Contains(cmd.Env, "PWD="+root) {
		t.Errorf("environment = %q", cmd.Env)
	}
}

func TestInterpreterOfScript(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "s")
	os.WriteFile(path, []byte("#! /bin/sh -e\n"), 0o755)
	if got, err := interpreter(path); err != nil || got != "/bin/sh" {
		t.Errorf("interpreter = %q, %v", got, err)
	}
}

func TestSessionBase(t *testing.T) {
	now := time.Date(2026, 3, 4, 15, 6, 0, 0, time.Local)
	for in, want := range map[string]string{
		"/usr/bin/ls":            "ls-2026-03-04-15h06",
		"a b/ü.x":                "_.x-2026-03-04-15h06",
		"..":                     "program-2026-03-04-15h06",
		strings.Repeat("x", 500): strings.Repeat("x", maxBinaryName) + "-2026-03-04-15h06",
		"../../etc/--passwd":     "passwd-2026-03-04-15h06",
	} {
		if got := sessionBase(in, now); got != want {
			t.Errorf("sessionBase(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzExecutable(f *testing.F) {
	f.Add(elf(2, 62, elfTypeDyn, "/lib64/ld-linux-x86-64.so.2"))
	f.Add(elf(2, 62, elfTypeDyn, "/x")[:80])
	f.Add([]byte("#!/bin/sh -e\n"))
	f.Add([]byte("#!\t/usr/bin/env\tpython3"))
	f.Add([]byte("MZ"))
	path := filepath.Join(f.TempDir(), "prog")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := checkExecutable(path); err != nil {
			if c := fault.CodeOf(err); c != fault.LaunchFailed && c != fault.Unsupported && c != fault.PermissionDenied {
				t.Fatalf("code %s: %v", c, err)
			}
		}
	})
}

// TestEnvironmentKeepsItsOrder: a program that lists its variables did so in another order than without Strobe.
func TestEnvironmentKeepsItsOrder(t *testing.T) {
	base := []string{"Z=1", "A=2", "M=3", "Z=4"}
	got := inOrder(environment(base, map[string]string{"M": "5", "B": "6", "AA": "7"}), base)
	if want := []string{"Z=4", "A=2", "M=5", "AA=7", "B=6"}; !slices.Equal(got, want) {
		t.Errorf("inOrder = %q, want %q", got, want)
	}
}
