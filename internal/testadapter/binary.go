package testadapter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// CommandDetector is an adapter that knows its framework's test programs by their bytes. Nothing is executed: what an
// unknown program does with unknown arguments is not ours to try.
type CommandDetector interface {
	DetectCommand(p *Project, command []string) Detection
}

// maxProgram bounds how much of a program is looked at; test programs with debug information are large, and the strings
// come early.
const maxProgram = 256 << 20

// program is the path of a command's program: as given below Root, or as found in PATH.
func program(p *Project, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if inRoot := filepath.Join(p.Root, name); strings.ContainsRune(name, '/') || isRegular(inRoot) {
		return inRoot
	}
	if found, err := p.LookPath(name); err == nil {
		return found
	}
	return name
}

func isRegular(name string) bool {
	i, err := os.Stat(name)
	return err == nil && i.Mode().IsRegular()
}

// detectProgram looks for a framework's own words in an ELF file; libraries are the names of its shared ones.
func detectProgram(p *Project, command []string, words ...string) Detection {
	if len(command) == 0 {
		return Detection{}
	}
	if word := wordIn(program(p, command[0]), words); word != "" {
		return Detection{Confidence: 95, Evidence: []string{fmt.Sprintf("%s contains %q", command[0], word)}}
	}
	return Detection{}
}

// wordIn is the first of some words that stands in an ELF file; "" where none does or it is no such file.
func wordIn(name string, words []string) string {
	f, err := plainfile.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return ""
	}
	longest := 0
	for _, w := range words {
		longest = max(longest, len(w))
	}
	buf := make([]byte, 1<<20)
	kept := 0
	for read := 0; read < maxProgram; {
		n, err := io.ReadFull(f, buf[kept:])
		if read == 0 && !bytes.HasPrefix(buf[:n], []byte("\x7fELF")) {
			return ""
		}
		read += n
		text := buf[:kept+n]
		for _, w := range words {
			if bytes.Contains(text, []byte(w)) {
				return w
			}
		}
		if err != nil {
			return ""
		}
		kept = copy(buf, text[max(0, len(text)-longest):])
	}
	return ""
}

// buildFolders are where CMake and Meson projects are usually built, below Root.
var buildFolders = []string{"build", "builddir", "out", "_build", "cmake-build-debug", "cmake-build-release", "Build",
	"bin", "."}

// programsWith finds test programs in the usual build folders, for a fault's hint.
func programsWith(p *Project, words ...string) []string {
	var found []string
	for _, dir := range buildFolders {
		for _, pattern := range []string{"*", "*/*", "*/*/*"} {
			names, err := filepath.Glob(filepath.Join(p.Root, dir, pattern))
			if err != nil || dir == "." && pattern != "*" {
				continue
			}
			for _, name := range names[:min(len(names), 2000)] {
				i, err := os.Stat(name)
				if err != nil || !i.Mode().IsRegular() || i.Mode()&0o111 == 0 || strings.Contains(name, "/CMakeFiles/") ||
					strings.HasSuffix(name, ".so") {
					continue
				}
				if rel, err := filepath.Rel(p.Root, name); err == nil && len(found) < 5 && !slices.Contains(found, rel) &&
					wordIn(name, words) != "" {
					found = append(found, rel)
				}
			}
		}
	}
	return found
}

// needProgram is the fault of a framework whose tests are programs, where none was given.
func needProgram(p *Project, framework string, words ...string) error {
	hint := fmt.Sprintf("Build the tests and give the program: command [\"build/my_tests\"], framework %s.", framework)
	if found := programsWith(p, words...); len(found) > 0 {
		hint = fmt.Sprintf("Give one of these in command: %s.", strings.Join(found, ", "))
	}
	if dir, _ := ctestFolder(p); dir != "" {
		hint += " Or take framework ctest, which runs all that " + path.Join(dir, "CTestTestfile.cmake") + " registers."
	}
	return fault.New(fault.ValidationError, hint,
		"tests of %s are run by a program that is built, and command does not name one", framework)
}

// mentions finds the first of some build files that names a framework.
func mentions(p *Project, words ...string) string {
	for _, name := range below(p.FS, 3, func(name string) bool {
		return path.Base(name) == "CMakeLists.txt" || path.Base(name) == "meson.build"
	}) {
		text := strings.ToLower(string(readSome(p.FS, name, 1<<20)))
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			return name
		}
	}
	return ""
}

// startProgram checks the command of a framework whose tests are programs.
func startProgram(p *Project, r *Request, framework string, words ...string) (argv []string, err error) {
	if len(r.Command) == 0 {
		return nil, needProgram(p, framework, words...)
	}
	argv = slices.Concat([]string{program(p, r.Command[0])}, r.Command[1:])
	if !isRegular(argv[0]) {
		return nil, fault.New(fault.ValidationError,
			"Build it first, or give another path; it is taken relative to projectRoot.", "there is no test program %s", argv[0])
	}
	return argv, nil
}

// noLevel is the fault of a framework that has no word for levels.
func noLevel(framework, reason string, level Level) error {
	return fault.New(fault.Unsupported, "Leave level out, or select by test.",
		"%s has no levels, so that %s means nothing to it: %s", framework, level, reason)
}
