package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

const (
	// maxScripts is how many interpreters the kernel follows (BINPRM_BUF and bprm recursion in fs/exec.c).
	maxScripts = 4
	// maxShebang is what the kernel reads of a script's first line.
	maxShebang = 255
	// maxProgramHeaders bounds a hostile file; real ones have a dozen.
	maxProgramHeaders = 1024
)

// ELF constants, of the System V ABI.
const (
	elfHeaderSize = 64
	elfTypeRel    = 1
	elfTypeExec   = 2
	elfTypeDyn    = 3
	elfTypeCore   = 4
	elfPhdrSize   = 56
	elfInterp     = 3
)

var elfMachines = map[uint16]string{
	2: "sparc", 3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 43: "sparc64",
	62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
}

// checkExecutable finds out why the kernel would not run path, or we not trace it, before anything is
// set up: exec says ENOENT for a missing interpreter and ENOEXEC for nearly all else.
func checkExecutable(path string) error {
	_, err := interpreter(path)
	return err
}

// interpreter returns the file that the kernel really runs for path: itself, or what its #! line names.
func interpreter(path string) (string, error) {
	for range maxScripts {
		next, err := inspectFile(path)
		if err != nil || next == "" {
			return path, err
		}
		path = next
	}
	return "", fault.New(fault.LaunchFailed, "Launch the interpreter itself.",
		"%s: too many interpreters that are scripts", path)
}

// inspectFile returns a script's interpreter, or "" for a program that runs here.
func inspectFile(path string) (string, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "", fault.New(fault.PermissionDenied, "Make it readable for the daemon's user: tracing needs its contents.",
				"%w", err)
		}
		return "", fault.New(fault.LaunchFailed, "Check the path.", "%w", err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fault.New(fault.LaunchFailed, "Check the file.", "read %s: %w", path, err)
	}
	head = head[:n]
	switch {
	case n == 0:
		return "", fault.New(fault.LaunchFailed, "Build it again.", "%s is empty", path)
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return "", checkELF(f, path, head)
	case bytes.HasPrefix(head, []byte("#!")):
		return shebang(path, head)
	case isForeign(head):
		return "", fault.New(fault.Unsupported, "Build the program for "+runtime.GOOS+"/"+runtime.GOARCH+".",
			"%s is a program for another system", path)
	}
	return "", fault.New(fault.LaunchFailed,
		fmt.Sprintf("If it is a script, launch its interpreter: command %q, args [%q].", "/bin/sh", path),
		"%s is neither an ELF program nor a script with a #! line", path)
}

func isForeign(head []byte) bool {
	for _, magic := range []string{"MZ", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe",
		"\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// shebang returns the interpreter of a script's first line.
func shebang(path string, head []byte) (string, error) {
	line, _, _ := bytes.Cut(head[2:min(len(head), maxShebang)], []byte("\n"))
	text := strings.Trim(string(line), " \t")
	name, _, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	if name == "" {
		return "", fault.New(fault.LaunchFailed, "Name an interpreter there, such as #!/bin/sh.", "%s: its #! line is empty",
			path)
	}
	if strings.HasSuffix(name, "\r") {
		return "", fault.New(fault.LaunchFailed, "Convert the file to Unix line ends, for example with sed -i 's/\\r$//'.",
			"%s: its #! line ends in a carriage return, so there is no interpreter of that name", path)
	}
	if !filepath.IsAbs(name) {
		return name, nil // relative to the program's directory; the kernel will say
	}
	if err := checkProgram(name); err != nil {
		return "", fault.New(fault.LaunchFailed, "Install the interpreter or correct the #! line.",
			"%s: interpreter %s cannot be run: %w", path, name, err)
	}
	return name, nil
}

// checkELF refuses programs that this machine or this engine does not run.
func checkELF(f *os.File, path string, head []byte) error {
	truncated := fault.New(fault.LaunchFailed, "Build it again.", "%s is a truncated or damaged ELF file", path)
	if len(head) < 20 {
		return truncated
	}
	if head[4] == 1 {
		return fault.New(fault.Unsupported, "Build the program for 64 bits.", "%s is a 32-bit program", path)
	}
	if head[4] != 2 || head[5] != 1 && head[5] != 2 {
		return truncated
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	machine := order.Uint16(head[18:])
	if name := elfMachines[machine]; name != runtime.GOARCH || head[5] != 1 {
		if name == "" {
			name = fmt.Sprintf("machine %d", machine)
		}
		return fault.New(fault.Unsupported, "Build the program for "+runtime.GOARCH+".",
			"%s is a program for %s, this machine is %s", path, name, runtime.GOARCH)
	}
	if len(head) < elfHeaderSize {
		return truncated
	}
	switch order.Uint16(head[16:]) {
	case elfTypeExec, elfTypeDyn:
	case elfTypeRel:
		return fault.New(fault.LaunchFailed, "Link it and launch the program.", "%s is an object file", path)
	case elfTypeCore:
		return fault.New(fault.LaunchFailed, "Launch the program that it is of.", "%s is a core dump", path)
	default:
		return truncated
	}
	return checkInterp(f, path, head, order, truncated)
}

// checkInterp finds PT_INTERP and whether that file exists.
func checkInterp(f *os.File, path string, head []byte, order binary.ByteOrder, truncated error) error {
	offset, size, count := order.Uint64(head[32:]), order.Uint16(head[54:]), int(order.Uint16(head[56:]))
	if size != elfPhdrSize || count == 0 || count > maxProgramHeaders || offset > 1<<40 {
		return truncated
	}
	table := make([]byte, count*elfPhdrSize)
	if _, err := f.ReadAt(table, int64(offset)); err != nil {
		return truncated
	}
	for ; len(table) >= elfPhdrSize; table = table[elfPhdrSize:] {
		if order.Uint32(table) != elfInterp {
			continue
		}
		at, n := order.Uint64(table[8:]), order.Uint64(table[32:])
		if n < 2 || n > 4096 || at > 1<<40 {
			return truncated
		}
		name := make([]byte, n)
		if _, err := f.ReadAt(name, int64(at)); err != nil {
			return truncated
		}
		interp := string(bytes.TrimRight(name, "\x00"))
		if _, err := os.Stat(interp); err != nil {
			return fault.New(fault.LaunchFailed, "Install the C library that it was built for, or build it for this one.",
				"%s needs the dynamic loader %s, which does not exist here", path, interp)
		}
	}
	return nil
}
